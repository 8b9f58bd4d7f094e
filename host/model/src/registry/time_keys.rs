//! Keys of `[partition.NAME.vcpu.NAME]`, `.schedule`, `.slot.NAME` and `.task.NAME`

use super::Presence::{Default, Required, RequiredByRule};
use super::choices::{ORDERS, VCPU_KINDS};
use super::table::table;
use crate::document::At;
use crate::draft::section::Section;
use crate::kinds::KindDraft;
use crate::timing::Order;

table! {
    /// A VCPU.
    VcpuDraft [name: At<String> = Section::name] in "partition.*.vcpu.*." {
        kind: Choice(KindDraft, VCPU_KINDS), Default("`\"main\"`"), "kind = \"main\"",
            "`\"main\"`: a sporadic server that gives its tasks C in every T. `\"io\"`: runs the bottom halves of a device class, at the priority \
             of the main VCPU that waits for them, for no more than its utilisation. `\"reservation\"`: C in every T in an EDF band, for tasks that \
             need to be quick and are trusted with no more.";
        capacity "C": Time, RequiredByRule, "C = \"2 ms\"",
            "Budget of a main VCPU or a reservation in every T; more than 0, at most T.";
        period "T": Time, RequiredByRule, "T = \"10 ms\"",
            "Period of a main VCPU, the smaller the more important where rates order them; of a reservation, and the distance of its deadlines.";
        utilisation: Number(1, 100), RequiredByRule, "utilisation = 4",
            "Share of the core that an I/O VCPU may use, in percent. The others give up at most (2 − U)·U for it.";
        core: Number(0, 63), Default("0"), "core = 0",
            "On which of the partition's cores, counted from 0.";
        priority: Number(0, 60), RequiredByRule, "priority = 4",
            "Under `order = \"fixed-priority\"`: importance of a main VCPU or a reservation, 0 the most important. That of a reservation is one of \
             the `bands`.";
        time_partition: Number(0, 7), Default("0: always eligible, and first among equals"), "time_partition = 1",
            "Under `order = \"fixed-priority\"`: the time partition of a main VCPU, which runs only in the slots of this time partition.";
    }
}

table! {
    /// How VCPUs are scheduled.
    ScheduleDraft in "partition.*.schedule." {
        order: Choice(Order, ORDERS), Default("`\"rate-monotonic\"`"), "order = \"fixed-priority\"",
            "What makes a main VCPU more important than another: a shorter T; an earlier deadline; or its `priority`, in time partitions and with \
             EDF bands if there are any.";
        background: Flag, Default("`false`"), "background = true",
            "Whether VCPUs without budget run while the core would be idle. Bounds do not count on it.";
        quantum: Time, Default("none: first in, first out"), "quantum = \"1 ms\"",
            "Under `order = \"fixed-priority\"`: main VCPUs of the same priority and time partition take turns of at most so long.";
        frame: Time, RequiredByRule, "frame = \"100 ms\"",
            "Major frame: the time in which the slots repeat.";
        bands: Numbers(60), Default("none"), "bands = [2]",
            "Under `order = \"fixed-priority\"`: priorities of time partition 0 that are EDF bands. Only reservations stand there, the earliest \
             deadline first.";
    }
}

table! {
    /// A slot.
    SlotDraft [name: At<String> = Section::name] in "partition.*.slot.*." {
        time_partition: Number(1, 7), Required, "time_partition = 1",
            "The time partition with VCPUs that run in this slot, besides those of time partition 0.";
        start: Time, Required, "start = \"20 ms\"",
            "From the start of the frame.";
        length: Time, Required, "length = \"30 ms\"",
            "More than 0; the slot ends before the next one starts, and with the frame at the latest.";
        core: Number(0, 63), Default("0"), "core = 0",
            "On which of the partition's cores, counted from 0.";
    }
}

table! {
    /// A task.
    TaskDraft [name: At<String> = Section::name] in "partition.*.task.*." {
        vcpu: Text, Default("the `priority` of the component that executes it"), "vcpu = \"fast\"",
            "The VCPU it runs on, and is paid by. Without one it runs at the `priority` of its component, on the component's first thread, behind \
             all VCPUs of the core. It has a bound if each other thread there that is as important has such a task.";
        cause "for": Text, RequiredByRule, "for = \"fast\"",
            "On an I/O VCPU: the main VCPU that waits for this bottom half; it runs at its priority.";
        after: Text, Default("the clock or an interrupt releases it"), "after = \"wire\"",
            "The task that releases it, of the same core and `period`: a job begins where one of that ends. Its `deadline`, and the bound of its \
             response, count from the release of that one.";
        wcet: Time, Required, "wcet = \"500 us\"",
            "Worst-case execution time of a job, with all invocations of other components, and with the longest time for which a less important thread \
             keeps one of these.";
        period: Time, Required, "period = \"10 ms\"",
            "Shortest distance of two jobs.";
        deadline: Time, Default("the period"), "deadline = \"5 ms\"",
            "Longest time from a job's release to its end; not more than the period.";
    }
}
