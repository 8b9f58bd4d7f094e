//! Keys of `[partition.NAME]`

use super::{Key, Presence::Default, Presence::Required, Presence::RequiredByRule, Shape};
use crate::registry::choices::{CRITICALITIES, KINDS, TRAPPING};

/// Values of the `on_…` keys, in the order of `Action`.
const ACTIONS: &[&str] = &bulkhead_abi::status::ACTION_NAMES;

const fn action(
    path: &'static str,
    presence: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> Key {
    Key {
        path,
        shape: Shape::Choice(ACTIONS),
        presence: Default(presence),
        meaning,
        example,
    }
}

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "partition",
        shape: Shape::Named,
        presence: RequiredByRule,
        meaning: "The partitions, `[partition.NAME]` each: cores, memory and devices that belong to one guest alone. A \
                  name is a small letter, then up to 14 small letters, digits and `-`.",
        example: "[partition.control]",
    },
    Key {
        path: "partition.*.kind",
        shape: Shape::Choice(KINDS.words),
        presence: Required,
        meaning: "What runs in it. `\"rtos\"`: an image for Bulkhead's own runtime. `\"linux\"`: a \
                  Linux kernel with a generated device tree. `\"image\"`: any ELF, arm64 `Image` or \
                  flat file with an entry point.",
        example: "kind = \"rtos\"",
    },
    Key {
        path: "partition.*.criticality",
        shape: Shape::Choice(CRITICALITIES.words),
        presence: Required,
        meaning: "`\"A\"` is the highest; `\"QM\"` (quality-managed) is what nothing safe may depend on. \
                  Decides which freedoms `check` grants and which risks it names.",
        example: "criticality = \"A\"",
    },
    Key {
        path: "partition.*.cores",
        shape: Shape::NumberOrNumbers(64),
        presence: Default("1"),
        meaning: "How many cores, chosen by the tool, or which: `[0, 3]`. Cores belong to one \
                  partition only.",
        example: "cores = 1",
    },
    Key {
        path: "partition.*.memory",
        shape: Shape::Size,
        presence: Required,
        meaning: "Memory, a multiple of 4 KiB. Guests find it where the board's `guest.ram` says, \
                  wherever it really lies.",
        example: "memory = \"256 KiB\"",
    },
    Key {
        path: "partition.*.colours",
        shape: Shape::Numbers(4096),
        presence: Default("not coloured"),
        meaning: "Page colours of the last-level cache to which its memory (tables included) is \
                  confined. Coloured partitions may share none. Coloured memory is scattered, so it \
                  is mapped in 4 KiB pages.",
        example: "colours = [0, 1, 2, 3]",
    },
    Key {
        path: "partition.*.image",
        shape: Shape::Section,
        presence: RequiredByRule,
        meaning: "The image that is started: `{ crate = … }`, `{ file = … }` or `{ kernel = …, initrd \
                  = … }`. A partition of components has none.",
        example: "image = { crate = \"bulkhead-control\" }",
    },
    Key {
        path: "partition.*.alternate",
        shape: Shape::Like("partition.*.image"),
        presence: Default("none"),
        meaning: "The image that the action `\"alternate\"` starts in place of the first; the same \
                  keys as `image`.",
        example: "alternate = { crate = \"bulkhead-control\" }",
    },
    Key {
        path: "partition.*.devices",
        shape: Shape::Texts,
        presence: Default("none"),
        meaning: "Devices that it owns, with their interrupts: the board's, and PCIe functions of the \
                  description (`[device.NAME]`). A device belongs to one partition only.",
        example: "devices = [\"uart0\"]",
    },
    Key {
        path: "partition.*.dma",
        shape: Shape::Choice(&["confined", "unconfined"]),
        presence: Default("`\"confined\"`"),
        meaning: "How devices that access memory by themselves are held back. `\"confined\"`: to what the partition \
                  reaches, at its own addresses, by an SMMU; without one such devices are refused. `\"unconfined\"`: \
                  not at all. They reach the memory of all partitions, so the partition is trusted with everything.",
        example: "dma = \"confined\"",
    },
    Key {
        path: "partition.*.console",
        shape: Shape::Text,
        presence: Default("a UART it owns; else `\"memory\"` for rtos, `\"emulated\"` for others"),
        meaning: "`\"memory\"`: a recorder in memory that survives a hang, for images that know Bulkhead. \
                  `\"emulated\"`: the guest finds a PL011; its accesses trap to the monitor, which counts them and \
                  writes to such a recorder. Or the name of a UART among its `devices`.",
        example: "console = \"memory\"",
    },
    Key {
        path: "partition.*.trace",
        shape: Shape::Size,
        presence: Default("no trace"),
        meaning: "Size of its trace, a recorder of timed events from which reports are made; the \
                  oldest are overwritten. A multiple of 4 KiB; an event takes 48 bytes. Each component that owns the trace \
                  has an equal part of it.",
        example: "trace = \"4 MiB\"",
    },
    Key {
        path: "partition.*.command_line",
        shape: Shape::Text,
        presence: Default("empty"),
        meaning: "Kernel command line (linux, added to what the tool passes) or argument words \
                  (others, at most 192 bytes). A word that a run is given as an argument wins over one with the \
                  same key here.",
        example: "command_line = \"quiet\"",
    },
    Key {
        path: "partition.*.faults",
        shape: Shape::Texts,
        presence: Default("none"),
        meaning: "Faults that its image can make on purpose, to show that they are contained: \
                  `bulkhead run --fault NAME` tells it to, by the argument word `fault=NAME`.",
        example: "faults = [\"linux-panic\"]",
    },
    Key {
        path: "partition.*.privileged",
        shape: Shape::Flag,
        presence: Default("`false`"),
        meaning: "May read the status and the consoles of all partitions, and restart or halt them.",
        example: "privileged = true",
    },
    Key {
        path: "partition.*.wfi",
        shape: Shape::Choice(TRAPPING.words),
        presence: Default("`\"direct\"`"),
        meaning: "`\"direct\"`: waiting for an interrupt costs nothing. A guest that has silenced its own \
                  GIC interface (priority mask 0, group 1 disabled, an active priority of 0) and then \
                  executes WFI cannot be stopped: its core is lost until power-off, and nothing else. \
                  `\"trap\"`: the monitor waits in the guest's place, counted, and stops every guest. \
                  WFE never needs this.",
        example: "wfi = \"direct\"",
    },
    Key {
        path: "partition.*.tlbi",
        shape: Shape::Choice(TRAPPING.words),
        presence: Default("`\"direct\"`"),
        meaning: "`\"direct\"`: its broadcast TLB maintenance reaches every core of the machine, which \
                  has to answer. `\"trap\"`: it enters the monitor, counted, and stays on the \
                  partition's core; only for partitions with one core.",
        example: "tlbi = \"direct\"",
    },
    Key {
        path: "partition.*.ipi",
        shape: Shape::Choice(TRAPPING.words),
        presence: Default("`\"trap\"`"),
        meaning: "How the guest sends interrupts to its own cores, and with them how it reaches the shared \
                  registers of its GIC interface. `\"trap\"`: sending enters the monitor, counted, and \
                  reaches own cores only; so does every access to the priority mask, running priority, \
                  control and deactivation, performed on the physical registers. `\"direct\"`: none of \
                  them enters the monitor, as critical sections by priority mask and the pseudo-NMI of \
                  Linux want it, but the guest can then interrupt every core of the machine and sees the \
                  physical MPIDR; only for criticality A.",
        example: "ipi = \"trap\"",
    },
    Key {
        path: "partition.*.heartbeat",
        shape: Shape::Time,
        presence: Default("not watched"),
        meaning: "Longest silence of its heartbeat before it counts as hung. The monitor of a core without \
                  a partition watches it, without a trap.",
        example: "heartbeat = \"20 ms\"",
    },
    Key {
        path: "partition.*.progress",
        shape: Shape::Text,
        presence: Default("its heartbeat word"),
        meaning: "What a guest that knows no heartbeat changes while it makes progress, at least once in \
                  each period of `heartbeat`. `\"0x…\"`: 32 bits of its memory at that guest-physical \
                  address, such as the tick counter of its kernel (`nm` prints it). `\"console\"`: \
                  output on its emulated console. A hang is found after two periods at most.",
        example: "progress = \"0x4008_1230\"",
    },
    Key {
        path: "partition.*.startup",
        shape: Shape::Time,
        presence: Default("1 s for rtos, 60 s for others, where a heartbeat is watched"),
        meaning: "Longest time from a start, also from a restart, to the first heartbeat or to the \
                  announcement that it is up. A partition that needs longer counts as hung.",
        example: "startup = \"1 s\"",
    },
    action(
        "partition.*.on_violation",
        "`\"restart\"` for rtos, `\"inject\"` for others",
        "What is done when it accesses memory that is not its own. `\"inject\"`: the guest gets the \
         fault as the architecture reports it. `\"restart\"`: from the pristine image. `\"alternate\"`: \
         start the alternate image. `\"failover\"`: stop, and start the standby. `\"halt\"`: stop.",
        "on_violation = \"restart\"",
    ),
    action(
        "partition.*.on_undefined",
        "`\"restart\"` for rtos, `\"inject\"` for others",
        "What is done about an undefined call, register or instruction class.",
        "on_undefined = \"inject\"",
    ),
    action(
        "partition.*.on_serror",
        "`\"restart\"` for rtos, `\"inject\"` for others",
        "What is done about a system error.",
        "on_serror = \"restart\"",
    ),
    action(
        "partition.*.on_hang",
        "`\"restart\"`",
        "What is done when its heartbeat stays away; not `\"inject\"`.",
        "on_hang = \"restart\"",
    ),
    action(
        "partition.*.on_panic",
        "`\"restart\"`",
        "What is done when it says that it has failed; not `\"inject\"`.",
        "on_panic = \"restart\"",
    ),
    action(
        "partition.*.on_reset",
        "`\"restart\"`",
        "What is done when it asks for a reset (PSCI `SYSTEM_RESET`); not `\"inject\"`. A Linux that \
         panics ends here.",
        "on_reset = \"restart\"",
    ),
    action(
        "partition.*.on_off",
        "`\"halt\"`",
        "What is done when it goes off (PSCI `SYSTEM_OFF`); not `\"inject\"`.",
        "on_off = \"halt\"",
    ),
    Key {
        path: "partition.*.restart",
        shape: Shape::Section,
        presence: Default("10 per 10 s, then halt"),
        meaning: "Budget of restarts, so that a restart loop ends.",
        example: "restart = { limit = 10, per = \"10 s\", then = \"halt\" }",
    },
    Key {
        path: "partition.*.restart.limit",
        shape: Shape::Number(0, 1_000_000),
        presence: Default("10"),
        meaning: "Restarts admitted per `per`.",
        example: "restart.limit = 10",
    },
    Key {
        path: "partition.*.restart.per",
        shape: Shape::Time,
        presence: Default("10 s"),
        meaning: "Window of the limit.",
        example: "restart.per = \"10 s\"",
    },
    Key {
        path: "partition.*.restart.backoff",
        shape: Shape::Time,
        presence: Default("0 s"),
        meaning: "Pause before each restart.",
        example: "restart.backoff = \"10 ms\"",
    },
    Key {
        path: "partition.*.restart.then",
        shape: Shape::Choice(ACTIONS),
        presence: Default("`\"halt\"`"),
        meaning: "What is done when the budget is used up: `\"halt\"`, `\"alternate\"` or `\"failover\"`.",
        example: "restart.then = \"halt\"",
    },
    Key {
        path: "partition.*.standby",
        shape: Shape::Text,
        presence: Default("none"),
        meaning: "The partition that `\"failover\"` starts in its place. It has a core, memory and an \
                  image of its own, is not started before, and takes over the devices, interrupts and \
                  channel ends.",
        example: "standby = \"control-b\"",
    },
];
