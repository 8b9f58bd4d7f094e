//! Keys of `[partition.NAME.component.NAME]`

use crate::registry::Presence::{Default, Required, RequiredByRule};
use crate::registry::choices::{CRITICALITIES, ON_FAULT, ROLES};
use crate::registry::key::{Key, Shape};
use bulkhead_abi::component::{COMPONENT_CORES, LEAST_PRIORITY};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "partition.*.component",
        shape: Shape::Named,
        presence: Default("an image of one's own"),
        meaning: "Components of an rtos partition, `[partition.NAME.component.NAME]` each, in place of \
                  `image`: programs on the kernel, each in an address space of its own with just the \
                  capabilities that are named here. Addresses, slots and identities are derived.",
        example: "[partition.control.component.controller]",
    },
    Key {
        path: "partition.*.component.*.role",
        shape: Shape::Choice(ROLES.words),
        presence: Default("`\"application\"`"),
        meaning: "What it is for. `\"boot\"` (exactly one): the kernel starts it with every capability. \
                  `bulkhead-boot` builds the other components as described here and watches their schedulers; another \
                  boot component is free to do otherwise. `\"scheduler\"` (at most one on each core): schedules the \
                  threads. `\"driver\"`: serves the others. `\"application\"`: does the work; the partition is up once \
                  all applications have announced that they are.",
        example: "role = \"driver\"",
    },
    Key {
        path: "partition.*.component.*.image",
        shape: Shape::Section,
        presence: RequiredByRule,
        meaning: "Its program: `{ crate = … }`, `{ folder = … }` or `{ file = … }`.",
        example: "image = { crate = \"bulkhead-control\" }",
    },
    Key {
        path: "partition.*.component.*.image.crate",
        shape: Shape::Text,
        presence: Default("not built from source"),
        meaning: "A crate of this workspace that links as a component.",
        example: "image.crate = \"bulkhead-control\"",
    },
    Key {
        path: "partition.*.component.*.image.file",
        shape: Shape::Text,
        presence: Default("no file of your own"),
        meaning: "An ELF file, linked by the script of `user/rt`, relative to the description.",
        example: "image.file = \"controller.elf\"",
    },
    Key {
        path: "partition.*.component.*.image.folder",
        shape: Shape::Text,
        presence: Default("no program of your own"),
        meaning: "A folder with a crate, or C and C++ files, of your own, relative to the description. A program with \
                  threads of its own includes `slite.h`, one of pipe functions `pipe.h`; any other is `int main(void)` \
                  beside other components (`bulkhead.h`), with `memory` as its heap.",
        example: "image.folder = \"./app\"",
    },
    Key {
        path: "partition.*.component.*.image.sources",
        shape: Shape::Texts,
        presence: Default("the files of the folder alone"),
        meaning: "C and C++ files of a library that the folder's program is compiled with: files, or folders of which \
                  all files are taken, relative to the description.",
        example: "image.sources = [\"../zlib\"]",
    },
    Key {
        path: "partition.*.component.*.image.include",
        shape: Shape::Texts,
        presence: Default("the folder alone"),
        meaning: "Folders of headers of the folder's C and C++ files, relative to the description. They are searched \
                  after the folder itself and before the C library's headers; no other headers are found.",
        example: "image.include = [\"../zlib\"]",
    },
    Key {
        path: "partition.*.component.*.image.define",
        shape: Shape::Texts,
        presence: Default("no macros"),
        meaning: "Macros of the folder's C and C++ files: `NAME`, which is 1, or `NAME=VALUE`.",
        example: "image.define = [\"NO_GZIP\", \"BUFFER=512\"]",
    },
    Key {
        path: "partition.*.component.*.provides",
        shape: Shape::Texts,
        presence: Default("nothing"),
        meaning: "Interfaces that others of the partition may invoke it by; names of your choice. The \
                  runtime knows `threads` (of the scheduler) and `console`.",
        example: "provides = [\"console\"]",
    },
    Key {
        path: "partition.*.component.*.needs",
        shape: Shape::Texts,
        presence: Default("nothing"),
        meaning: "Interfaces that it invokes. It gets the capabilities for these and for no other.",
        example: "needs = [\"threads\", \"console\"]",
    },
    Key {
        path: "partition.*.component.*.trusts",
        shape: Shape::Texts,
        presence: Default("nothing"),
        meaning: "Among `needs`: interfaces of less critical components that it uses all the same, \
                  because it works without their answers.",
        example: "trusts = [\"console\"]",
    },
    Key {
        path: "partition.*.component.*.channels",
        shape: Shape::Texts,
        presence: Default("none"),
        meaning: "Channels of the partition that are mapped into this component, and into no other one.",
        example: "channels = [\"sensors\", \"actuators\"]",
    },
    Key {
        path: "partition.*.component.*.doorbells",
        shape: Shape::Texts,
        presence: Default("none"),
        meaning: "Those of its `channels` that ring a doorbell, for which the component's thread waits as for an \
                  interrupt.",
        example: "doorbells = [\"commands\"]",
    },
    Key {
        path: "partition.*.component.*.core",
        shape: Shape::Number(0, COMPONENT_CORES as u64 - 1),
        presence: Default("0"),
        meaning: "Core on which its thread runs, or which it schedules, counted from 0 among the partition's own. \
                  Each core with threads has a scheduler of its own.",
        example: "core = 1",
    },
    Key {
        path: "partition.*.component.*.every_core",
        shape: Shape::Flag,
        presence: Default("`false`"),
        meaning: "It has no thread and answers threads of all cores: it is written to be in by several at a time.",
        example: "every_core = true",
    },
    Key {
        path: "partition.*.component.*.owns",
        shape: Shape::Texts,
        presence: Default("nothing"),
        meaning: "Parts of the partition that are its own: `console`, `trace` (a recorder in it), `heartbeat`, `monitor`, \
                  `interrupts`, and at most one PCIe function among its `devices`, by name.",
        example: "owns = [\"trace\"]",
    },
    Key {
        path: "partition.*.component.*.memory",
        shape: Shape::Size,
        presence: Default("0"),
        meaning: "Memory of its own beside image and stack, mapped from the start; for the scheduler, \
                  pages for the objects that it makes.",
        example: "memory = \"64 KiB\"",
    },
    Key {
        path: "partition.*.component.*.stack",
        shape: Shape::Size,
        presence: Default("16 KiB"),
        meaning: "Stack of its thread; that of the boot component is always 16 KiB. The page below is not \
                  mapped.",
        example: "stack = \"8 KiB\"",
    },
    Key {
        path: "partition.*.shared",
        shape: Shape::Named,
        presence: Default("components reach no common memory"),
        meaning: "Memory that components of an rtos partition have in common, `[partition.NAME.shared.NAME]` each: \
                  zeros at the start, kept when one of them is rebuilt, and mapped into no other component. Each of \
                  them can wake the others (`threads`).",
        example: "[partition.control.shared.frames]",
    },
    Key {
        path: "partition.*.shared.*.size",
        shape: Shape::Size,
        presence: Required,
        meaning: "Its bytes, whole pages, at most 1 MiB.",
        example: "size = \"64 KiB\"",
    },
    Key {
        path: "partition.*.shared.*.components",
        shape: Shape::Texts,
        presence: Required,
        meaning: "The components that share it: two or more of one core, without the boot \
                  component.",
        example: "components = [\"card\", \"protocols\"]",
    },
    Key {
        path: "partition.*.component.*.priority",
        shape: Shape::Number(0, LEAST_PRIORITY as u64),
        presence: Default("no thread: it only answers invocations"),
        meaning: "Gives it a thread of that priority, 0 the most important, below 61. Beside VCPUs it must be less \
                  important than all of them: where `order` is `fixed-priority`, than their priorities, else 48 or \
                  more.",
        example: "priority = 1",
    },
    Key {
        path: "partition.*.component.*.tasks",
        shape: Shape::Texts,
        presence: Default("no tasks"),
        meaning: "Tasks of the partition that the component executes, each on a thread of its own, on the task's VCPU \
                  and within its budget. With a `priority` the component has one thread more, its first; without, the \
                  first thread executes the task that is described first. The other threads begin when the component \
                  reports that it works.",
        example: "tasks = [\"reply\"]",
    },
    Key {
        path: "partition.*.component.*.budget",
        shape: Shape::Time,
        presence: Default("as much as there is"),
        meaning: "Processor time that its thread with the `priority` may use in every `period`, whatever it does: the kernel \
                  ends it, and the less important ones run. Goes with `period`.",
        example: "budget = \"200 us\"",
    },
    Key {
        path: "partition.*.component.*.period",
        shape: Shape::Time,
        presence: Default("no budget"),
        meaning: "Period of the `budget`.",
        example: "period = \"1 ms\"",
    },
    Key {
        path: "partition.*.component.*.criticality",
        shape: Shape::Choice(CRITICALITIES.words),
        presence: Default("the partition's"),
        meaning: "Its criticality, not above the partition's. What is more critical needs nothing of \
                  what is less, unless it says so (`trusts`).",
        example: "criticality = \"C\"",
    },
    Key {
        path: "partition.*.component.*.on_fault",
        shape: Shape::Choice(ON_FAULT.words),
        presence: Default("`\"fail\"`"),
        meaning: "Reaction to a fault of its thread. `\"fail\"`: the partition fails, and `on_panic` decides. \
                  `\"stop\"`: the thread stays stopped, the others continue. `\"restart\"`: the component is rebuilt \
                  from its image, the others continue. A pending invocation of it returns an error in any case.",
        example: "on_fault = \"stop\"",
    },
    Key {
        path: "partition.*.component.*.restart",
        shape: Shape::Section,
        presence: Default("10 per 10 s"),
        meaning: "Budget of restarts after faults. When it is used up the component \
                  stays stopped.",
        example: "restart = { limit = 3, per = \"1 s\" }",
    },
    Key {
        path: "partition.*.component.*.restart.limit",
        shape: Shape::Number(1, 1_000_000),
        presence: Default("10"),
        meaning: "Restarts admitted per `per`.",
        example: "restart.limit = 3",
    },
    Key {
        path: "partition.*.component.*.restart.per",
        shape: Shape::Time,
        presence: Default("10 s"),
        meaning: "Window of the limit.",
        example: "restart.per = \"1 s\"",
    },
];
