//! How the components of a partition are wired, and what each of them is told
//!
//! [`crate::kernel::Archive`] gives the resources of each component ([`Wiring`]) and the provider
//! of each interface; the boot component builds the others from it. A component built so finds one page
//! about itself at [`INFO_ADDRESS`]. `doc/interfaces/kernel.md` has the same in words.

use crate::NAME_LEN;
use crate::PAGE_SIZE;
use crate::guest::{Function, GuestInfo};
use crate::kernel::{MAX_COMPONENTS, MAX_CORES, STACK_TOP, first};
use crate::timing::MAX_TASKS;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Interfaces of a partition.
pub const MAX_INTERFACES: usize = 16;
/// Threads of the components of a partition.
pub const MAX_COMPONENT_THREADS: usize = 24;
/// Pieces of memory that components of a partition share.
pub const MAX_SHARED: usize = 3;
/// Address of a component's [`ComponentInfo`], read-only.
pub const INFO_ADDRESS: u64 = STACK_TOP;
/// [`Wiring::priority`] of a component without a thread at a priority.
pub const NO_THREAD: u32 = u32::MAX;
/// [`Wiring::core`] of a component that threads of all cores may be in.
pub const ANY_CORE: u32 = u32::MAX;
/// Cores of a partition that can have components, all of them. A server of every core has so many sets of stacks.
pub const COMPONENT_CORES: usize = MAX_CORES;
/// Lowest importance that a description may give; below are the runtime's own threads.
pub const LEAST_PRIORITY: u32 = 60;

/// Difference between the identity of a component's address space and its number in the archive: identity 0 is the kernel's.
pub const IDENTITY: u64 = 1;

/// Role of a component.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Does the partition's work.
    Application = 0,
    /// Serves others, perhaps with a part of the machine of its own.
    Driver = 1,
    /// Schedules the threads of all others, and holds time and memory.
    Scheduler = 2,
    /// Is started by the kernel with every capability, and builds the others.
    Boot = 3,
}

impl Role {
    /// All of them, by number.
    pub const ALL: [Self; 4] = [Self::Application, Self::Driver, Self::Scheduler, Self::Boot];
}

/// A part of the partition that one component has to itself; its number is a bit of [`Wiring::owns`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The console's recorder and its input.
    Console = 0,
    /// A recorder in the partition's trace, [`Wiring::trace`].
    Trace = 1,
    /// The heartbeat's word.
    Heartbeat = 2,
    /// The capability to the monitor.
    Monitor = 3,
    /// The interrupt lines.
    Interrupts = 4,
    /// The right to request VCPUs while the partition runs.
    Admission = 5,
}

impl Part {
    /// All of them, by number.
    pub const ALL: [Self; 6] = [
        Self::Console,
        Self::Trace,
        Self::Heartbeat,
        Self::Monitor,
        Self::Interrupts,
        Self::Admission,
    ];

    /// Its bit.
    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Reaction to a fault of a component's thread in its own component.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFault {
    /// The partition fails; its policy for panics decides.
    Fail = 0,
    /// The thread stays stopped, the others go on.
    Stop = 1,
    /// The component is built anew, the others go on.
    Restart = 2,
}

/// An interface and its provider.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Interface {
    /// Its name.
    pub name: [u8; NAME_LEN],
    /// Number of the component that provides it.
    pub provider: u32,
    /// 0.
    pub reserved: u32,
}

/// Memory that some components have in common, which they alone reach.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Shared {
    /// Its name.
    pub name: [u8; NAME_LEN],
    /// Its pages.
    pub pages: u32,
    /// Bit i: component i has it.
    pub components: u32,
}

