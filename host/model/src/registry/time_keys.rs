//! Keys of `[partition.NAME.vcpu.NAME]` and `[partition.NAME.task.NAME]`

use super::{Key, Presence::Default, Presence::Required, Presence::RequiredByRule, Shape};

/// Values of `kind`, in the order of `VcpuKind`.
const KINDS: &[&str] = &["main", "io"];

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "partition.*.vcpu",
        shape: Shape::Named,
        presence: Default("the partition schedules itself as it likes"),
        meaning: "VCPUs of an rtos partition, `[partition.NAME.vcpu.NAME]` each: budgets of processor \
                  time, enforced and rate-monotonic. `check` answers for all deadlines, `sim` shows \
                  the schedule.",
        example: "[partition.control.vcpu.fast]",
    },
    Key {
        path: "partition.*.vcpu.*.kind",
        shape: Shape::Choice(KINDS),
        presence: Default("`\"main\"`"),
        meaning: "`\"main\"`: a sporadic server that gives its tasks C in every T. `\"io\"`: runs the bottom \
                  halves of a device class, at the priority of the main VCPU that waits for them, for \
                  no more than its utilisation.",
        example: "kind = \"main\"",
    },
    Key {
        path: "partition.*.vcpu.*.C",
        shape: Shape::Time,
        presence: RequiredByRule,
        meaning: "Budget of a main VCPU in every T; more than 0, at most T.",
        example: "C = \"2 ms\"",
    },
    Key {
        path: "partition.*.vcpu.*.T",
        shape: Shape::Time,
        presence: RequiredByRule,
        meaning: "Period of a main VCPU; the smaller, the more important it is.",
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
