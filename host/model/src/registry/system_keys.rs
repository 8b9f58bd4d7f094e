//! Keys of a description as a whole, of `[system]` and of `[run]`

use super::Presence::{Default, Required, RequiredByRule};
use super::choices::CLOCKS;
use super::device_keys::FunctionDraft;
use super::table::table;
use super::{
    channel_keys::ChannelDraft,
    partition_keys::PartitionDraft,
    pipe_keys::{MessageDraft, PipeDraft},
};
use crate::kinds::Clock;

table! {
    /// The tables of a description.
    Tables in "" {
        system: Section(SystemDraft), Required, "[system]",
            "The system as a whole.";
        run: Section(RunDraft), Default("until interrupted, in virtual time"), "[run]",
            "Defaults of `bulkhead run`.";
        partitions "partition": Named(PartitionDraft), RequiredByRule, "[partition.control]",
            "The partitions, `[partition.NAME]` each: cores, memory and devices that belong to one guest alone. A name is a small letter, then up \
             to 14 small letters, digits and `-`.";
        channels "channel": Named(ChannelDraft), Default("no channels"), "[channel.sensors]",
            "The channels, `[channel.NAME]` each: memory that is mapped into exactly the partitions named, with a buffer in it. A name is a small \
             letter, then up to 14 small letters, digits and `-`.";
        functions "device": Named(FunctionDraft), Default("the board's devices only"), "[device.can0]",
            "PCIe functions that are plugged into the machine, `[device.NAME]` each, beside the devices that the board has. A partition owns one \
             by naming it among its `devices`. Slots, addresses and interrupts are derived.";
        messages "message": Named(MessageDraft), Default("none"), "[message.depth-map]",
            "Types of messages of pipes, `[message.NAME]` each. A function names the types that it reads and writes; both ends of an edge of a pipe \
             have one type.";
        pipes "pipe": Named(PipeDraft), Default("none"), "[pipe.steering]",
            "Tuned pipes, `[pipe.NAME]` each: stages of pipe functions between devices, with a requirement from end to end. Budgets, periods and \
             buffers are computed, together with all VCPUs of the cores involved; one that cannot be kept is refused.";
    }
}

table! {
    /// The system as a whole.
    SystemDraft in "system." {
        name: Text, Required, "name = \"drive\"",
            "Name of the system, also of its folder below `out/`: a small letter, then up to 14 small letters, digits and `-`.";
        board: Text, Required, "board = \"qemu-virt\"",
            "The board it runs on: the name of a file in `boards/` without `.toml`, or the path of a board file of your own (with a `/` or `.toml` \
             in it), relative to the description.";
        description: Text, Default("empty"), "description = \"A speed controller beside a whole Linux\"",
            "One line for people.";
        cores: Number(1, 64), Default("as many as the board starts with, or as the partitions need"), "cores = 4",
            "Cores of the machine, used and spare. A core without a partition is spare: its monitor watches the heartbeats, so that no partition \
             is interrupted for it.";
        profile: Text, Default("nothing was measured"), "profile = \"profile.toml\"",
            "File of what `bulkhead profile` measured of pipe functions, relative to the description: a function without a `wcet` has the worst \
             time seen there and `margin`, one with a `wcet` must have no less.";
        margin: Number(0, 1000), Default("20"), "margin = 20",
            "What is added to measured times, percent.";
    }
}

table! {
    /// Defaults of a run.
    RunDraft in "run." {
        length "for": Time, Default("until interrupted"), "for = \"20 s\"",
            "Length of a run, in the time of the system.";
        clock: Choice(Clock, CLOCKS), Default("`\"virtual\"`"), "clock = \"virtual\"",
            "`\"virtual\"`: the emulator counts instructions, two runs are equal bit by bit and do not depend on the host. `\"real\"`: the host's \
             wall clock, for interactive use.";
        waive: Texts, Default("every promise counts"), "waive = [\"linux\", \"control/steering\"]",
            "Names that the verdict of a run does not judge: a partition (`linux`) with all its components, pipes and tasks; one of these alone \
             (`control/steering`); the system, for lost records and a run that ended early. The verdict lists broken promises that are waived as \
             *does not count*.";
    }
}