/// Shared memory in the address space of one component.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct SharedMemory {
    /// Its name; zeros where the component does not have it.
    pub name: [u8; NAME_LEN],
    /// Its first address.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// Resources and requirements of a component.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Wiring {
    /// A [`Role`].
    pub role: u32,
    /// Bits of [`Part`]s.
    pub owns: u32,
    /// Interfaces it invokes: bit i is [`crate::kernel::Archive::interfaces`] i.
    pub needs: u32,
    /// Channel ends it holds: bit i is [`GuestInfo::channels`] i of the partition.
    pub channels: u32,
    /// Importance of its first thread, 0 the most important, or [`NO_THREAD`].
    pub priority: u32,
    /// An [`OnFault`].
    pub on_fault: u32,
    /// Pages of the stack of each of its threads.
    pub stack_pages: u32,
    /// Pages of memory behind its image.
    pub memory_pages: u32,
    /// Ticks that the thread with a priority may run in every [`Wiring::period_ticks`]; 0 = as much as there is.
    pub budget_ticks: u64,
    /// Ticks of the period; 0 without a budget.
    pub period_ticks: u64,
    /// How often it is restarted in every [`Wiring::restart_ticks`]; afterwards it stays stopped.
    pub restart_limit: u64,
    /// Ticks in which the restarts are counted.
    pub restart_ticks: u64,
    /// The PCIe function it drives: 1 + its place in [`crate::guest::GuestPage::functions`], or 0.
    pub function: u32,
    /// Its interrupt (INTID), a level, or 0.
    pub intid: u32,
    /// Rank of the core on which its thread runs, or which it schedules; [`ANY_CORE`].
    pub core: u32,
    /// Channel ends with doorbells that are its thread's interrupts, a part of [`Wiring::channels`].
    pub doorbells: u32,
    /// The tasks that it executes, each on a thread of its own, on the task's VCPU: bit i is task i of
    /// [`crate::timing`].
    pub tasks: u32,
    /// 1: the component is a scheduler with work of its own, the stages of pipes, and reports when it works, as an application does.
    pub has_work: u16,
    /// Stacks for jobs of pipe functions ([`pipe_functions`]), behind those of its threads.
    pub job_stacks: u16,
    /// First page and pages of the partition's trace into which it records, where it owns the trace; each owner has a recorder of its
    /// own.
    pub trace: [u32; 2],
    /// Pages for the contents of long messages that its pipe functions write ([`message_contents`]).
    pub contents_pages: u32,
    /// 0.
    pub reserved: u32,
}

impl Wiring {
    /// Returns the number of its threads: one with a priority, and one for each task.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        (self.priority != NO_THREAD) as u32 + self.tasks.count_ones()
    }

    /// Returns the number of its stacks: one for each thread, and those for jobs.
    #[must_use]
    pub const fn stacks(&self) -> u32 {
        self.threads() + self.job_stacks as u32
    }
}

const _: () = assert!(MAX_INTERFACES <= 16 && MAX_COMPONENTS <= 16 && MAX_TASKS <= 16);

/// Upper end of a component's stack of that number: those of its threads from 0, then those for jobs. The page below each stack is not mapped.
#[must_use]
pub const fn stack_top(thread: u64, stack_pages: u64) -> u64 {
    STACK_TOP - thread * (stack_pages + 1) * PAGE_SIZE
}

/// Slot of the capability to invoke interface `number`.
#[must_use]
pub const fn interface_slot(number: usize) -> u64 {
    first::FREE + number as u64
}

/// Slot, in the scheduler's table, of the thread of that index.
#[must_use]
pub const fn thread_slot(index: u64) -> u64 {
    first::FREE + MAX_INTERFACES as u64 + index
}

/// Slot, in a scheduler's table, of the capability to invoke the boot component ([`boot`]).
pub const BOOT: u64 = thread_slot(MAX_COMPONENT_THREADS as u64 + 1);

/// First slot of a scheduler's table that is empty.
pub const SCHEDULER_FREE: u64 = BOOT + 1;

/// Token that tells a provider interface and client: the interface's number above the client's.
#[must_use]
pub const fn token(interface: usize, client: usize) -> u64 {
    (interface as u64) << 32 | client as u64
}

