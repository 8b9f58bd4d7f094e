//! Kernel objects: names for the words of a page
//!
//! Offsets are part of the contract with the entry code in assembly.

use crate::frame::{Frame, Ref, Word};
use bulkhead_abi::dispatch::MAX_THREADS;
use bulkhead_abi::kernel::{DEPTH, MAX_CORES, SCHEDULERS};

macro_rules! objects {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$word_doc:meta])* $word:ident = $offset:expr,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'h> {
            at: Ref,
            frame: &'h Frame,
        }

        impl<'h> $name<'h> {
            /// The object in `frame`, which is at `at`.
            #[inline(always)]
            #[must_use]
            pub const fn new(at: Ref, frame: &'h Frame) -> Self {
                Self { at, frame }
            }

            /// Its address.
            #[inline(always)]
            #[must_use]
            pub const fn at(self) -> Ref {
                self.at
            }

            /// Returns true if both are one object.
            #[inline(always)]
            #[must_use]
            pub fn is(self, other: Self) -> bool {
                self.at == other.at
            }

            $(
                $(#[$word_doc])*
                #[inline(always)]
                #[must_use]
                pub fn $word(self) -> &'h Word {
                    self.frame.word($offset)
                }
            )*
        }
    )*};
}

objects! {
    /// State of one core.
    Core {
        /// The thread that has its registers in the machine.
        running = 0,
        /// The thread that runs next: the running one, until a path decides otherwise.
        current = 1,
        /// The temporal capability that is charged.
        time = 2,
        /// Time of the last charge; [`NEVER`] if nothing is charged until the kernel is left.
        since = 3,
        /// The thread that has its FP registers in the machine, or the void.
        fp_owner = 4,
        /// The thread that a notification preempted, or the void.
        preempted = 7,
        /// The time that was charged for it.
        preempted_time = 8,
        /// Component in force: its address space and thread pointer.
        component = 9,
        /// Deadline of the timer.
        armed = 10,
        /// How often a place of a retired scheduler was given to another one.
        reuses = 11,
        /// A page of zeros, with empty slots and itself as leaves: stands for "none".
        void = 12,
        /// Bitmap of the address-space identities in use.
        identities = 13,
        /// The thread that each interrupt notifies, and in bit 0 whether it is a level.
        interrupts = 14,
        /// The level that is active until it is completed, or 0.
        held = 15,
        // A line that is written at boot alone: other cores read it.
        /// [`OFF`], [`PREPARING`], [`PREPARED`] or [`STARTED`].
        stage = 16,
        /// By which value the machine interrupts it.
        mail = 17,
        /// The page into which other cores post.
        mailbox = 18,
        /// Its rank in the partition.
        rank = 19,
        /// Page of the first core.
        first = 21,
        /// Number of cores of the partition; their pages follow one another.
        count = 22,
        /// Cycles in which each core becomes quiet once.
        period = 23,
        /// Until when it has last become quiet; alone on its line, for others read it.
        quiet = 24,
        /// When it becomes quiet next, if nothing else has it enter the kernel before.
        due = 32,
        /// From when on it becomes quiet in passing.
        early = 33,
        /// Ranks of the cores that have mail from this one and were not interrupted for it: its source had
        /// used up its allowance.
        late = 34,
        /// End of its stack.
        stack = Self::STACK,
    }

    /// A thread.
    Thread {
        /// x0 to x30 stand from here on.
        x = 0,
        /// SP_EL0.
        sp = 31,
        /// ELR_EL1.
        pc = 32,
        /// SPSR_EL1.
        spsr = 33,
        /// How its registers are restored: [`CALLED`] or [`INTERRUPTED`].
        resume = Self::RESUME,
        /// Address of the word with the index of the thread that executes: its scheduler's `current` while it is in the
        /// scheduler's component, its own index elsewhere.
        claim = Self::CLAIM,
        /// Its index in the SCB.
        index = Self::INDEX,
        /// [`READY`], [`WAITING`], [`FAULTED`] or [`RETIRED`].
        state = 37,
        /// Component it executes in.
        component = 38,
        /// Its scheduler, or the void.
        scheduler = 39,
        /// Time on which notifications run it.
        time = 40,
        /// Notifications not yet received.
        pending = 41,
        /// Cycles since the last event about it.
        cycles = 42,
        /// Invocations it is in.
        depth = 43,
        /// Kinds of events that found no room.
        overflow = 44,
        /// ESR_EL1 of its last fault.
        fault_syndrome = 45,
        /// FAR_EL1 of its last fault.
        fault_address = 46,
        /// PC of its last fault.
        fault_pc = 47,
        /// Identity of the component of its last fault.
        fault_component = 48,
        /// The core it belongs to, or the void until it is bound.
        core = 49,
        /// Its number on the core: a bit of the mailbox.
        number = 50,
        /// Cycles of the kernel for interrupts that notified it.
        served = 51,
        /// 1 while the component it executes in has FP state of it, in the machine or in its page.
        floating = 54,
        /// Notifications that other cores posted; alone on its line, for they write it.
        posted = 56,
    }

    /// A component.
    Component {
        /// Root of its capability table.
        table = 0,
        /// Its address space: `TTBR0_EL1`.
        space = 1,
    }

    /// A scheduler.
    Scheduler {
        /// The page it shares with the kernel.
        scb = 0,
        /// Its own thread.
        thread = 1,
        /// The component that dispatches in user mode.
        component = 2,
        /// Its place in priority vectors.
        place = 3,
        /// The scheduler of its thread, or the void.
        parent = 4,
        /// Index of its thread there.
        parent_index = 5,
        /// Bitmap of threads 0 to 63 with events that found no room.
        overflow = 6,
        /// Bitmap of threads 64 to 127 with events that found no room.
        overflow_high = 7,
        /// When it wants to run again at the latest.
        timeout = 8,
        /// The core it belongs to; the void once it is retired.
        core = 9,
        /// Temporal capabilities that it owns.
        owned = 10,
        /// Schedulers that may still be made under it: its quota of the core's places.
        quota = 11,
        /// Start of the window in which interrupts of other cores are counted, by its threads and those below it.
        window = 12,
        /// Interrupts of other cores in that window.
        sent = 13,
        /// Its outermost ancestor below the root, or itself if its parent is the root; the void if it is the root.
        outermost = 14,
        /// Schedulers from the root to it, both included.
        nesting = 15,
        /// Threads that are bound to it and not retired, without its own.
        members = 16,
    }

    /// A temporal capability.
    Time {
        /// Cycles left, or without end.
        budget = 0,
        /// The scheduler that gets an event when they end.
        owner = 1,
        /// Length of the vector in use.
        places = 2,
        /// The core it belongs to.
        core = 3,
        /// [`Core::reuses`] when its vector was last cleared of retired schedulers.
        cleared = 4,
    }
}

