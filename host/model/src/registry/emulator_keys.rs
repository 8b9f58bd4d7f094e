//! Keys of a board file about the machine that emulates the board

use super::board_keys::{fact, option};
use super::{Key, Presence::Default, Shape};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "emulator",
        shape: Shape::Section,
        presence: Default("none: the image is built for the board itself, and not run"),
        meaning: "The machine that emulates the board.",
        example: "[emulator]",
    },
    fact(
        "emulator.program",
        Shape::Text,
        "The program.",
        "emulator.program = \"qemu-system-aarch64\"",
    ),
    fact(
        "emulator.minimum_version",
        Shape::Text,
        "Smallest version that will do.",
        "emulator.minimum_version = \"7.2\"",
    ),
    fact(
        "emulator.machine",
        Shape::Text,
        "Its `-M`.",
        "emulator.machine = \"virt,virtualization=on,gic-version=3,its=off\"",
    ),
    option(
        "emulator.cpu",
        Shape::Text,
        "the machine's own",
        "Its `-cpu`.",
        "emulator.cpu = \"cortex-a72\"",
    ),
    option(
        "emulator.cores",
        Shape::Number(1, 512),
        "as many as are needed",
        "Cores that it always has.",
        "emulator.cores = 2",
    ),
    option(
        "emulator.options",
        Shape::Texts,
        "none",
        "Further options.",
        "emulator.options = [\"-global\", \"VGA.romfile=\"]",
    ),
];