/// A component's page about itself. Addresses in it are of its own space.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ComponentInfo {
    /// As the partition's own, but it names what the component has and nothing else: its channel ends,
    /// console and trace if it owns them, its memory.
    pub guest: GuestInfo,
    /// Its name.
    pub name: [u8; NAME_LEN],
    /// Address of the partition's guest page if it owns the heartbeat, or 0. If another scheduler of
    /// the partition owns the heartbeat: address of a page in its place; the owner reads the heartbeat in it.
    pub guest_page: u64,
    /// Address of the archive's first page in a scheduler, or 0. The scheduler lists all
    /// channel ends of the partition and has none: it rings and listens for their owners.
    pub archive: u64,
    /// Address and bytes of VCPUs, tasks and pipes ([`crate::timing`]) in a scheduler and in a component with tasks, or 0.
    pub timing: [u64; 2],
    /// In the owner of the heartbeat, by rank: addresses of the pages that the schedulers of the other cores have
    /// in place of the guest page, read-only; zeros for cores without one.
    pub pulses: [u64; COMPONENT_CORES],
    /// Its number.
    pub number: u8,
    /// 1: its first thread has a priority and executes none of the tasks.
    pub first_has_priority: u8,
    /// Index of its first thread; its other threads have the indices that follow.
    pub first_thread: u16,
    /// As in its [`Wiring`].
    pub needs: u16,
    /// As in its [`Wiring`].
    pub tasks: u16,
    /// The PCIe function that it drives; without a name, none. Its [`Function::memory`] is what the function calls
    /// the component's memory.
    pub function: Function,
    /// Names of the interfaces; number i is invoked by the capability at [`interface_slot`]`(i)`.
    pub interfaces: [[u8; NAME_LEN]; MAX_INTERFACES],
    /// Shared memory, by its place in [`crate::kernel::Archive::shared`].
    pub shared: [SharedMemory; MAX_SHARED],
}

// A nested pipeline, which shares nothing else, has the words of `stages` at the page's end.
const _: () = assert!(
    size_of::<ComponentInfo>() <= PAGE_SIZE as usize
        && core::mem::offset_of!(ComponentInfo, shared) <= 8 * stages::SHARED_FROM
);

/// Requests of a scheduler to the boot component: first word of a message. The answer's value is a status;
/// `Resting` and `InUse`: it is to be asked again.
pub mod boot {
    /// Component `x2`, of which the caller schedules the threads and has retired them, is made again.
    pub const RESTART: u64 = 0;
    /// All applications of the calling core work, and the caller's own work ([`has_work`](super::Wiring::has_work)) has begun: once that holds
    /// for all cores, the partition is up.
    pub const READY: u64 = 1;
}

/// Interface `threads`, which the scheduler of a core provides: first word of a message.
pub mod threads {
    /// The interface's name.
    pub const NAME: &str = "threads";
    /// The caller sleeps until tick `x2`.
    pub const SLEEP: u64 = 0;
    /// The caller lets its equals run.
    pub const YIELD: u64 = 1;
    /// The caller's component works: its other threads begin, and once all applications work, the partition is up.
    pub const READY: u64 = 2;
    /// The caller waits for its next interrupt, from its device, which it has served, or by a doorbell; or until a
    /// component that shares memory with it wakes it. Answers how many of all these came at once.
    pub const SERVED: u64 = 3;
    /// Doorbell `x2`, that of a channel's end which the caller holds, rings. The answer is a status.
    pub const RING: u64 = 4;
    /// Notifies the component that shares memory `x2` with the caller, as an interrupt does. The answer is a status.
    pub const WAKE: u64 = 5;
    /// Requests a Main VCPU of `x2` nanoseconds in `x3`; needs [`Part::Admission`](super::Part). The answer: 0 = it exists;
    /// [`NO_BUDGET`], [`REFUSED`], or by what it would not fit: [`misfit`].
    pub const REQUEST: u64 = 6;

    /// The two times are no budget.
    pub const NO_BUDGET: u64 = u64::MAX;
    /// The caller may not request VCPUs, or there is no room for another one.
    pub const REFUSED: u64 = u64::MAX - 1;
    /// VCPU that would lack time: the requested one.
    pub const REQUESTED: u32 = u16::MAX as u32;

    /// Answer to [`REQUEST`]: the VCPU of that number would lack so many microseconds.
    #[must_use]
    pub const fn misfit(vcpu: u32, lacks_us: u32) -> u64 {
        1 << 62 | (vcpu as u64) << 32 | lacks_us as u64
    }

