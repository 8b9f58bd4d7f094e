//! Keys of a file of pipe functions

use crate::registry::Presence::{Default, Required};
pub(crate) use crate::registry::choices::{BUFFERINGS, POLICIES};
use crate::registry::key::{Key, Shape};

/// No list of sharers is longer.
const SHARERS: u64 = 1_000;

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "core",
        shape: Shape::Named,
        presence: Required,
        meaning: "Cores on which pipelines run, `[core.NAME]` each. Those of a file are taken for one address space; in a description an edge between \
                  cores of an rtos partition, or between partitions, costs its reader a look by the clock, a period more.",
        example: "[core.rtos]",
    },
    Key {
        path: "core.*.policy",
        shape: Shape::Choice(POLICIES.words),
        presence: Default("`\"rate-monotonic\"`"),
        meaning: "How the core schedules. `\"rate-monotonic\"`: sporadic servers, the shorter period \
                  first. `\"edf\"`: the same servers, earliest deadline first. `\"deadline\"`: Linux's \
                  SCHED_DEADLINE, which keeps 5 % and has no period below 100 us.",
        example: "policy = \"rate-monotonic\"",
    },
    Key {
        path: "core.*.load",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "VCPUs that the core has besides pipelines, `[core.NAME.load.NAME]` each.",
        example: "[core.rtos.load.control]",
    },
    Key {
        path: "core.*.load.*.C",
        shape: Shape::Time,
        presence: Required,
        meaning: "Its budget in every T.",
        example: "C = \"1 ms\"",
    },
    Key {
        path: "core.*.load.*.T",
        shape: Shape::Time,
        presence: Required,
        meaning: "Its period.",
        example: "T = \"10 ms\"",
    },
    Key {
        path: "io",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "I/O VCPUs, one per class of devices, `[io.NAME]` each.",
        example: "[io.usb]",
    },
    Key {
        path: "io.*.core",
        shape: Shape::Text,
        presence: Required,
        meaning: "The core it runs on, and with it the Main VCPUs of its devices.",
        example: "core = \"rtos\"",
    },
    Key {
        path: "io.*.wcet",
        shape: Shape::Time,
        presence: Required,
        meaning: "Worst-case execution time of the bottom half for one message.",
        example: "wcet = \"100 us\"",
    },
    Key {
        path: "io.*.utilisation",
        shape: Shape::Number(1, 100),
        presence: Required,
        meaning: "Share of the core that it may use, in percent; after C it rests until C/U.",
        example: "utilisation = 10",
    },
    Key {
        path: "io.*.sharers",
        shape: Shape::Number(1, SHARERS),
        presence: Default("as many as the pipeline itself has"),
        meaning: "How many streams of messages meet there at most, those of other pipelines included.",
        example: "sharers = 2",
    },
    Key {
        path: "device",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "Device pipes, in one direction each, `[device.NAME]`.",
        example: "[device.can-in]",
    },
    Key {
        path: "device.*.io",
        shape: Shape::Text,
        presence: Required,
        meaning: "The I/O VCPU that handles its interrupts.",
        example: "io = \"usb\"",
    },
    Key {
        path: "device.*.C",
        shape: Shape::Time,
        presence: Default("the device is not shared and has no Main VCPU"),
        meaning: "Budget in every T of the Main VCPU that scatters and gathers, enough for one message.",
        example: "C = \"200 us\"",
    },
    Key {
        path: "device.*.T",
        shape: Shape::Time,
        presence: Default("the device is not shared and has no Main VCPU"),
        meaning: "Period of that VCPU; goes with `C`.",
        example: "T = \"1 ms\"",
    },
    Key {
        path: "device.*.sharers",
        shape: Shape::Number(1, SHARERS),
        presence: Default("as many as the pipeline itself has"),
        meaning: "How many streams of messages meet there at most, those of other pipelines included.",
        example: "sharers = 2",
    },
    Key {
        path: "device.*.distance",
        shape: Shape::Time,
        presence: Default("the first stage's period: as often as the pipeline takes them"),
        meaning: "Of a device that is read: shortest distance of two messages to one pipeline.",
        example: "distance = \"10 ms\"",
    },
    Key {
        path: "function",
        shape: Shape::Named,
        presence: Required,
        meaning: "Pipe functions, `[function.NAME]` each; pipelines are made of these names.",
        example: "[function.can-read]",
    },
    Key {
        path: "function.*.core",
        shape: Shape::Text,
        presence: Required,
        meaning: "The core it runs on.",
        example: "core = \"rtos\"",
    },
    Key {
        path: "function.*.wcet",
        shape: Shape::Time,
        presence: Required,
        meaning: "Worst-case execution time of a job: a message of each input read, one to each output written.",
        example: "wcet = \"100 us\"",
    },
    Key {
        path: "function.*.inputs",
        shape: Shape::Number(0, 64),
        presence: Default("1"),
        meaning: "Most inputs, a device included; 0 = it makes its messages itself.",
        example: "inputs = 2",
    },
    Key {
        path: "function.*.outputs",
        shape: Shape::Number(0, 64),
        presence: Default("1"),
        meaning: "Most outputs, a device included.",
        example: "outputs = 2",
    },
    Key {
        path: "function.*.buffering",
        shape: Shape::Choice(BUFFERINGS.words),
        presence: Default("`\"any\"`"),
        meaning: "Buffers that it allows: four-slot, lossless (`*` before the pipeline), or both.",
        example: "buffering = \"four-slot\"",
    },
    Key {
        path: "function.*.reads",
        shape: Shape::Text,
        presence: Default("no device"),
        meaning: "The device it reads; it can only be a first stage.",
        example: "reads = \"can-in\"",
    },
    Key {
        path: "function.*.writes",
        shape: Shape::Text,
        presence: Default("no device; what a last stage sends goes to the null device"),
        meaning: "The device it writes to; it can only be a last stage.",
        example: "writes = \"can-out\"",
    },
    Key {
        path: "function.*.period",
        shape: Shape::Time,
        presence: Default("10 ms"),
        meaning: "Its period in a pipeline without a requirement.",
        example: "period = \"10 ms\"",
    },
];
