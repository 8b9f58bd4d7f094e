//! Keys of `[partition.NAME.vcpu.NAME]`, `.schedule`, `.slot.NAME` and `.task.NAME`

use crate::registry::Presence::{Default, Required, RequiredByRule};
use crate::registry::key::{Key, Shape};

/// Values of `kind`, in the order of `VcpuKind`.
const KINDS: &[&str] = &["main", "io", "reservation"];
/// Values of `order`, in the order of `Order`.
const ORDERS: &[&str] = &["rate-monotonic", "earliest-deadline", "fixed-priority"];

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "partition.*.vcpu",
        shape: Shape::Named,
        presence: Default("the partition schedules itself as it likes"),
        meaning: "VCPUs of an rtos partition, `[partition.NAME.vcpu.NAME]` each: budgets of processor \
                  time, enforced, and rate-monotonic unless `schedule` says otherwise. `check` answers for all deadlines, `sim` shows \
                  the schedule.",
        example: "[partition.control.vcpu.fast]",
    },
    Key {
        path: "partition.*.vcpu.*.kind",
        shape: Shape::Choice(KINDS),
        presence: Default("`\"main\"`"),
        meaning: "`\"main\"`: a sporadic server that gives its tasks C in every T. `\"io\"`: runs the bottom \
                  halves of a device class, at the priority of the main VCPU that waits for them, for \
                  no more than its utilisation. `\"reservation\"`: C in every T in an EDF band, for tasks \
                  that need to be quick and are trusted with no more.",
        example: "kind = \"main\"",
    },
    Key {
        path: "partition.*.vcpu.*.C",
        shape: Shape::Time,
        presence: RequiredByRule,
        meaning: "Budget of a main VCPU or a reservation in every T; more than 0, at most T.",
        example: "C = \"2 ms\"",
    },
    Key {
        path: "partition.*.vcpu.*.T",
        shape: Shape::Time,
        presence: RequiredByRule,
        meaning: "Period of a main VCPU, the smaller the more important where rates order them; of a reservation, \
                  and the distance of its deadlines.",
        example: "T = \"10 ms\"",
    },
    Key {
        path: "partition.*.vcpu.*.utilisation",
        shape: Shape::Number(1, 100),
        presence: RequiredByRule,
        meaning: "Share of the core that an I/O VCPU may use, in percent. The others give up at most \
                  (2 − U)·U for it.",
        example: "utilisation = 4",
    },
    Key {
        path: "partition.*.vcpu.*.core",
        shape: Shape::Number(0, 63),
        presence: Default("0"),
        meaning: "On which of the partition's cores, counted from 0.",
        example: "core = 0",
    },
    Key {
        path: "partition.*.vcpu.*.priority",
        shape: Shape::Number(0, 60),
        presence: RequiredByRule,
        meaning: "Under `order = \"fixed-priority\"`: importance of a main VCPU or a reservation, 0 the most \
                  important. That of a reservation is one of the `bands`.",
        example: "priority = 4",
    },
    Key {
        path: "partition.*.vcpu.*.time_partition",
        shape: Shape::Number(0, 7),
        presence: Default("0: always eligible, and first among equals"),
        meaning: "Under `order = \"fixed-priority\"`: the time partition of a main VCPU, which runs only in the slots \
                  of this time partition.",
        example: "time_partition = 1",
    },
    Key {
        path: "partition.*.schedule",
        shape: Shape::Section,
        presence: Default("rate-monotonic, without slots and bands"),
        meaning: "How the VCPUs of an rtos partition are scheduled.",
        example: "[partition.control.schedule]",
    },
    Key {
        path: "partition.*.schedule.order",
        shape: Shape::Choice(ORDERS),
        presence: Default("`\"rate-monotonic\"`"),
        meaning: "What makes a main VCPU more important than another: a shorter T; an earlier deadline; or its \
                  `priority`, in time partitions and with EDF bands if there are any.",
        example: "order = \"fixed-priority\"",
    },
    Key {
        path: "partition.*.schedule.background",
        shape: Shape::Flag,
        presence: Default("`false`"),
        meaning: "Whether VCPUs without budget run while the core would be idle. Bounds do not count on it.",
        example: "background = true",
    },
    Key {
        path: "partition.*.schedule.quantum",
        shape: Shape::Time,
        presence: Default("none: first in, first out"),
        meaning: "Under `order = \"fixed-priority\"`: main VCPUs of the same priority and time partition take turns \
                  of at most so long.",
        example: "quantum = \"1 ms\"",
    },
    Key {
        path: "partition.*.schedule.frame",
        shape: Shape::Time,
        presence: RequiredByRule,
        meaning: "Major frame: the time in which the slots repeat.",
        example: "frame = \"100 ms\"",
    },
    Key {
        path: "partition.*.schedule.bands",
        shape: Shape::Numbers(60),
        presence: Default("none"),
        meaning: "Under `order = \"fixed-priority\"`: priorities of time partition 0 that are EDF bands. Only \
                  reservations stand there, the earliest deadline first.",
        example: "bands = [2]",
    },
    Key {
        path: "partition.*.slot",
        shape: Shape::Named,
        presence: Default("none: everything is in time partition 0"),
        meaning: "Slots of time partitions within the frame, `[partition.NAME.slot.NAME]` each. Between slots \
                  time partition 0 is alone.",
        example: "[partition.control.slot.navigation]",
    },
    Key {
        path: "partition.*.slot.*.time_partition",
        shape: Shape::Number(1, 7),
        presence: Required,
        meaning: "The time partition with VCPUs that run in this slot, besides those of time \
                  partition 0.",
        example: "time_partition = 1",
    },
    Key {
        path: "partition.*.slot.*.start",
        shape: Shape::Time,
        presence: Required,
        meaning: "From the start of the frame.",
        example: "start = \"20 ms\"",
    },
    Key {
        path: "partition.*.slot.*.length",
        shape: Shape::Time,
        presence: Required,
        meaning: "More than 0; the slot ends before the next one starts, and with the frame at the latest.",
        example: "length = \"30 ms\"",
    },
    Key {
        path: "partition.*.slot.*.core",
        shape: Shape::Number(0, 63),
        presence: Default("0"),
        meaning: "On which of the partition's cores, counted from 0.",
        example: "core = 0",
    },
    Key {
        path: "partition.*.task",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "Tasks on VCPUs, `[partition.NAME.task.NAME]` each. On one VCPU they run first in, first \
                  out; what must not wait for another gets a VCPU of its own.",
        example: "[partition.control.task.loop]",
    },
    Key {
        path: "partition.*.task.*.vcpu",
        shape: Shape::Text,
        presence: Required,
        meaning: "The VCPU it runs on, and is paid by.",
        example: "vcpu = \"fast\"",
    },
    Key {
        path: "partition.*.task.*.for",
        shape: Shape::Text,
        presence: RequiredByRule,
        meaning: "On an I/O VCPU: the main VCPU that waits for this bottom half; it runs at its priority.",
        example: "for = \"fast\"",
    },
    Key {
        path: "partition.*.task.*.after",
        shape: Shape::Text,
        presence: Default("the clock or an interrupt releases it"),
        meaning: "The task that releases it, of the same core and `period`: a job begins where one of that ends. Its \
                  `deadline`, and the bound of its response, count from the release of that one.",
        example: "after = \"wire\"",
    },
    Key {
        path: "partition.*.task.*.wcet",
        shape: Shape::Time,
        presence: Required,
        meaning: "Worst-case execution time of a job.",
        example: "wcet = \"500 us\"",
    },
    Key {
        path: "partition.*.task.*.period",
        shape: Shape::Time,
        presence: Required,
        meaning: "Shortest distance of two jobs.",
        example: "period = \"10 ms\"",
    },
    Key {
        path: "partition.*.task.*.deadline",
        shape: Shape::Time,
        presence: Default("the period"),
        meaning: "Longest time from a job's release to its end; not more than the period.",
        example: "deadline = \"5 ms\"",
    },
];