    /// The number and the microseconds in such an answer.
    #[must_use]
    pub const fn of_misfit(answer: u64) -> [u32; 2] {
        [(answer >> 32) as u32 & 0xffff, answer as u32]
    }
}

/// Interface `pipes`, which a scheduler that runs tuned pipes provides: first word of a message.
///
/// A component with the interface gives the commands of the console (`lib/flows/command`), and reads what is known of pipes. Each
/// component has one command, to which [`APPEND`](pipes::APPEND) adds; its threads take turns.
pub mod pipes {
    /// The interface's name.
    pub const NAME: &str = "pipes";
    /// The bytes of words `x2` to `x5`, up to the first 0, are appended to the caller's command.
    pub const APPEND: u64 = 0;
    /// Executes the caller's command, and empties it. Answers when it is done: 0, or [`REFUSED`]; [`ANSWER`] has the reason.
    pub const EXECUTE: u64 = 1;
    /// Answers bytes `x2` to `x2 + 7` of what the scheduler printed about the last command; 0 behind its end.
    pub const ANSWER: u64 = 2;
    /// Returns a figure ([`Figure`]) of the pipe that the caller's command names, and empties the command; [`UNKNOWN`] without such a pipe.
    pub const QUERY: u64 = 3;
    /// Answers bytes `x3` to `x3 + 7` of the name of pipe `x2`; 0 where there is none.
    pub const LIST: u64 = 4;

    /// The command had no effect.
    pub const REFUSED: u64 = 1;
    /// There is no such pipe or figure.
    pub const UNKNOWN: u64 = u64::MAX;
    /// Bytes of an answer that are kept.
    pub const ANSWER_BYTES: usize = 512;
    /// Most pipes.
    pub const MOST: u64 = crate::repository::MAX_PIPES as u64;

    /// A figure of a pipe, word `x2` of [`QUERY`].
    #[repr(u64)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Figure {
        /// A [`State`].
        State = 0,
        /// Guaranteed bound of its delay, nanoseconds.
        Bound = 1,
        /// Stages.
        Stages = 2,
        /// Messages that left it, over all its paths.
        Delivered = 3,
        /// Messages lost, over all its paths.
        Lost = 4,
        /// Longest delay observed, nanoseconds.
        Longest = 5,
    }

    impl Figure {
        /// All of them, by number.
        pub const ALL: [Self; 6] = [
            Self::State,
            Self::Bound,
            Self::Stages,
            Self::Delivered,
            Self::Lost,
            Self::Longest,
        ];
    }

    /// State of a pipe.
    #[repr(u64)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum State {
        /// Its stages run.
        Runs = 0,
        /// A pipe that was stopped, with stages that do not rest yet.
        Ends = 1,
        /// All its stages rest.
        Rests = 2,
    }

    impl State {
        /// All of them, by number.
        pub const ALL: [Self; 3] = [Self::Runs, Self::Ends, Self::Rests];
    }
}

/// Interface of a component with pipe functions, which the scheduler that runs the stages invokes: one job. The interface has the name
/// [`name`](pipe_functions::name) of the component. Both reach one [`Memory`](pipe_functions::Memory) at
/// [`address`](pipe_functions::address), which stays when the component is rebuilt.
///
/// The component's first thread writes the names of its functions there before it reports that it works. Words of a message: `x1` the function's number, `x2` the number of the job's [`Job`](pipe_functions::Job), `x3` the upper end of the stack
/// on which the job runs, one of [`Wiring::job_stacks`]. The answer: 1 = [`Job::output`](pipe_functions::Job) is sent, 0 = nothing is.
pub mod pipe_functions {
    use crate::NAME_LEN;
    use core::sync::atomic::AtomicU64;

    /// Most functions of a component.
    pub const MOST: usize = 16;
    /// Most jobs at once: stages that have a function of the component.
    pub const JOBS: usize = crate::repository::MAX_STAGES;
    /// Most inputs of a job.
    pub const INPUTS: usize = 4;
    /// Words that a stage keeps from job to job.
    pub const STATE: usize = 8;

