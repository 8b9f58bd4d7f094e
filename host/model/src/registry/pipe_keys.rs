//! Keys of `[message.NAME]`, `[pipe.NAME]`, `[partition.NAME.function.NAME]`, `….endpoint.NAME` and `….component.NAME.endpoint.NAME`

use super::Presence::{Default, Required, RequiredByRule};
use super::choices::{BUFFERINGS, ON_OVERRUN};
use super::table::table;
use crate::document::At;
use crate::draft::section::Section;
use bulkhead_abi::pipe::OnOverrun;
use bulkhead_tpipe::language::Buffering;

table! {
    /// A type of messages.
    MessageDraft [name: At<String> = Section::name] in "message.*." {
        size: Size, Required, "size = \"4 KiB\"",
            "Bytes of each message, 1 to 1 MiB. Up to 16 bytes are copied with the message; longer ones are written and read in place, in memory \
             that the programs of both functions share.";
    }
}

table! {
    /// A pipe.
    PipeDraft [name: At<String> = Section::name] in "pipe.*." {
        flow: Text, Required, "flow = \"read | estimate | write [5 %, 10 ms]\"",
            "The pipeline: functions in series (`|`), side by side (`,`), in groups (`( )`); `*` first for lossless buffers instead of four-slot \
             ones; at the end the requirement, throughput or loss, and delay. `PARTITION.FUNCTION` where a function's name alone is not unique.";
        max_age: Time, Default("however long it takes"), "max_age = \"100 ms\"",
            "Longest time for which a stage hears nothing from another partition or core, or a first one from the bridge, by its own clock, before \
             its function's `fallback` takes its place; from the start of the pipe on, until something comes.";
    }
}

table! {
    /// A pipe function.
    PipeFunctionDraft [name: At<String> = Section::name] in "partition.*.function.*." {
        wcet: Time, RequiredByRule, "wcet = \"100 us\"",
            "Worst-case execution time of a job: a message of each input read, one to each output written. A stage's budget is a multiple of it, \
             and ends it. May be left out where it was measured (`system.profile`).";
        inputs: Number(0, 64), Default("1"), "inputs = 2",
            "Most inputs, an endpoint included; 0 = it makes its messages itself.";
        outputs: Number(0, 64), Default("1"), "outputs = 2",
            "Most outputs, an endpoint included.";
        input_message: Text, Default("`\"words\"`: 16 bytes, two words"), "input_message = \"depth-map\"",
            "Type of the messages that it reads from other stages (`[message.NAME]`). What it reads at an endpoint has two words.";
        output_message: Text, Default("`\"words\"`: 16 bytes, two words"), "output_message = \"depth-map\"",
            "Type of the messages that it writes, likewise. Its `wcet` includes the time to write them.";
        buffering: Choice(Option<Buffering>, BUFFERINGS), Default("`\"any\"`"), "buffering = \"four-slot\"",
            "Buffers that it allows: four-slot, lossless (`*` before the pipeline), or both.";
        reads: Text, Default("no endpoint"), "reads = \"pipes.can-in\"",
            "The endpoint it reads, `COMPONENT.ENDPOINT` of its partition, `agent.ENDPOINT` in Linux, with the partition's name before it if you \
             like; or `timer`, by which it is released every period; in Linux also `bridge.NAME`, what comes from another machine \
             (`[partition.NAME.bridge.import.NAME]`), where it looks every period. It can only be a first stage.";
        writes: Text, Default("`\"null\"`: what a last stage sends goes nowhere"), "writes = \"pipes.can-out\"",
            "The endpoint it writes to, named likewise, or `trace` or `null`; in Linux also `bridge`, by which it leaves the machine \
             (`[partition.NAME.bridge]`). It can only be a last stage.";
        period: Time, Default("10 ms"), "period = \"10 ms\"",
            "Its period in a pipeline without a requirement.";
        core: Number(0, 63), Default("0"), "core = 0",
            "The core of the partition on which it runs, counted from 0. On any core but the first of an rtos partition, the tool adds a component \
             with the first core's scheduler program, its memory and stack, and what it needs of components with `every_core`. A stage with input \
             from another core polls it once in each of its periods, which the bound counts. Functions at endpoints of a device are on the core of \
             the component that drives it. In Linux all functions are on one core, by default the last.";
        component: Text, Default("the program of the scheduler"), "component = \"filters\"",
            "The component of its core, in an rtos partition, that executes it: jobs run in that component's address space, each stage on a stack \
             of its own of the component's `stack`, on the stage's VCPU. After a fault in the function the component's `on_fault` decides; \
             with `\"restart\"` a stage has no output until the component works again, and every other component and pipe continues.";
        on_overrun: Choice(OnOverrun, ON_OVERRUN), Default("`\"skip\"`"), "on_overrun = \"skip\"",
            "Reaction to a job that uses up its budget. In any case the job is suspended and counted, and resumes with the next budget. \
             `\"skip\"`: its message is dropped. `\"stop\"`: the pipe is stopped. `\"report\"`: nothing more. A lossless message that finds its \
             buffer full for a whole period, because the reader is down, is dropped and counted; with `\"stop\"` this stops the pipe, too.";
        fallback: Text, Default("it waits"), "fallback = \"neutral\"",
            "A function of the partition that replaces this one while a stage with input from another partition, another core or the bridge has \
             received nothing for longer than the pipe's `max_age`. It is called with the newest message and its age. Each such job is counted and \
             is an event. The built-in `neutral` sends zeros.";
    }
}