/// The core does not run.
pub const OFF: u64 = 0;
/// The core is being given a thread to run.
pub const PREPARING: u64 = 1;
/// The core has a thread to run.
pub const PREPARED: u64 = 2;
/// The core runs, or is about to.
pub const STARTED: u64 = 3;

/// Restored as a call that returns.
pub const CALLED: u64 = 0;
/// Restored whole.
pub const INTERRUPTED: u64 = 1;

/// The thread can be dispatched.
pub const READY: u64 = 0;
/// The thread waits for a notification.
pub const WAITING: u64 = 1;
/// The thread faulted.
pub const FAULTED: u64 = 2;
/// The thread never runs again.
pub const RETIRED: u64 = 3;

/// First word of the invocation stack: component, PC, SP and whether there is FP state each.
const INVOCATIONS: u64 = 64;
/// First word of the FP registers: q0 to q31, FPCR, FPSR.
pub const FLOATING_POINT: u64 = INVOCATIONS + 4 * DEPTH as u64;
/// First word of the FP registers of clients, by depth: `d8` to `d15` and FPCR.
const KEPT_FLOATING: u64 = FLOATING_POINT + 66;
const KEPT_WORDS: u64 = 9;
/// First word of the threads of a scheduler.
const THREADS: u64 = 128;
/// First word of a priority vector.
const VECTOR: u64 = 8;
/// First word of the schedulers of a core, by place.
const PLACED: u64 = 64;
/// First word of the values of [`Core::reuses`] at which the places were last given again.
const REUSED: u64 = 80;
/// First word of what each core notes in a component, by the rank of the core: a line each.
const INSIDE: u64 = 8;
/// Interrupts that a core listens to at most.
pub(crate) const LISTENED: u64 = 32;
/// First word of them.
const HEARD: u64 = 128;
/// Words of a line.
const LINE: u64 = 8;

const _: () = assert!(KEPT_FLOATING as usize + KEPT_WORDS as usize * DEPTH <= crate::frame::WORDS);
const _: () = assert!(THREADS as usize + MAX_THREADS <= crate::frame::WORDS);
const _: () = assert!(VECTOR as usize + SCHEDULERS < THREADS as usize);

