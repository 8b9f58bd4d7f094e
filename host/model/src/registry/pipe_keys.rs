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
        meaning: "The core of the partition on which it runs, counted from 0. On any core but the first of an rtos \
                  partition, the tool adds a component with the first core's scheduler program, its memory and stack, \
                  and what it needs of components with `every_core`. A stage with input from another core polls it \
                  once in each of its periods, which the bound counts. Functions at endpoints of a device are on the \
                  core of the component that drives it. In Linux all functions are on one core, by default the last.",
        example: "core = 0",
    },
    Key {
        path: "partition.*.function.*.on_overrun",
        shape: Shape::Choice(ON_OVERRUN.words),
        presence: Default("`\"skip\"`"),
        meaning: "Reaction to a job that uses up its budget. In any case the job is suspended and counted, and resumes \
                  with the next budget. `\"skip\"`: its message is dropped. `\"stop\"`: the pipe is stopped. \
                  `\"report\"`: nothing more. A lossless message that finds its buffer full for a whole period, \
                  because the reader is down, is dropped and counted; with `\"stop\"` this stops the pipe, too.",
        example: "on_overrun = \"skip\"",
    },
    Key {
        path: "partition.*.function.*.fallback",
        shape: Shape::Text,
        presence: Default("it waits"),
        meaning: "A function of the partition that replaces this one while a stage with input from another partition, \
                  another core or the bridge has received nothing for longer than the pipe's `max_age`. It is called \
                  with the newest message and its age. Each such job is counted and is an event. The built-in \
                  `neutral` sends zeros.",
        example: "fallback = \"neutral\"",
    },
    Key {
        path: "partition.*.spare_stages",
        shape: Shape::Number(0, bulkhead_abi::repository::MAX_STAGES as u64),
        presence: Default("it accepts no run-time flows"),
        meaning: "Of an rtos partition: the most stages of run-time pipes (`pipe add`, `pipe replace`), on all of its \
                  cores together. Stages of removed static pipes are available besides. Each has a thread with 16 KiB \
                  of stack from the start on every core with functions, in a component that the tool adds there. The \
                  planner has 240 KiB. All of this is taken from the scheduler's `memory`. With 0, static pipes can be \
                  replaced and removed, but none added. The static pipes of such a partition are solved with the \
                  scheduling overhead included, so that time for further pipes remains.",
        example: "spare_stages = 6",
    },
    Key {
        path: "partition.*.spare_buffers",
        shape: Shape::Size,
        presence: Default("2 KiB for each of its `spare_stages`"),
        meaning: "Memory for buffers between stages of run-time pipes; that of removed static pipes is available \
                  besides. If the partition has functions on further cores, the same amount is reserved once more for \
                  edges to, from and on those cores. A buffer of four slots takes 512 bytes, one of n messages some \
                  130 and 96 n.",
        example: "spare_buffers = \"12 KiB\"",
    },
    Key {
        path: "partition.*.typed_through",
        shape: Shape::Texts,
        presence: Default("none"),
        meaning: "Of an rtos partition with `spare_stages`: the other partitions in which run-time flows of this one \
                  may have stages. They are Linux partitions, and rtos partitions with `spare_stages` (stages on the \
                  first core, where a flow may also begin at a timer, and end). Each is named by at most one \
                  partition. The tool adds a channel for requests and, for each spare stage, two buffers of 32 \
                  messages between the two. An rtos partition that is named accepts no flows itself. Static pipes with \
                  stages only in these partitions can be stopped, removed and replaced here, wherever they begin.",
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
        presence: Default("none: the stages that use it do its work"),
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
        meaning: "A main VCPU without other tasks that scatters or gathers for the stages that share the endpoint. It \
                  hands each message from the bottom half to every stage that reads there, and sends the messages that \
                  stages write there. Its C suffices for one message. Messages that come more often than once per T \
                  wait, so that they take no time of other VCPUs.",
        example: "scatter = \"can-rx\"",
    },
    Key {
        path: "partition.*.component.*.endpoint.*.sharers",
        shape: Shape::Number(1, bulkhead_abi::repository::MAX_STAGES as u64),
        presence: Default("as many as use it in the description"),
        meaning: "The most stages that may read or write there at once, those of run-time pipes (`spare_stages`) \
                  included. All bounds count this number from the start, so that a later stage cannot break a \
                  guarantee. Goes with `vcpu`.",
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
                  interrupt until the frame is in the stage's socket; where it is written, from the socket until the \
                  frame is the controller's. It is an assumption: bounds include it, `check` says so, and the report \
                  shows the longest measured latency beside it. It is also the minimum distance of messages.",
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