table! {
    /// An endpoint of a component, or of a Linux partition.
    EndpointDraft [name: At<String> = Section::name] in "partition.*.component.*.endpoint.*." {
        vcpu: Text, Default("none: the stages that use it do its work"), "vcpu = \"can\"",
            "The I/O VCPU on which its interrupts are served.";
        wcet: Time, Default("nothing to do for a message"), "wcet = \"50 us\"",
            "Worst-case execution time of the bottom half for one message. Goes with `vcpu`.";
        scatter: Text, Default("it is not shared"), "scatter = \"can-rx\"",
            "A main VCPU without other tasks that scatters or gathers for the stages that share the endpoint. It hands each message from the \
             bottom half to every stage that reads there, and sends the messages that stages write there. Its C suffices for one message. Messages \
             that come more often than once per T wait, so that they take no time of other VCPUs.";
        sharers: Number(1, bulkhead_abi::repository::MAX_STAGES as u64), Default("as many as use it in the description"), "sharers = 3",
            "The most stages that may read or write there at once, those of run-time pipes (`spare_stages`) included. All bounds count this number \
             from the start, so that a later stage cannot break a guarantee. Goes with `vcpu`.";
        distance: Time, Default("the first stage's period: as often as the pipeline takes them"), "distance = \"10 ms\"",
            "Where it is read: shortest distance of two messages, the jitter of sender and driver deducted. A message that comes closer is \
             dropped, and the report names its sender.";
        identifier: Number(0, 0x7ff), Default("where it is read, all that come; where it is written, as the message has it"), "identifier = 0x140",
            "Of CAN: the identifier, 11 bits, of the frames that are read or written there. Endpoints with identifiers share a controller.";
        address: Text, RequiredByRule, "address = \"10.0.2.15:5000\"",
            "Of a network card, `IPV4:PORT`: where stages write, the receiver's; of all other endpoints the card's own, with the port at which \
             datagrams come. A datagram is 16 bytes, a message's two words, little-endian.";
    } in "partition.*.endpoint.*." {
        device: Text, RequiredByRule, "device = \"can0\"",
            "The controller, one of the partition's `devices`.";
        latency: Time, RequiredByRule, "latency = \"1 ms\"",
            "Longest time that Linux takes between the controller and the stage: where it is read, from the interrupt until the frame is in the \
             stage's socket; where it is written, from the socket until the frame is the controller's. It is an assumption: bounds include it, \
             `check` says so, and the report shows the longest measured latency beside it. It is also the minimum distance of messages.";
    } keys in "partition.*.endpoint.*." {
        "distance": Time, Default("the first stage's period: as often as the pipeline takes them"), "distance = \"10 ms\"",
            "Where it is read: shortest distance of two messages, the jitter of sender and driver deducted. A message that comes closer is \
             dropped, and the report names its sender.";
        "identifier": Number(0, 0x7ff), Default("where it is read, all that come; where it is written, as the message has it"), "identifier = 0x140",
            "The identifier, 11 bits, of the frames that are read or written there. Endpoints with identifiers share a controller.";
    }
}