impl<'h> Core<'h> {
    /// Offset that entry code knows, in words: [`Core::stack`].
    pub const STACK: u64 = 20;

    /// The scheduler of that place.
    #[inline(always)]
    pub(crate) fn placed(self, place: u64) -> &'h Word {
        self.frame.word(PLACED + place % SCHEDULERS as u64)
    }

    /// Marks of the mailbox that the core attends to: words not taken yet, the word taken last, what is left of it.
    #[inline(always)]
    pub(crate) fn mail_left(self) -> [&'h Word; 3] {
        [35, 36, 37].map(|word| self.frame.word(word))
    }

    /// [`Core::reuses`] when that place was last given to another scheduler.
    pub(crate) fn reused(self, place: u64) -> &'h Word {
        self.frame.word(REUSED + place % SCHEDULERS as u64)
    }
}

impl<'h> Core<'h> {
    /// An interrupt that the core listens to, or 0.
    #[inline(always)]
    pub(crate) fn listened(self, place: u64) -> &'h Word {
        self.frame.word(HEARD + place % LISTENED)
    }
}

impl<'h> Component<'h> {
    /// Invocations into it that threads of the core of that rank have not returned from.
    #[inline(always)]
    pub(crate) fn inside(self, rank: u64) -> &'h Word {
        self.frame.word(INSIDE + LINE * (rank % MAX_CORES as u64))
    }

    /// Start of the window in which interrupts of other cores by threads of the core of that rank that were made in it
    /// are counted, and their number.
    pub(crate) fn sent(self, rank: u64) -> [&'h Word; 2] {
        let first = INSIDE + LINE * (rank % MAX_CORES as u64);
        [2, 3].map(|word| self.frame.word(first + word))
    }

    /// Thread pointer of its threads on the core of that rank, while another component executes there.
    #[inline(always)]
    pub(crate) fn thread_pointer(self, rank: u64) -> &'h Word {
        self.frame
            .word(INSIDE + LINE * (rank % MAX_CORES as u64) + 1)
    }
}

impl<'h> Thread<'h> {
    /// Offsets that entry code knows, in words: [`Thread::resume`], [`Thread::claim`] and
    /// [`Thread::index`].
    pub const RESUME: u64 = 34;
    /// See [`Thread::RESUME`].
    pub const CLAIM: u64 = 35;
    /// See [`Thread::RESUME`].
    pub const INDEX: u64 = 36;

    /// x0 to x7: what a call carries.
    #[inline(always)]
    pub(crate) fn message(self, register: u64) -> &'h Word {
        self.frame.word(register % 8)
    }

    /// x2 to x6 of its call.
    #[inline(always)]
    pub(crate) fn arguments(self) -> [u64; 5] {
        [
            self.message(2).get(),
            self.message(3).get(),
            self.message(4).get(),
            self.message(5).get(),
            self.message(6).get(),
        ]
    }

    /// An answer to its call.
    #[inline(always)]
    pub(crate) fn answer(self, status: u64, value: u64) {
        self.message(0).set(status);
        self.message(1).set(value);
    }

    /// Clears `x1`–`x6` and `x19`–`x30`, which a thread that is resumed as a call finds again.
    pub(crate) fn clear_registers(self) {
        (1..7)
            .chain(19..31)
            .for_each(|register| self.frame.word(register).set(0));
    }

    /// Component, PC and SP of invocation `depth`, and whether the client had FP state.
    #[inline(always)]
    pub(crate) fn invocation(self, depth: u64) -> [&'h Word; 4] {
        let first = INVOCATIONS + 4 * (depth % DEPTH as u64);
        [0, 1, 2, 3].map(|word| self.frame.word(first + word))
    }

    /// Place of the FP registers that the client of invocation `depth` gets back.
    pub(crate) fn kept_floating(self, depth: u64) -> Ref {
        self.at
            .at(KEPT_FLOATING + KEPT_WORDS * (depth % DEPTH as u64))
    }
}

impl<'h> Scheduler<'h> {
    /// The thread of that index.
    #[inline(always)]
    pub(crate) fn member(self, index: u64) -> &'h Word {
        self.frame.word(THREADS + index % MAX_THREADS as u64)
    }
}

impl<'h> Time<'h> {
    /// The priority that the scheduler of that place gave.
    #[inline(always)]
    pub(crate) fn priority(self, place: u64) -> &'h Word {
        self.frame.word(VECTOR + place % SCHEDULERS as u64)
    }
}