    /// The memory of a job. The scheduler writes the first words, the component the last ones.
    #[repr(C, align(64))]
    #[derive(Debug)]
    pub struct Job {
        /// Bit i: input i has a message; [`SOURCE`]: there is data of a device or a timer.
        pub present: AtomicU64,
        /// Ticks since the last message from another partition; 0 without such inputs.
        pub age: AtomicU64,
        /// Data of the messages, and of the source behind them.
        pub inputs: [[AtomicU64; 2]; INPUTS + 1],
        /// Words of the stage; the scheduler clears them when the stage begins or the component has restarted.
        pub state: [AtomicU64; STATE],
        /// The data to be sent.
        pub output: [AtomicU64; 2],
        /// Addresses and sizes of the contents of long messages, that of the output last ([`content`]). The bits [`LONG`] of
        /// [`Job::present`] mark the valid ones.
        pub contents: [AtomicU64; INPUTS + 1],
    }

    /// Bit of [`Job::present`] for the source.
    pub const SOURCE: u64 = 1 << INPUTS;

    /// Bit of [`Job::present`] for the content of the first input; those of the others and of the output follow.
    pub const LONG: u64 = 1 << 8;

    /// Word for a content at an address below 4 GiB.
    #[must_use]
    pub const fn content(address: u64, bytes: u64) -> u64 {
        bytes << 32 | address & 0xffff_ffff
    }

    /// Address and bytes in such a word.
    #[must_use]
    pub const fn of_content(word: u64) -> [u64; 2] {
        [word & 0xffff_ffff, word >> 32]
    }

    /// Memory that a component with pipe functions shares with the scheduler.
    #[repr(C)]
    #[derive(Debug)]
    pub struct Memory {
        /// Names of the functions, by number; zeros end the list.
        pub names: [[AtomicU64; NAME_LEN / 8]; MOST],
        /// By number.
        pub jobs: [Job; JOBS],
    }

    /// Bytes of the memory: whole pages.
    pub const BYTES: u64 = (size_of::<Memory>() as u64).next_multiple_of(crate::PAGE_SIZE);

    /// Address of the memory in the space of the component, with 0, and in the space of its scheduler: `before` is the number of preceding
    /// components with pipe functions on the core.
    #[must_use]
    pub const fn address(before: u64) -> u64 {
        crate::kernel::IMAGE_END + before * BYTES
    }

    /// Name of the interface of a component. No name of a description begins with a dot.
    #[must_use]
    pub fn name(component: [u8; NAME_LEN]) -> [u8; NAME_LEN] {
        let mut name = component;
        name.rotate_right(1);
        name[0] = b'.';
        name
    }
}

/// Memory for the contents of long messages: each program with pipe functions writes its own, and the other programs with functions on its core
/// read it. The scheduler of the core writes all, since it allocates and clears buffers. It has one address in all of them.
pub mod message_contents {
    /// Address of the first one on a core.
    pub const FIRST: u64 = 0x2000_0000;
    /// Distance of two is a multiple of this: what a translation table maps.
    const SPAN: u64 = 2 << 20;
    /// Most bytes of those of a core.
    pub const MOST: u64 = 0x2000_0000;

    /// Bytes of the address space that one of so many pages takes.
    #[must_use]
    pub const fn bytes(pages: u32) -> u64 {
        (pages as u64 * crate::PAGE_SIZE).next_multiple_of(SPAN)
    }
}

/// Interface `stages`, which the scheduler of a pipeline provides, and the words in which it tells a
/// parent what became of messages.
pub mod stages {
    use core::sync::atomic::AtomicU64;

    /// The interface's name.
    pub const NAME: &str = "stages";
    /// First word of a message: the caller's next message, which it waits for, is the answer.
    pub const TAKE: u64 = 0;
    /// The caller passes message `x2` on.
    pub const PASS: u64 = 1;

    /// Most stages.
    pub const MOST: usize = 16;
    /// Lengths that are measured.
    pub const LENGTHS: [u64; 5] = [1, 2, 4, 8, 16];
    /// Messages before those that are measured: what runs for the first time is not what is promised.
    pub const WARM_UP: u64 = 5;
    /// First word of lines about it.
    pub const LINE: &str = "pipeline";
    /// A message: the tick of its release above the number of stages that had it.
    pub const HOPS_BITS: u32 = 8;

