//! Keys of `[system]` and `[run]`

use crate::registry::Presence::{Default, Required};
use crate::registry::choices::CLOCKS;
use crate::registry::key::{Key, Shape};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "system",
        shape: Shape::Section,
        presence: Required,
        meaning: "The system as a whole.",
        example: "[system]",
    },
    Key {
        path: "system.name",
        shape: Shape::Text,
        presence: Required,
        meaning: "Name of the system, also of its folder below `out/`: a small letter, then up to 14 \
                  small letters, digits and `-`.",
        example: "name = \"drive\"",
    },
    Key {
        path: "system.board",
        shape: Shape::Text,
        presence: Required,
        meaning: "The board it runs on: the name of a file in `boards/` without `.toml`, or the path \
                  of a board file of your own (with a `/` or `.toml` in it), relative to the \
                  description.",
        example: "board = \"qemu-virt\"",
    },
    Key {
        path: "system.description",
        shape: Shape::Text,
        presence: Default("empty"),
        meaning: "One line for people.",
        example: "description = \"A speed controller beside a whole Linux\"",
    },
    Key {
        path: "system.cores",
        shape: Shape::Number(1, 64),
        presence: Default("as many as the board starts with, or as the partitions need"),
        meaning: "Cores of the machine, used and spare. A core without a partition is spare: its \
                  monitor watches the heartbeats, so that no partition is interrupted for it.",
        example: "cores = 4",
    },
    Key {
        path: "system.profile",
        shape: Shape::Text,
        presence: Default("nothing was measured"),
        meaning: "File of what `bulkhead profile` measured of pipe functions, relative to the description: a function \
                  without a `wcet` has the worst time seen there and `margin`, one with a `wcet` must have no less.",
        example: "profile = \"profile.toml\"",
    },
    Key {
        path: "system.margin",
        shape: Shape::Number(0, 1000),
        presence: Default("20"),
        meaning: "What is added to measured times, percent.",
        example: "margin = 20",
    },
    Key {
        path: "run",
        shape: Shape::Section,
        presence: Default("until interrupted, in virtual time"),
        meaning: "Defaults of `bulkhead run`.",
        example: "[run]",
    },
    Key {
        path: "run.for",
        shape: Shape::Time,
        presence: Default("until interrupted"),
        meaning: "Length of a run, in the time of the system.",
        example: "for = \"20 s\"",
    },
    Key {
        path: "run.clock",
        shape: Shape::Choice(CLOCKS.words),
        presence: Default("`\"virtual\"`"),
        meaning: "`\"virtual\"`: the emulator counts instructions, two runs are equal bit by bit and \
                  do not depend on the host. `\"real\"`: the host's wall clock, for interactive use.",
        example: "clock = \"virtual\"",
    },
    Key {
        path: "run.waive",
        shape: Shape::Texts,
        presence: Default("every promise counts"),
        meaning: "Names that the verdict of a run does not judge: a partition (`linux`) with all its components, pipes and \
                  tasks; one of these alone (`control/steering`); the system, for lost records and a run that ended early. \
                  The verdict lists broken promises that are waived as *does not count*.",
        example: "waive = [\"linux\", \"control/steering\"]",
    },
];
