//! Keys of `[pipe.NAME]`, `[partition.NAME.function.NAME]`, `….endpoint.NAME` and `….component.NAME.endpoint.NAME`

use crate::registry::Presence::{Default, Required, RequiredByRule};
use crate::registry::choices::{BUFFERINGS, ON_OVERRUN};
use crate::registry::key::{Key, Shape};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "pipe",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "Tuned pipes, `[pipe.NAME]` each: stages of pipe functions between devices, with a \
                  requirement from end to end. Budgets, periods and buffers are computed, together with \
                  all VCPUs of the cores involved; one that cannot be kept is refused.",
        example: "[pipe.steering]",
    },
    Key {
        path: "pipe.*.flow",
        shape: Shape::Text,
        presence: Required,
        meaning: "The pipeline: functions in series (`|`), side by side (`,`), in groups (`( )`); `*` first \
                  for lossless buffers instead of four-slot ones; at the end the requirement, throughput or \
                  loss, and delay. `PARTITION.FUNCTION` where a function's name alone is not unique.",
        example: "flow = \"read | estimate | write [5 %, 10 ms]\"",
    },
    Key {
        path: "pipe.*.max_age",
        shape: Shape::Time,
        presence: Default("however long it takes"),
        meaning: "Longest time for which a stage hears nothing from another partition or core, or a first one from the bridge, by its own clock, before its \
                  function's `fallback` takes its place; from the start of the pipe on, until something comes.",
        example: "max_age = \"100 ms\"",
    },
    Key {
        path: "partition.*.function",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "Pipe functions that the partition offers, `[partition.NAME.function.NAME]` each. In an rtos \
                  partition each stage is a thread on a VCPU of its own; in Linux it runs under \
                  SCHED_DEADLINE.",
        example: "[partition.control.function.read]",
    },
    Key {
        path: "partition.*.function.*.wcet",
        shape: Shape::Time,
        presence: RequiredByRule,
        meaning: "Worst-case execution time of a job: a message of each input read, one to each output \
                  written. A stage's budget is a multiple of it, and ends it. May be left out where it was measured \
                  (`system.profile`).",
        example: "wcet = \"100 us\"",
    },
    Key {
        path: "partition.*.function.*.inputs",
        shape: Shape::Number(0, 64),
        presence: Default("1"),
        meaning: "Most inputs, an endpoint included; 0 = it makes its messages itself.",
        example: "inputs = 2",
    },
    Key {
        path: "partition.*.function.*.outputs",
        shape: Shape::Number(0, 64),
        presence: Default("1"),
        meaning: "Most outputs, an endpoint included.",
        example: "outputs = 2",
    },
    Key {
        path: "partition.*.function.*.buffering",
        shape: Shape::Choice(BUFFERINGS.words),
        presence: Default("`\"any\"`"),
        meaning: "Buffers that it allows: four-slot, lossless (`*` before the pipeline), or both.",
        example: "buffering = \"four-slot\"",
    },
    Key {
        path: "partition.*.function.*.reads",
        shape: Shape::Text,
        presence: Default("no endpoint"),
        meaning: "The endpoint it reads, `COMPONENT.ENDPOINT` of its partition, `agent.ENDPOINT` in Linux, with the partition's name \
                  before it if you like; or `timer`, by which it is released every period; in Linux also `bridge.NAME`, what comes from \
                  another machine (`[partition.NAME.bridge.import.NAME]`), where it looks every period. It can only be a first stage.",
        example: "reads = \"pipes.can-in\"",
    },
    Key {
        path: "partition.*.function.*.writes",
        shape: Shape::Text,
        presence: Default("`\"null\"`: what a last stage sends goes nowhere"),
        meaning: "The endpoint it writes to, named likewise, or `trace` or `null`; in Linux also `bridge`, by which it leaves \
                  the machine (`[partition.NAME.bridge]`). It can only be a last stage.",
        example: "writes = \"pipes.can-out\"",
    },
    Key {
        path: "partition.*.function.*.period",
        shape: Shape::Time,
        presence: Default("10 ms"),
        meaning: "Its period in a pipeline without a requirement.",
        example: "period = \"10 ms\"",
    },
    Key {
        path: "partition.*.function.*.core",
        shape: Shape::Number(0, 63),
        presence: Default("0"),
        meaning: "On which of the partition's cores it runs, counted from 0. On another core of an rtos partition than the first it is run by the program \
                  that schedules the first, in a component that the tool adds there: with its memory and stack, and what it needs of components with \
                  `every_core`. A stage that another core's feeds looks by the clock, once in each of its periods, which the bound counts. Functions at \
                  endpoints of a device are on the core of the component that drives it. In Linux all are on one core, the last where nothing is said.",
        example: "core = 0",
    },
    Key {
        path: "partition.*.function.*.on_overrun",
        shape: Shape::Choice(ON_OVERRUN.words),
        presence: Default("`\"skip\"`"),
        meaning: "What is done about a job that uses up its budget: it is cut and counted in any case, and goes on with \
                  the next budget. `\"skip\"`: what it then sends is dropped. `\"stop\"`: the pipe is stopped. `\"report\"`: nothing more. \
                  A lossless message that finds no room behind it for a period, since who reads is not there, is dropped and \
                  counted; `\"stop\"` stops the pipe then, too.",
        example: "on_overrun = \"skip\"",
    },
    Key {
        path: "partition.*.function.*.fallback",
        shape: Shape::Text,
        presence: Default("it waits"),
        meaning: "The function of the partition that takes its place in a stage that reads what another partition or core writes, or what the bridge brings, \
                  and hears nothing for longer than the pipe's `max_age`: it finds there what came last, and how old that \
                  is. Each such job is counted, and an event. `neutral` is there in any case, and sends zeros.",
        example: "fallback = \"neutral\"",
    },
    Key {
        path: "partition.*.spare_stages",
        shape: Shape::Number(0, bulkhead_abi::repository::MAX_STAGES as u64),
        presence: Default("no flow can be typed there"),
        meaning: "Of an rtos partition: how many stages there may be of pipes that are typed while it runs (`pipe add`, `pipe \
                  replace`), on whichever of its cores, beside those of pipes that were removed. Each has a thread with 16 KiB of stack from the start \
                  on every core with functions, whose component the tool adds then, and whoever solves has 240 KiB, all of the scheduler's \
                  `memory`. With 0, described pipes can be replaced and removed. The described pipes of such a partition are solved with the scheduler's decisions counted, so that room is left.",
        example: "spare_stages = 6",
    },
    Key {
        path: "partition.*.spare_buffers",
        shape: Shape::Size,
        presence: Default("2 KiB for each of its `spare_stages`"),
        meaning: "Memory of the buffers between stages that are typed, beside that of pipes that were removed. Where the partition has functions on \
                  other cores than the first, as much again for edges to, from and on those. \
                  A buffer of four slots takes 512 bytes, one of n messages some 130 and 96 n.",
        example: "spare_buffers = \"12 KiB\"",
    },
    Key {
        path: "partition.*.typed_through",
        shape: Shape::Texts,
        presence: Default("none"),
        meaning: "Of an rtos partition with `spare_stages`: the other partitions in which flows that are typed here may have stages, \
                  Linux ones and, on their first cores, rtos ones that have `spare_stages`, too, where they may also begin, at a timer, and end. Each is named by one partition at \
                  most, with which it has a channel for requests and for twice as many buffers as there are spare stages, of 32 messages each. In \
                  an rtos partition that is named no flow is typed. Described pipes that have stages in these alone can be stopped, removed and \
                  replaced here, wherever they begin.",
        example: "typed_through = [\"linux\"]",
    },
    Key {
        path: "partition.*.component.*.endpoint",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "Endpoints at which a component hands on what a device brings or takes, in one direction \
                  each: `[partition.NAME.component.NAME.endpoint.NAME]`. Pipes know them as \
                  `PARTITION.COMPONENT.ENDPOINT`.",
        example: "[partition.control.component.pipes.endpoint.can-in]",
    },
    Key {
        path: "partition.*.component.*.endpoint.*.vcpu",
        shape: Shape::Text,
        presence: Default("none: who uses it does its work"),
        meaning: "The I/O VCPU on which its interrupts are served.",
        example: "vcpu = \"can\"",
    },
    Key {
        path: "partition.*.component.*.endpoint.*.wcet",
        shape: Shape::Time,
        presence: Default("nothing to do for a message"),
        meaning: "Worst-case execution time of the bottom half for one message. Goes with `vcpu`.",
        example: "wcet = \"50 us\"",
    },
    Key {
        path: "partition.*.component.*.endpoint.*.scatter",
        shape: Shape::Text,
        presence: Default("it is not shared"),
        meaning: "The main VCPU, of its own, that scatters or gathers for those who share it: what the bottom half \
                  took it hands to each stage that reads there, and what stages write there it sends. Its C is enough \
                  for one message; what comes more often than its T waits, and costs nobody else.",
        example: "scatter = \"can-rx\"",
    },
    Key {
        path: "partition.*.component.*.endpoint.*.sharers",
        shape: Shape::Number(1, bulkhead_abi::repository::MAX_STAGES as u64),
        presence: Default("as many as use it in the description"),
        meaning: "How many stages may read or write there at once, those of pipes that are typed (`spare_stages`) among them. Everybody's \
                  bound counts that many from the start, so that who comes later costs nobody what was promised. Goes with `vcpu`.",
        example: "sharers = 3",
    },
    Key {
        path: "partition.*.component.*.endpoint.*.distance",
        shape: Shape::Time,
        presence: Default("the first stage's period: as often as the pipeline takes them"),
        meaning: "Where it is read: shortest distance of two messages, the jitter of sender and driver deducted. A message that comes closer is dropped, and the report names its sender.",
        example: "distance = \"10 ms\"",
    },
    Key {
        path: "partition.*.component.*.endpoint.*.identifier",
        shape: Shape::Number(0, 0x7ff),
        presence: Default(
            "where it is read, all that come; where it is written, as the message has it",
        ),
        meaning: "Of CAN: the identifier, 11 bits, of the frames that are read or written there. Endpoints with \
                  identifiers share a controller.",
        example: "identifier = 0x140",
    },
    Key {
        path: "partition.*.component.*.endpoint.*.address",
        shape: Shape::Text,
        presence: RequiredByRule,
        meaning: "Of a network card, `IPV4:PORT`: where stages write, the receiver's; of all other endpoints the card's own, with the \
                  port at which datagrams come. A datagram is 16 bytes, a message's two words, little-endian.",
        example: "address = \"10.0.2.15:5000\"",
    },
    Key {
        path: "partition.*.endpoint",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "Endpoints of the CAN controllers of a Linux partition, `[partition.NAME.endpoint.NAME]` each, at which its \
                  stages read or write by SocketCAN. Pipes know them as `PARTITION.agent.ENDPOINT`. The agent brings \
                  the controller up, at 500 kbit/s.",
        example: "[partition.linux.endpoint.can-in]",
    },
    Key {
        path: "partition.*.endpoint.*.device",
        shape: Shape::Text,
        presence: RequiredByRule,
        meaning: "The controller, one of the partition's `devices`.",
        example: "device = \"can0\"",
    },
    Key {
        path: "partition.*.endpoint.*.latency",
        shape: Shape::Time,
        presence: RequiredByRule,
        meaning: "Longest time that Linux takes between the controller and the stage: where it is read, from the \
                  interrupt until the frame is in the stage's socket; where it is written, from the socket until the frame is \
                  the controller's. Nobody proves it: bounds stand on it, `check` says so, and the report has the \
                  longest that was seen beside it. Messages are at least so far apart.",
        example: "latency = \"1 ms\"",
    },
    Key {
        path: "partition.*.endpoint.*.distance",
        shape: Shape::Time,
        presence: Default("the first stage's period: as often as the pipeline takes them"),
        meaning: "Where it is read: shortest distance of two messages, the jitter of sender and driver deducted. A message that comes closer is dropped, and the report names its sender.",
        example: "distance = \"10 ms\"",
    },
    Key {
        path: "partition.*.endpoint.*.identifier",
        shape: Shape::Number(0, 0x7ff),
        presence: Default(
            "where it is read, all that come; where it is written, as the message has it",
        ),
        meaning: "The identifier, 11 bits, of the frames that are read or written there. Endpoints with identifiers \
                  share a controller.",
        example: "identifier = 0x140",
    },
];