    /// The message, one stage later.
    #[must_use]
    pub const fn counted(message: u64) -> u64 {
        message + 1
    }

    /// Returns the number of stages that processed the message.
    #[must_use]
    pub const fn hops(message: u64) -> u64 {
        message & ((1 << HOPS_BITS) - 1)
    }

    /// Word offset of [`Words`] in the page that a nested pipeline shares with its parent: at the end, because the
    /// page is at the address of [`ComponentInfo`](super::ComponentInfo).
    pub const SHARED_FROM: usize = crate::PAGE_SIZE as usize / 8 - WORDS;
    /// Results and settings.
    pub type Words = [AtomicU64; WORDS];
    /// Their number.
    pub const WORDS: usize = 8;
    /// Messages that left the last stage.
    pub const EVENTS: usize = 0;
    /// Sum of their responses, ticks.
    pub const SUM: usize = 1;
    /// Longest of them.
    pub const WORST: usize = 2;
    /// Messages that found no room in a queue.
    pub const REFUSED: usize = 3;
    /// Messages that not every stage had.
    pub const WRONG: usize = 4;
    /// Stages in use; the parent's to say.
    pub const STAGES: usize = 5;
    /// Microseconds between two releases; the parent's to say, before it starts.
    pub const PERIOD_US: usize = 6;
}

/// Interface `console`, which the console's driver provides: first word of a message.
pub mod console {
    /// The interface's name.
    pub const NAME: &str = "console";
    /// Appends `x2` bytes (at most [`BYTES`]) of `x3` to `x5` to the caller's line; a newline shows it.
    pub const PRINT: u64 = 0;
    /// Most bytes of one message.
    pub const BYTES: usize = 24;
    /// Takes what was typed: answers how many bytes in the lowest one, at most seven, and those above it.
    pub const READ: u64 = 1;
}

/// Interface `frames`, which the driver of a network card provides to components that share memory for frames with it:
/// first word of a message.
pub mod frames {
    /// The interface's name.
    pub const NAME: &str = "frames";
    /// Sends what is in that memory to be sent, on the caller's thread. Answers how many frames.
    pub const SEND: u64 = 0;
}

/// Interface `can`, which the driver of a CAN controller provides: first word of a message. Each client
/// has a queue of its own for what is received, from its first message on.
pub mod can {
    /// The interface's name.
    pub const NAME: &str = "can";
    /// Sends the frame of which `x2` and `x3` are the words ([`crate::can::Frame::words`]). Answers
    /// [`SENT`], [`OFF`], [`NO_FRAME`], or the tick from which on the bus is free.
    pub const SEND: u64 = 0;
    /// Answers the first word of the oldest frame with [`IS_FRAME`]; 0 = there is none.
    pub const HEAD: u64 = 1;
    /// Answers its second word.
    pub const DATA: u64 = 2;
    /// Answers the tick at which it came, and removes it from the queue.
    pub const TAKE: u64 = 3;
    /// Answers the count of number `x2`: see [`COUNTS`].
    pub const COUNT: u64 = 4;

    /// The frame is on the bus.
    pub const SENT: u64 = 0;
    /// The controller is off the bus, and being brought back.
    pub const OFF: u64 = u64::MAX;
    /// The words are no frame's.
    pub const NO_FRAME: u64 = u64::MAX - 1;
    /// In the first word: the identifier has 29 bits.
    pub const EXTENDED: u64 = 1 << 31;
    /// In the first word: lowest bit of the length.
    pub const LENGTH_SHIFT: u32 = 32;
    /// In the first word: there is a frame.
    pub const IS_FRAME: u64 = 1 << 63;
    /// Names of the counters: frames sent and received; those a client left in its queue for too long; times
    /// at which the controller's own buffer overflowed; malformed frames; times off the bus.
    pub const COUNTS: [&str; 6] = [
        "sent",
        "received",
        "dropped",
        "overruns",
        "malformed",
        "bus-offs",
    ];
}
