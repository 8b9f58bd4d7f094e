//! Keys of `[partition.NAME]`

use super::Presence::{Default, Required, RequiredByRule};
use super::bridge_keys::BridgeDraft;
use super::choices::{ACTIONS, CRITICALITIES, DMA, KINDS, TRAPPING};
use super::component_keys::{ComponentDraft, SharedDraft};
use super::image_keys::ImageDraft;
use super::pipe_keys::{EndpointDraft, PipeFunctionDraft};
use super::table::table;
use super::time_keys::{ScheduleDraft, SlotDraft, TaskDraft, VcpuDraft};
use crate::document::At;
use crate::draft::section::Section;
use crate::kinds::{Criticality, Kind, Trapping};
use bulkhead_abi::status::Action;

table! {
    /// A partition.
    PartitionDraft [name: At<String> = Section::name] in "partition.*." {
        kind: Choice(Kind, KINDS), Required, "kind = \"rtos\"",
            "What runs in it. `\"rtos\"`: an image for Bulkhead's own runtime. `\"linux\"`: a Linux kernel with a generated device tree. \
             `\"image\"`: any ELF, arm64 `Image` or flat file with an entry point.";
        criticality: Choice(Criticality, CRITICALITIES), Required, "criticality = \"A\"",
            "`\"A\"` is the highest; `\"QM\"` (quality-managed) is what nothing safe may depend on. Decides which freedoms `check` grants and \
             which risks it names.";
        cores: NumberOrNumbers(64), Default("1"), "cores = 1",
            "How many cores, chosen by the tool, or which: `[0, 3]`. Cores belong to one partition only.";
        memory: Size, Required, "memory = \"256 KiB\"",
            "Memory, a multiple of 4 KiB. Guests find it where the board's `guest.ram` says, wherever it really lies.";
        colours: Numbers(4096), Default("not coloured"), "colours = [0, 1, 2, 3]",
            "Page colours of the last-level cache to which its memory (tables included) is confined. Coloured partitions may share none. Coloured \
             memory is scattered, so it is mapped in 4 KiB pages.";
        image: Optional(ImageDraft), RequiredByRule, "image = { crate = \"bulkhead-control\" }",
            "The image that is started: `{ crate = … }`, `{ file = … }` or `{ kernel = …, initrd = … }`. A partition of components has none.";
        alternate: Like(ImageDraft, "partition.*.image"), Default("none"), "alternate = { crate = \"bulkhead-control\" }",
            "The image that the action `\"alternate\"` starts in place of the first; the same keys as `image`.";
        devices: Texts, Default("none"), "devices = [\"uart0\"]",
            "Devices that it owns, with their interrupts: the board's, and PCIe functions of the description (`[device.NAME]`). A device belongs \
             to one partition only.";
        unconfined "dma": Choice(bool, DMA), Default("`\"confined\"`"), "dma = \"confined\"",
            "How devices that access memory by themselves are held back. `\"confined\"`: to what the partition reaches, at its own addresses, by \
             an SMMU; without one such devices are refused. `\"unconfined\"`: not at all. They reach the memory of all partitions, so the partition \
             is trusted with everything.";
        console: Text, Default("a UART it owns; else `\"memory\"` for rtos, `\"emulated\"` for others"), "console = \"memory\"",
            "`\"memory\"`: a recorder in memory that survives a hang, for images that know Bulkhead. `\"emulated\"`: the guest finds a PL011; its \
             accesses trap to the monitor, which counts them and writes to such a recorder. Or the name of a UART among its `devices`.";
        trace: Size, Default("no trace"), "trace = \"4 MiB\"",
            "Size of its trace, a recorder of timed events from which reports are made; the oldest are overwritten. A multiple of 4 KiB; an event \
             takes 48 bytes. Each component that owns the trace has an equal part of it.";
        command_line: Text, Default("empty"), "command_line = \"quiet\"",
            "Kernel command line (linux, added to what the tool passes) or argument words (others, at most 192 bytes). A word that a run is given \
             as an argument wins over one with the same key here.";
        faults: Texts, Default("none"), "faults = [\"linux-panic\"]",
            "Faults that its image can make on purpose, to show that they are contained: `bulkhead run --fault NAME` tells it to, by the argument \
             word `fault=NAME`.";
        privileged: Flag, Default("`false`"), "privileged = true",
            "May read the status and the consoles of all partitions, and restart or halt them.";
        wfi: Choice(Trapping, TRAPPING), Default("`\"direct\"`"), "wfi = \"direct\"",
            "`\"direct\"`: waiting for an interrupt costs nothing. A guest that has silenced its own GIC interface (priority mask 0, group 1 \
             disabled, an active priority of 0) and then executes WFI cannot be stopped: its core is lost until power-off, and nothing else. \
             `\"trap\"`: the monitor waits in the guest's place, counted, and stops every guest. WFE never needs this.";
        tlbi: Choice(Trapping, TRAPPING), Default("`\"direct\"`"), "tlbi = \"direct\"",
            "`\"direct\"`: its broadcast TLB maintenance reaches every core of the machine, which has to answer. `\"trap\"`: it enters the \
             monitor, counted, and stays on the partition's core; only for partitions with one core.";
        ipi: Choice(Trapping, TRAPPING), Default("`\"trap\"`"), "ipi = \"trap\"",
            "How the guest sends interrupts to its own cores, and with them how it reaches the shared registers of its GIC interface. `\"trap\"`: \
             sending enters the monitor, counted, and reaches own cores only; so does every access to the priority mask, running priority, control \
             and deactivation, performed on the physical registers. `\"direct\"`: none of them enters the monitor, as critical sections by priority \
             mask and the pseudo-NMI of Linux want it, but the guest can then interrupt every core of the machine and sees the physical MPIDR; only \
             for criticality A.";
        heartbeat: Time, Default("not watched"), "heartbeat = \"20 ms\"",
            "Longest silence of its heartbeat before it counts as hung. The monitor of a core without a partition watches it, without a trap.";
        progress: Text, Default("its heartbeat word"), "progress = \"0x4008_1230\"",
            "What a guest that knows no heartbeat changes while it makes progress, at least once in each period of `heartbeat`. `\"0x…\"`: 32 bits \
             of its memory at that guest-physical address, such as the tick counter of its kernel (`nm` prints it). `\"console\"`: output on its \
             emulated console. A hang is found after two periods at most.";
        startup: Time, Default("1 s for rtos, 60 s for others, where a heartbeat is watched"), "startup = \"1 s\"",
            "Longest time from a start, also from a restart, to the first heartbeat or to the announcement that it is up. A partition that needs \
             longer counts as hung.";
        on_violation: Choice(Action, ACTIONS), Default("`\"restart\"` for rtos, `\"inject\"` for others"), "on_violation = \"restart\"",
            "What is done when it accesses memory that is not its own. `\"inject\"`: the guest gets the fault as the architecture reports it. \
             `\"restart\"`: from the pristine image. `\"alternate\"`: start the alternate image. `\"failover\"`: stop, and start the standby. \
             `\"halt\"`: stop.";
        on_undefined: Choice(Action, ACTIONS), Default("`\"restart\"` for rtos, `\"inject\"` for others"), "on_undefined = \"inject\"",
            "What is done about an undefined call, register or instruction class.";
        on_serror: Choice(Action, ACTIONS), Default("`\"restart\"` for rtos, `\"inject\"` for others"), "on_serror = \"restart\"",
            "What is done about a system error.";
        on_hang: Choice(Action, ACTIONS), Default("`\"restart\"`"), "on_hang = \"restart\"",
            "What is done when its heartbeat stays away; not `\"inject\"`.";
        on_panic: Choice(Action, ACTIONS), Default("`\"restart\"`"), "on_panic = \"restart\"",
            "What is done when it says that it has failed; not `\"inject\"`.";
        on_reset: Choice(Action, ACTIONS), Default("`\"restart\"`"), "on_reset = \"restart\"",
            "What is done when it asks for a reset (PSCI `SYSTEM_RESET`); not `\"inject\"`. A Linux that panics ends here.";
        on_off: Choice(Action, ACTIONS), Default("`\"halt\"`"), "on_off = \"halt\"",
            "What is done when it goes off (PSCI `SYSTEM_OFF`); not `\"inject\"`.";
        restart: Section(RestartDraft), Default("10 per 10 s, then halt"), "restart = { limit = 10, per = \"10 s\", then = \"halt\" }",
            "Budget of restarts, so that a restart loop ends.";
        standby: Text, Default("none"), "standby = \"control-b\"",
            "The partition that `\"failover\"` starts in its place. It has a core, memory and an image of its own, is not started before, and \
             takes over the devices, interrupts and channel ends.";
        components "component": Named(ComponentDraft), Default("an image of one's own"), "[partition.control.component.controller]",
            "Components of an rtos partition, `[partition.NAME.component.NAME]` each, in place of `image`: programs on the kernel, each in an \
             address space of its own with just the capabilities that are named here. Addresses, slots and identities are derived.";
        shared: Named(SharedDraft), Default("components reach no common memory"), "[partition.control.shared.frames]",
            "Memory that components of an rtos partition have in common, `[partition.NAME.shared.NAME]` each: zeros at the start, kept when one of \
             them is rebuilt, and mapped into no other component. Each of them can wake the others (`threads`).";
        vcpus "vcpu": Named(VcpuDraft), Default("the partition schedules itself as it likes"), "[partition.control.vcpu.fast]",
            "VCPUs of an rtos partition, `[partition.NAME.vcpu.NAME]` each: budgets of processor time, enforced, and rate-monotonic unless \
             `schedule` says otherwise. `check` answers for all deadlines, `sim` shows the schedule.";
        schedule: Section(ScheduleDraft), Default("rate-monotonic, without slots and bands"), "[partition.control.schedule]",
            "How the VCPUs of an rtos partition are scheduled.";
        slots "slot": Named(SlotDraft), Default("none: everything is in time partition 0"), "[partition.control.slot.navigation]",
            "Slots of time partitions within the frame, `[partition.NAME.slot.NAME]` each. Between slots time partition 0 is alone.";
        tasks "task": Named(TaskDraft), Default("none"), "[partition.control.task.loop]",
            "Tasks on VCPUs, `[partition.NAME.task.NAME]` each. On one VCPU they run first in, first out; what must not wait for another gets a \
             VCPU of its own.";
        functions "function": Named(PipeFunctionDraft), Default("none"), "[partition.control.function.read]",
            "Pipe functions that the partition offers, `[partition.NAME.function.NAME]` each. In an rtos partition each stage is a thread on a \
             VCPU of its own; in Linux it runs under SCHED_DEADLINE.";
        spare_stages: Number(0, bulkhead_abi::repository::MAX_STAGES as u64), Default("it accepts no run-time flows"), "spare_stages = 6",
            "Of an rtos partition: the most stages of run-time pipes (`pipe add`, `pipe replace`), on all of its cores together. Stages of removed \
             static pipes are available besides. Each has a thread with 16 KiB of stack from the start on every core with functions, in a component \
             that the tool adds there. The planner has 240 KiB. All of this is taken from the scheduler's `memory`. With 0, static pipes can be \
             replaced and removed, but none added. The static pipes of such a partition are solved with the scheduling overhead included, so that \
             time for further pipes remains.";
        spare_buffers: Size, Default("2 KiB for each of its `spare_stages`"), "spare_buffers = \"12 KiB\"",
            "Memory for buffers between stages of run-time pipes; that of removed static pipes is available besides. If the partition has \
             functions on further cores, the same amount is reserved once more for edges to, from and on those cores. A buffer of four slots takes \
             512 bytes, one of n messages some 130 and 96 n.";
        typed_through: Texts, Default("none"), "typed_through = [\"linux\"]",
            "Of an rtos partition with `spare_stages`: the other partitions in which run-time flows of this one may have stages. They are Linux \
             partitions, and rtos partitions with `spare_stages` (stages on the first core, where a flow may also begin at a timer, and end). Each \
             is named by at most one partition. The tool adds a channel for requests and, for each spare stage, two buffers of 32 messages between \
             the two. An rtos partition that is named accepts no flows itself. Static pipes with stages only in these partitions can be stopped, \
             removed and replaced here, wherever they begin.";
        endpoints "endpoint": Named(EndpointDraft), Default("none"), "[partition.linux.endpoint.can-in]",
            "Endpoints of the CAN controllers of a Linux partition, `[partition.NAME.endpoint.NAME]` each, at which its stages read or write by \
             SocketCAN. Pipes know them as `PARTITION.agent.ENDPOINT`. The agent brings the controller up, at 500 kbit/s.";
        bridge: Optional(BridgeDraft), Default("nothing goes beyond the machine"), "[partition.linux.bridge]",
            "Of a Linux partition: endpoints that other machines reach over Zenoh. The bridge is a program beside the agent; the network card is \
             one of the partition's `devices`.";
    }
}

table! {
    /// A budget of restarts.
    RestartDraft in "partition.*.restart." {
        limit: Number(0, 1_000_000), Default("10"), "restart.limit = 10",
            "Restarts admitted per `per`.";
        per: Time, Default("10 s"), "restart.per = \"10 s\"",
            "Window of the limit.";
        backoff: Time, Default("0 s"), "restart.backoff = \"10 ms\"",
            "Pause before each restart.";
        then: Choice(Action, ACTIONS), Default("`\"halt\"`"), "restart.then = \"halt\"",
            "What is done when the budget is used up: `\"halt\"`, `\"alternate\"` or `\"failover\"`.";
    }
}
