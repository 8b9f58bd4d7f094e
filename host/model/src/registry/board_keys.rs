//! Keys of a board file

use super::{Key, Presence::Default, Presence::Required, Shape};

const ANY: Shape = Shape::Number(0, u64::MAX);
/// The largest stream ID.
const STREAM: u64 = u32::MAX as u64;

const fn section(path: &'static str, meaning: &'static str, example: &'static str) -> Key {
    Key {
        path,
        shape: Shape::Section,
        presence: Required,
        meaning,
        example,
    }
}

pub(super) const fn fact(
    path: &'static str,
    shape: Shape,
    meaning: &'static str,
    example: &'static str,
) -> Key {
    Key {
        path,
        shape,
        presence: Required,
        meaning,
        example,
    }
}

pub(super) const fn option(
    path: &'static str,
    shape: Shape,
    default: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> Key {
    Key {
        path,
        shape,
        presence: Default(default),
        meaning,
        example,
    }
}

pub(super) const KEYS: &[Key] = &[
    fact(
        "name",
        Shape::Text,
        "Name of the board, that of the file.",
        "name = \"qemu-virt\"",
    ),
    option(
        "description",
        Shape::Text,
        "empty",
        "One line for people.",
        "description = \"QEMU virt\"",
    ),
    option(
        "default_cores",
        Shape::Number(1, 64),
        "1",
        "Cores of the machine when the partitions need no more.",
        "default_cores = 4",
    ),
    option(
        "showcase",
        Shape::Text,
        "`systems/drive`",
        "The system that shows the board, for one with too few cores or devices for the usual one: a folder \
         of the checkout. `make run BOARD=NAME` and experiments with `--board` run it.",
        "showcase = \"systems/two-cores\"",
    ),
    option(
        "console",
        Shape::Text,
        "the first UART",
        "Device on which the boot part reports: a UART of a kind that it has a driver for.",
        "console = \"uart0\"",
    ),
    section("cpu", "Its processor.", "[cpu]"),
    fact(
        "cpu.name",
        Shape::Text,
        "Model, as in the device tree's `compatible = \"arm,NAME\"`.",
        "cpu.name = \"cortex-a72\"",
    ),
    fact(
        "cpu.physical_bits",
        Shape::Number(32, 52),
        "Bits of a physical address: 32, 36, 40, 42, 44, 48 or 52. Boot compares it with \
         `ID_AA64MMFR0_EL1.PARange` of every core.",
        "cpu.physical_bits = 44",
    ),
    fact(
        "cores",
        Shape::Tables,
        "Its cores; firmware starts the first one. Boot compares each with its `MPIDR_EL1` and its \
         redistributor.",
        "cores = [{ mpidr = 0x0, redistributor = 0x080a_0000 }]",
    ),
    fact(
        "cores.*.mpidr",
        Shape::Number(0, 0xFF_00FF_FFFF),
        "Affinity fields of `MPIDR_EL1`, as PSCI and `reg` of the device tree have them.",
        "mpidr = 0x100",
    ),
    fact(
        "cores.*.redistributor",
        ANY,
        "Physical address of its redistributor (RD frame).",
        "redistributor = 0x080a_0000",
    ),
    option(
        "cores.*.release",
        ANY,
        "none",
        "Physical address of the word that releases it, with `firmware.start = \"spin-table\"`.",
        "release = 0xd8",
    ),
    section("timer", "Its generic timer.", "[timer]"),
    fact(
        "timer.ppis",
        Shape::Numbers(31),
        "INTIDs of the timers: secure, non-secure, virtual, hypervisor, hypervisor virtual (0 = none).",
        "timer.ppis = [29, 30, 27, 26, 28]",
    ),
    fact(
        "timer.frequency",
        Shape::Number(1, 10_000_000_000),
        "Ticks per second, 1 MHz to 1 GHz. Boot compares it with `CNTFRQ_EL0`, which firmware sets.",
        "timer.frequency = 62_500_000",
    ),
    section(
        "firmware",
        "What runs before the monitor, and above it.",
        "[firmware]",
    ),
    fact(
        "firmware.start",
        Shape::Choice(&["psci-smc", "psci-hvc", "spin-table"]),
        "How the other cores are started.",
        "firmware.start = \"psci-smc\"",
    ),
    fact(
        "firmware.security_states",
        Shape::Number(1, 2),
        "Security states of the interrupt controller as EL2 finds it: 1 if firmware sets `GICD_CTLR.DS` or the \
         controller has only one, else 2. Boot compares it.",
        "firmware.security_states = 2",
    ),
    fact(
        "firmware.leaves",
        Shape::Texts,
        "What firmware leaves open to EL2 on every core: `\"gic-interface\"` (`ICC_SRE_EL3.Enable`), \
         `\"counter-frequency\"` (`CNTFRQ_EL0`), `\"performance-monitor\"` (`MDCR_EL3.TPM` = 0), `\"debug\"` \
         (`MDCR_EL3.TDA` = 0), `\"hypervisor-call\"` (`SCR_EL3.HCE` = 1). The monitor needs all of them, and finds \
         out about a missing one only by never coming back.",
        "firmware.leaves = [\"gic-interface\", \"counter-frequency\", \"performance-monitor\", \"debug\", \"hypervisor-call\"]",
    ),
    section("memory", "Its RAM.", "[memory]"),
    fact(
        "memory.ranges",
        Shape::Tables,
        "All RAM that monitor and partitions may have, ascending.",
        "memory.ranges = [{ base = 0x4000_0000, size = \"255 GiB\" }]",
    ),
    fact(
        "memory.ranges.*.base",
        ANY,
        "Physical address.",
        "base = 0x4000_0000",
    ),
    fact(
        "memory.ranges.*.size",
        Shape::Size,
        "Bytes, whole pages.",
        "size = \"2 GiB\"",
    ),
    fact(
        "memory.load",
        ANY,
        "Where the boot image is placed.",
        "memory.load = 0x4020_0000",
    ),
    fact(
        "memory.default_size",
        Shape::Size,
        "RAM when the partitions need no more.",
        "memory.default_size = \"2 GiB\"",
    ),
    section("interrupts", "Its interrupt controller.", "[interrupts]"),
    option(
        "interrupts.kind",
        Shape::Text,
        "`\"gic-v3\"`",
        "Its kind.",
        "interrupts.kind = \"gic-v3\"",
    ),
    fact(
        "interrupts.distributor",
        ANY,
        "Physical address of the distributor.",
        "interrupts.distributor = 0x0800_0000",
    ),
    fact(
        "interrupts.spis",
        Shape::Number(0, 988),
        "Number of SPIs. Boot compares it with `GICD_TYPER`, which counts by 32.",
        "interrupts.spis = 224",
    ),
    fact(
        "interrupts.doorbells",
        Shape::Numbers(987),
        "First and last SPI number wired to nothing, free for doorbells.",
        "interrupts.doorbells = [176, 223]",
    ),
    fact(
        "interrupts.maintenance",
        Shape::Number(16, 31),
        "INTID of the maintenance interrupt, which stays with EL2.",
        "interrupts.maintenance = 25",
    ),
    section(
        "cache",
        "Its last-level cache, for page colouring.",
        "[cache]",
    ),
    fact(
        "cache.size",
        Shape::Size,
        "Its size.",
        "cache.size = \"1 MiB\"",
    ),
    fact(
        "cache.ways",
        Shape::Number(1, 1024),
        "Its ways.",
        "cache.ways = 16",
    ),
    fact(
        "cache.line",
        Shape::Number(1, 4096),
        "Bytes of a line.",
        "cache.line = 64",
    ),
    section(
        "guest",
        "Guest-physical addresses that every partition sees: freely chosen, all but memory below 0x4000_0000.",
        "[guest]",
    ),
    fact(
        "guest.ram",
        ANY,
        "Start of memory of Linux and foreign guests. That of RTOS partitions starts at 0x4000_0000, for which their \
         images are linked.",
        "guest.ram = 0x4000_0000",
    ),
    fact(
        "guest.distributor",
        ANY,
        "Distributor.",
        "guest.distributor = 0x0800_0000",
    ),
    fact(
        "guest.redistributors",
        ANY,
        "Redistributors.",
        "guest.redistributors = 0x080a_0000",
    ),
    fact(
        "guest.uart",
        ANY,
        "UART, real or emulated.",
        "guest.uart = 0x0900_0000",
    ),
    fact(
        "guest.window",
        ANY,
        "Window of channels, consoles and link pages, at a multiple of 32 MiB.",
        "guest.window = 0x0c00_0000",
    ),
    fact(
        "guest.window_size",
        Shape::Size,
        "Its size, 32 MiB at most.",
        "guest.window_size = \"32 MiB\"",
    ),
    Key {
        path: "device",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "The devices, `[device.NAME]` each.",
        example: "[device.uart0]",
    },
    fact(
        "device.*.kind",
        Shape::Text,
        "Its kind: `pl011`, `pl031`, `zynqmp-rtc`, `pl061`, `cfi-flash`, `virtio-mmio` (`abi/src/device.rs`), or another \
         word, of which nothing is known but that it names the device node.",
        "kind = \"pl011\"",
    ),
    fact(
        "device.*.address",
        ANY,
        "Physical address, page-aligned.",
        "address = 0x0900_0000",
    ),
    fact(
        "device.*.size",
        Shape::Size,
        "Whole pages.",
        "size = 0x1000",
    ),
    option(
        "device.*.guest",
        ANY,
        "its `address`",
        "Guest-physical address at which its owner sees it, unless it is the owner's console. RTOS partitions reach \
         devices below 0x4000_0000 only.",
        "guest = 0x0901_0000",
    ),
    option(
        "device.*.spis",
        Shape::Numbers(987),
        "none",
        "Its SPI numbers (INTID - 32).",
        "spis = [1]",
    ),
    option(
        "device.*.trigger",
        Shape::Choice(&["level", "edge"]),
        "`\"level\"`",
        "How they are signalled.",
        "trigger = \"level\"",
    ),
    option(
        "device.*.dma",
        Shape::Flag,
        "`false`",
        "Whether it reads or writes memory by itself.",
        "dma = true",
    ),
    option(
        "device.*.streams",
        Shape::Numbers(STREAM),
        "it is not behind the SMMU",
        "Stream IDs of its accesses at the SMMU: `iommus` of its node in the board's device tree.",
        "streams = [0x400, 0x401]",
    ),
    option(
        "device.*.compatible",
        Shape::Texts,
        "no device node",
        "`compatible` of its device node.",
        "compatible = [\"arm,pl011\", \"arm,primecell\"]",
    ),
    option(
        "device.*.clock_hz",
        Shape::Number(1, u32::MAX as u64),
        "no clock",
        "Its input clock, for the device node.",
        "clock_hz = 24_000_000",
    ),
    option(
        "device.*.bank_width",
        Shape::Number(1, 8),
        "none",
        "For flash: bytes of a word, for the device node.",
        "bank_width = 4",
    ),
    Key {
        path: "pcie",
        shape: Shape::Section,
        presence: Default("no PCIe"),
        meaning: "Its PCIe host bridge (ECAM). Functions are plugged in by descriptions; those of a \
                  partition stand behind a bridge of their own, which only the boot part sets up.",
        example: "[pcie]",
    },
    fact(
        "pcie.configuration",
        ANY,
        "Physical address of configuration space, 1 MiB a bus.",
        "pcie.configuration = 0x40_1000_0000",
    ),
    fact(
        "pcie.guest_configuration",
        ANY,
        "Where a partition sees that of its own bus: bus n at + n MiB.",
        "pcie.guest_configuration = 0x3f00_0000",
    ),
    fact(
        "pcie.ports",
        Shape::Numbers(u64::MAX),
        "Physical address and bytes of I/O ports.",
        "pcie.ports = [0x3eff_0000, 0x1_0000]",
    ),
    fact(
        "pcie.memory",
        Shape::Numbers(u64::MAX),
        "Address and bytes of memory below 4 GiB, the same on the bus.",
        "pcie.memory = [0x1000_0000, 0x2ef0_0000]",
    ),
    fact(
        "pcie.lines",
        Shape::Numbers(987),
        "SPI numbers of pin A of the slots 0 to 3 of the root bus; further slots and pins rotate.",
        "pcie.lines = [3, 4, 5, 6]",
    ),
    option(
        "pcie.guest_ports",
        ANY,
        "their physical address",
        "Where partitions see the I/O ports.",
        "pcie.guest_ports = 0x3eff_0000",
    ),
    option(
        "pcie.guest_memory",
        ANY,
        "its physical address",
        "Where partitions see that memory.",
        "pcie.guest_memory = 0x1000_0000",
    ),
    option(
        "pcie.streams",
        Shape::Number(0, STREAM),
        "it is not behind the SMMU",
        "Stream ID of requester ID 0 at the SMMU; a requester's is that plus its ID. The third number of `iommu-map` in \
         the board's device tree, less the first.",
        "pcie.streams = 0x1_0000",
    ),
    option(
        "pcie.requester",
        Shape::Choice(&["bridge", "bus"]),
        "`\"bridge\"`",
        "Requester ID of functions behind a bridge: `\"bridge\"`: that of the bridge on bus 0, as of a conventional bridge; \
         `\"bus\"`: that of device 0 of the bus behind it, as of a bridge from PCI Express to PCI.",
        "pcie.requester = \"bus\"",
    ),
    fact(
        "pcie.bridge",
        Shape::Text,
        "The emulator's device for a bridge; `{number}` stands for the number of the bus behind it.",
        "pcie.bridge = \"pci-bridge,msi=off,shpc=off\"",
    ),
    Key {
        path: "pcie.kind",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "What can be plugged in, `[pcie.kind.NAME]` each.",
        example: "[pcie.kind.kvaser-can]",
    },
    fact(
        "pcie.kind.*.identity",
        Shape::Number(0, u32::MAX as u64),
        "First word of its configuration page: vendor in the lower half, device in the upper.",
        "identity = 0x8406_10e8",
    ),
    option(
        "pcie.kind.*.ports",
        Shape::Numbers(0x1000),
        "none",
        "Bytes of its base address registers for I/O ports, by number; 0 = not for ports.",
        "ports = [0x80, 0x80, 8]",
    ),
    option(
        "pcie.kind.*.memory",
        Shape::Numbers(0x100_0000),
        "none",
        "Bytes of its base address registers for memory below 4 GiB, by number.",
        "memory = [0, 0x1000]",
    ),
    option(
        "pcie.kind.*.dma",
        Shape::Flag,
        "`false`",
        "Whether it reads or writes memory by itself.",
        "dma = true",
    ),
    option(
        "pcie.kind.*.modules",
        Shape::Texts,
        "none",
        "Linux's drivers for it, in the order in which they are loaded.",
        "modules = [\"can-dev\", \"sja1000\"]",
    ),
    fact(
        "pcie.kind.*.emulated",
        Shape::Text,
        "What the emulator calls it; `{name}` and `{bus}` stand for the device's, `{wire}` for the number \
         of the bus.",
        "emulated = \"kvaser_pci,canbus={bus}\"",
    ),
    option(
        "pcie.kind.*.shared",
        Shape::Text,
        "nothing is shared",
        "Options by which the emulator makes what functions of one `bus` share.",
        "shared = \"-object can-bus,id={bus}\"",
    ),
    option(
        "pcie.kind.*.forwarded",
        Shape::Text,
        "the host cannot reach it",
        "Options by which the emulator exchanges the frames of the wire as datagrams: between a socket \
         of its own in the run folder, `{name}.wire`, and one of the tool, `{name}.host`.",
        "forwarded = \"-netdev dgram,id=host,local.type=unix,local.path={name}.wire,remote.type=unix,\
         remote.path={name}.host\"",
    ),
    Key {
        path: "costs",
        shape: Shape::Section,
        presence: Default("scheduling overhead is not counted"),
        meaning: "Scheduling overhead on this board, which the analysis of VCPUs counts.",
        example: "[costs]",
    },
    option(
        "costs.decision",
        Shape::Number(0, 1_000_000),
        "decisions cost nothing",
        "Instructions of a decision at most, the way into the kernel and back among them, as `bulkhead bench budgets` \
         measures them.",
        "costs.decision = 3600",
    ),
    option(
        "costs.interrupt",
        Shape::Number(0, 1_000_000),
        "interrupts cost nothing",
        "Instructions of an interrupt that leads to no decision.",
        "costs.interrupt = 400",
    ),
    option(
        "costs.switch",
        Shape::Number(0, 10_000),
        "the kernel meters a thread's own instructions alone",
        "Instructions that the kernel meters of a budget besides the thread's own each time the thread runs; they are part of a \
         decision, and not charged to the budget.",
        "costs.switch = 160",
    ),
    option(
        "costs.job",
        Shape::Number(0, 1_000_000),
        "the runtime takes nothing of a job's budget",
        "Instructions that the runtime takes of a task's budget for each job at most: from its release to its own code, and from \
         there until it waits again. The analysis adds them to the WCET.",
        "costs.job = 3000",
    ),
    option(
        "costs.stage",
        Shape::Number(0, 1_000_000),
        "the runtime takes nothing of a stage's budget",
        "The same for each job of a stage of a pipe, with copying its inputs and outputs.",
        "costs.stage = 6000",
    ),
    option(
        "costs.blocking",
        Shape::Number(0, 1_000_000),
        "the kernel never masks interrupts",
        "Instructions for which the kernel masks interrupts at most, as `cargo xtask loops` bounds them: a release may find it at \
         work for a less important thread.",
        "costs.blocking = 2200",
    ),
    option(
        "costs.turn",
        Shape::Time,
        "cores run in parallel",
        "Longest turn of an emulated core while others wait for theirs. A thread that begins, or goes on, waits for one of each other core.",
        "costs.turn = \"5 us\"",
    ),
    option(
        "costs.instruction_ns",
        Shape::Number(1, 1_000_000),
        "nothing costs anything",
        "Nanoseconds of an instruction on a core that has the machine for itself; emulated cores take turns, and \
         each takes as many times that.",
        "costs.instruction_ns = 4",
    ),
    Key {
        path: "smmu",
        shape: Shape::Section,
        presence: Default("none"),
        meaning: "Its SMMU, which confines the accesses of devices with streams.",
        example: "[smmu]",
    },
    option(
        "smmu.kind",
        Shape::Text,
        "`\"smmu-v3\"`",
        "Its kind. Boot compares the SMMU's identification registers with it.",
        "smmu.kind = \"smmu-v3\"",
    ),
    fact(
        "smmu.address",
        ANY,
        "Physical address of its registers.",
        "smmu.address = 0x0905_0000",
    ),
];
