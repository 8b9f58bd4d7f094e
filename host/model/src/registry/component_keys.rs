//! Keys of `[partition.NAME.component.NAME]` and `[partition.NAME.shared.NAME]`

use super::Presence::{Default, Required, RequiredByRule};
use super::choices::{CRITICALITIES, ON_FAULT, ROLES};
use super::pipe_keys::EndpointDraft;
use super::table::table;
use crate::document::At;
use crate::draft::section::Section;
use crate::kinds::Criticality;
use bulkhead_abi::component::{COMPONENT_CORES, LEAST_PRIORITY, OnFault, Role};

table! {
    /// A component.
    ComponentDraft [name: At<String> = Section::name] in "partition.*.component.*." {
        role: Choice(Role, ROLES), Default("`\"application\"`"), "role = \"driver\"",
            "What it is for. `\"boot\"` (exactly one): the kernel starts it with every capability. `bulkhead-boot` builds the other components as \
             described here and watches their schedulers; another boot component is free to do otherwise. `\"scheduler\"` (at most one on each \
             core): schedules the threads. `\"driver\"`: serves the others. `\"application\"`: does the work; the partition is up once all \
             applications have announced that they are.";
        image: Section(ProgramDraft), RequiredByRule, "image = { crate = \"bulkhead-control\" }",
            "Its program: `{ crate = … }`, `{ folder = … }` or `{ file = … }`.";
        provides: Texts, Default("nothing"), "provides = [\"console\"]",
            "Interfaces that others of the partition may invoke it by; names of your choice. The runtime knows `threads` (of the scheduler) and \
             `console`.";
        needs: Texts, Default("nothing"), "needs = [\"threads\", \"console\"]",
            "Interfaces that it invokes. It gets the capabilities for these and for no other.";
        trusts: Texts, Default("nothing"), "trusts = [\"console\"]",
            "Among `needs`: interfaces of less critical components that it uses all the same, because it works without their answers.";
        channels: Texts, Default("none"), "channels = [\"sensors\", \"actuators\"]",
            "Channels of the partition that are mapped into this component, and into no other one.";
        doorbells: Texts, Default("none"), "doorbells = [\"commands\"]",
            "Those of its `channels` that ring a doorbell, for which the component's thread waits as for an interrupt.";
        core: Number(0, COMPONENT_CORES as u64 - 1), Default("0"), "core = 1",
            "Core on which its thread runs, or which it schedules, counted from 0 among the partition's own. Each core with threads has a \
             scheduler of its own.";
        every_core: Flag, Default("`false`"), "every_core = true",
            "It has no thread and answers threads of all cores: it is written to be in by several at a time.";
        owns: Texts, Default("nothing"), "owns = [\"trace\"]",
            "Parts of the partition that are its own: `console`, `trace` (a recorder in it), `heartbeat`, `monitor`, `interrupts`, and at most one PCIe function \
             among its `devices`, by name.";
        memory: Size, Default("0"), "memory = \"64 KiB\"",
            "Memory of its own beside image and stack, mapped from the start; for the scheduler, pages for the objects that it makes.";
        stack: Size, Default("16 KiB"), "stack = \"8 KiB\"",
            "Stack of its thread; that of the boot component is always 16 KiB. The page below is not mapped.";
        priority: Number(0, LEAST_PRIORITY as u64), Default("no thread: it only answers invocations"), "priority = 1",
            "Gives it a thread of that priority, 0 the most important, below 61. Beside VCPUs it must be less important than all of them: where \
             `order` is `fixed-priority`, than their priorities, else 48 or more. `check` computes a bound for it if one of its `tasks` has no \
             `vcpu`: this is what the thread executes.";
        tasks: Texts, Default("no tasks"), "tasks = [\"reply\"]",
            "Tasks of the partition that the component executes, each on a thread of its own, on the task's VCPU and within its budget. With a \
             `priority` the component has one thread more, its first, which executes the task without a `vcpu` if there is one; without, the first \
             thread executes the task that is described first. The other threads begin when the component reports that it works.";
        budget: Time, Default("as much as there is"), "budget = \"200 us\"",
            "Processor time that its thread with the `priority` may use in every `period`, whatever it does: the kernel ends it, and the less \
             important ones run. Goes with `period`.";
        period: Time, Default("no budget"), "period = \"1 ms\"",
            "Period of the `budget`.";
        criticality: Choice(Criticality, CRITICALITIES), Default("the partition's"), "criticality = \"C\"",
            "Its criticality, not above the partition's. What is more critical needs nothing of what is less, unless it says so (`trusts`).";
        on_fault: Choice(OnFault, ON_FAULT), Default("`\"fail\"`"), "on_fault = \"stop\"",
            "Reaction to a fault of its thread. `\"fail\"`: the partition fails, and `on_panic` decides. `\"stop\"`: the thread stays stopped, the \
             others continue. `\"restart\"`: the component is rebuilt from its image, the others continue. A pending invocation of it returns an \
             error in any case.";
        restart: Section(ComponentRestartDraft), Default("10 per 10 s"), "restart = { limit = 3, per = \"1 s\" }",
            "Budget of restarts after faults. When it is used up the component stays stopped.";
        endpoints "endpoint": Named(EndpointDraft), Default("none"), "[partition.control.component.pipes.endpoint.can-in]",
            "Endpoints at which a component hands on what a device brings or takes, in one direction each: \
             `[partition.NAME.component.NAME.endpoint.NAME]`. Pipes know them as `PARTITION.COMPONENT.ENDPOINT`.";
    }
}

table! {
    /// The program of a component.
    ProgramDraft in "partition.*.component.*.image." {
        built "crate": Text, Default("not built from source"), "image.crate = \"bulkhead-control\"",
            "A crate of this workspace that links as a component.";
        file: Text, Default("no file of your own"), "image.file = \"controller.elf\"",
            "An ELF file, linked by the script of `user/rt`, relative to the description.";
        folder: Text, Default("no program of your own"), "image.folder = \"./app\"",
            "A folder with a crate, or C and C++ files, of your own, relative to the description. A program with threads of its own includes \
             `slite.h` or `cmsis_os2.h`, one of pipe functions `pipe.h`; any other is `int main(void)` beside other components (`bulkhead.h`), with `memory` as its \
             heap.";
        sources: Texts, Default("the files of the folder alone"), "image.sources = [\"../zlib\"]",
            "C and C++ files of a library that the folder's program is compiled with: files, or folders of which all files are taken, relative to \
             the description.";
        include: Texts, Default("the folder alone"), "image.include = [\"../zlib\"]",
            "Folders of headers of the folder's C and C++ files, relative to the description. They are searched after the folder itself and before \
             the C library's headers; no other headers are found.";
        define: Texts, Default("no macros"), "image.define = [\"NO_GZIP\", \"BUFFER=512\"]",
            "Macros of the folder's C and C++ files: `NAME`, which is 1, or `NAME=VALUE`.";
    }
}

table! {
    /// A budget of restarts.
    ComponentRestartDraft in "partition.*.component.*.restart." {
        limit: Number(1, 1_000_000), Default("10"), "restart.limit = 3",
            "Restarts admitted per `per`.";
        per: Time, Default("10 s"), "restart.per = \"1 s\"",
            "Window of the limit.";
    }
}

table! {
    /// Memory that components share.
    SharedDraft [name: At<String> = Section::name] in "partition.*.shared.*." {
        size: Size, Required, "size = \"64 KiB\"",
            "Its bytes, whole pages, at most 1 MiB.";
        components: Texts, Required, "components = [\"card\", \"protocols\"]",
            "The components that share it: two or more of one core, without the boot component.";
    }
}
