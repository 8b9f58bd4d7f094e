//! System calls of the kernel, and what it hands the first component
//!
//! `svc #0` with the index of a capability in `x0`, an [`Operation`] in `x1` and its arguments in
//! `x2`–`x6`; the answer is a [`Status`] in `x0` and a value in `x1`. A call is a function call:
//! `x19`–`x30`, SP and the FP registers survive, `x2`–`x5` are as the operation leaves them,
//! everything else is zero. Two kinds of capability make no answer of the kernel's:
//! [`Kind::Invoke`] goes on in another component and [`Kind::Return`] comes back
//! (`doc/interfaces/kernel.md`).

use crate::component::{Interface, MAX_INTERFACES, MAX_SHARED, Shared, Wiring};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Defines a closed, numbered enumeration with its way back from a number.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[repr(u64)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$item_doc])* $item = $number,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$item,)*];

            /// The one of that number.
            #[must_use]
            pub const fn of(number: u64) -> Option<Self> {
                match number {
                    $($number => Some(Self::$item),)*
                    _ => None,
                }
            }
        }
    };
}

numbered! {
    /// Kind of a capability; the first word of its slot.
    Kind {
        /// Nothing.
        Empty = 0,
        /// Returns from an invocation.
        Return = 1,
        /// Invokes a component at a fixed entry.
        Invoke = 2,
        /// A capability table and an address space.
        Component = 3,
        /// A node of a capability table.
        Table = 4,
        /// A table of an address space.
        Pages = 5,
        /// A thread.
        Thread = 6,
        /// The sending side of a thread's end-point.
        Send = 7,
        /// Its receiving side.
        Receive = 8,
        /// A temporal capability.
        Time = 9,
        /// A scheduler: threads that share an SCB.
        Scheduler = 10,
        /// A range of memory.
        Memory = 11,
        /// Interrupt lines.
        Interrupt = 12,
        /// The partition as the monitor sees it.
        Monitor = 13,
        /// A core of the partition.
        Core = 14,
        /// A range of identities of address spaces (ASIDs).
        Identities = 15,
    }
}

numbered! {
    /// Operation on a capability. `dst` is an empty slot of the caller's own table.
    Operation {
        /// Any: nothing. Answers the kind.
        Identify = 0,
        /// Send: one notification more.
        Send = 1,
        /// Receive: waits for notifications; `x2` = [`WAIT`] or [`POLL`]. Answers how many were merged.
        Receive = 2,
        /// Thread: runs it now. `x2` = Time capability or [`SAME_TIME`], `x3` = absolute time-out
        /// or [`KEEP`], `x4` = the caller's scheduler's epoch. The caller executes in its scheduler's component,
        /// and the thread is under that scheduler or a descendant of it. Unless `x6` is 0, it is [`funds`]: what is left of
        /// the former Time goes back to the source, and `x5` cycles of the source go to the Time at `x2`.
        Dispatch = 3,
        /// Thread: `x2` = scheduler, `x3` = index in its SCB, `x4` = time for notifications.
        Bind = 4,
        /// Thread: `x2` = a [`ThreadWord`]. Answers it.
        Inspect = 5,
        /// Thread: its end-point's sending side to `x2` = dst, `x3` = [`DELEGATES`] for one that may also delegate.
        Sender = 6,
        /// Thread: its end-point's receiving side to `x2` = dst.
        Receiver = 7,
        /// Component: `x2` = dst of an Invoke, `x3` = entry, `x4` = token.
        Entry = 8,
        /// Table: `x2` = place in it, `x3` = caller's slot to copy; a root takes a leaf into `x2`
        /// (= place / [`SLOTS`]). Memory: narrowed to pages `x4`, `x4 + x5`. Identities, Interrupt: narrowed to `x5` of them,
        /// from `x4` on.
        Copy = 9,
        /// Table: empties place `x2`; of a root, takes the leaf off.
        Remove = 10,
        /// Pages: `x2` = index, `x3` = Pages of the next level.
        Attach = 11,
        /// Pages (level 3): `x2` = index, `x3` = Memory, `x4` = page of it, `x5` = [`Rights`].
        Map = 12,
        /// Pages: clears entry `x2`.
        Unmap = 13,
        /// Memory: page `x2` becomes a node; `x3` = dst, `x4` = level (0 = root, 1 = leaf).
        MakeTable = 14,
        /// Memory: page `x2` becomes a translation table; `x3` = dst, `x4` = level 1 to 3.
        MakePages = 15,
        /// Memory: page `x2` becomes a component; `x3` = dst, `x4` = root Table, `x5` = Pages of
        /// level 1, `x6` = ASID, and in the upper half ([`IDENTITIES_SHIFT`]) the Identities it is of.
        MakeComponent = 16,
        /// Memory: page `x2` becomes a thread; `x3` = dst, `x4` = Component, `x5` = entry, `x6` = SP.
        MakeThread = 17,
        /// Memory: page `x2` becomes a scheduler, and the one behind it, untyped or mapped before, its SCB;
        /// `x3` = dst, `x4` = its own thread, which is bound and in no invocation, `x5` = the thread's Component,
        /// `x6` = the Scheduler of the thread, which loses a place of its quota.
        MakeScheduler = 18,
        /// Memory: page `x2` becomes a temporal capability; `x3` = dst, `x4` = Time to split,
        /// `x5` = cycles, `x6` = priority.
        MakeTime = 19,
        /// Memory: page `x2`, a kernel object without references or a page at rest, becomes untyped again.
        Reclaim = 20,
        /// Time: `x2` = Time that receives, `x3` = cycles or [`ALL`].
        Transfer = 21,
        /// Time: `x2` = Send that may delegate; its thread's time receives, `x3` = cycles or [`ALL`], `x4` = priority,
        /// `x5` = 1 to send as well.
        Delegate = 22,
        /// Time: `x2` = priority for the caller's scheduler.
        SetPriority = 23,
        /// Time: answers the cycles left.
        Budget = 24,
        /// Scheduler: fetches further events into the SCB. Answers how many threads still have some.
        Fetch = 25,
        /// Interrupt: `x2` = INTID, `x3` = Send it becomes. Answers 1 where the line is a level: each
        /// must then be completed.
        Listen = 26,
        /// Monitor: the partition is up.
        Up = 27,
        /// Monitor: gives up with code `x2`.
        Fail = 28,
        /// Monitor: rings doorbell `x2`.
        Ring = 29,
        /// Core that does not run yet: `x2` = Memory, `x3` = first of four pages of it, which become
        /// a thread, its root scheduler, time without end, and (untyped or mapped before) its SCB;
        /// `x4` = dst of Thread, Scheduler and Time; `x5` = Component, `x6` = entry.
        Prepare = 30,
        /// Core that was prepared: runs, the thread's `x1`–`x5` being `x2`–`x6`.
        Start = 31,
        /// Interrupt: `x2` = INTID of a level that has been served, on the core that listens.
        Complete = 32,
        /// Thread: never runs again, wherever it is, and is its scheduler's no more. Scheduler without
        /// threads but its own: that one is its parent's again. On the core they belong to.
        Retire = 33,
        /// Interrupt: `x2` = INTID that the calling core no longer listens to.
        Ignore = 34,
        /// Scheduler: moves `x3` places of its quota to that of the Scheduler `x2` of the same core.
        Grant = 35,
        /// Monitor: records in the log of component faults that the component of identity `x2` ended for good.
        Note = 36,
    }
}

numbered! {
    /// How a call ended.
    Status {
        /// As asked.
        Ok = 0,
        /// No capability of the right kind at an index.
        NoCapability = 1,
        /// The kind has no such operation.
        NoOperation = 2,
        /// An argument is outside its range.
        BadArgument = 3,
        /// The destination is occupied.
        Occupied = 4,
        /// A page is not what the operation needs it to be.
        WrongPage = 5,
        /// The object is still referred to.
        InUse = 6,
        /// Decided under another epoch.
        Stale = 7,
        /// The thread waits, or has faulted.
        NotReady = 8,
        /// No budget.
        NoTime = 9,
        /// Nothing pending.
        Nothing = 10,
        /// The invocation stack is full, or empty on return.
        Depth = 11,
        /// The invoked component faulted or is gone.
        Faulted = 12,
        /// No thread is left to run: a root scheduler must not wait.
        Alone = 13,
        /// The monitor's refusal.
        Refused = 14,
        /// The object belongs to another core.
        OtherCore = 15,
        /// A page or slot was given up so recently that another core may still hold what it was.
        Resting = 16,
        /// The quota is used up.
        Exhausted = 17,
        /// The caller is not in its scheduler's component, or the object is not that scheduler's.
        Foreign = 18,
        /// The memory has no such page: it is used up.
        NoMemory = 19,
    }
}

numbered! {
    /// Word that [`Operation::Inspect`] returns.
    ThreadWord {
        /// Cycles executed since its last event.
        Cycles = 0,
        /// ESR_EL1 of its last fault.
        FaultSyndrome = 1,
        /// FAR_EL1 of its last fault.
        FaultAddress = 2,
        /// PC of its last fault.
        FaultPc = 3,
        /// Invocations it is in.
        Depth = 4,
        /// Its state: 0 ready, 1 waiting, 2 faulted, 3 retired.
        State = 5,
        /// Identity (ASID) of the component it executes in.
        Component = 6,
        /// Identity of the component it faulted in.
        FaultComponent = 7,
        /// Cycles that the kernel has spent on interrupts that notified it, not charged to the interrupted thread.
        Served = 8,
    }
}

numbered! {
    /// Access rights of EL0 to a page.
    Rights {
        /// Read.
        Read = 0,
        /// Read and write.
        Write = 1,
        /// Read and execute.
        Execute = 2,
    }
}

/// Capabilities of a leaf.
pub const SLOTS: u64 = 128;
/// Leaves of a root.
pub const LEAVES: u64 = 512;
/// Deepest nesting of invocations.
pub const DEPTH: usize = 16;
/// Schedulers of one core that a temporal capability tells apart.
pub const SCHEDULERS: usize = 16;
/// Schedulers from the root to the innermost one, both included.
pub const NESTING: usize = 8;
/// Identities of address spaces that the kernel has room for.
pub const IDENTITIES: u64 = 1 << 15;
/// First bit of the Identities capability beside an identity ([`Operation::MakeComponent`]).
pub const IDENTITIES_SHIFT: u32 = 32;
/// First bit of the depth beside the caller's number in `x6` of a server.
pub const CALLER_DEPTH_SHIFT: u32 = 32;
/// Cores of a partition with a kernel.
pub const MAX_CORES: usize = 8;
/// Bytes of the kernel's stack of a core.
pub const KERNEL_STACK_BYTES: u64 = 8192;

/// Bytes behind the archive that the kernel finds zeroed: its further cores' stacks, the cores' pages, and a word for
/// each page of `memory` bytes.
#[must_use]
pub const fn zeroed_bytes(cores: u64, memory: u64) -> u64 {
    cores * (KERNEL_STACK_BYTES + crate::PAGE_SIZE)
        + (memory / crate::PAGE_SIZE * 8).next_multiple_of(crate::PAGE_SIZE)
}
/// A sending side that may also delegate time to its thread.
pub const DELEGATES: u64 = 1;
/// Waits until there is something.
pub const WAIT: u64 = 0;
/// Answers [`Status::Nothing`] instead of waiting.
pub const POLL: u64 = 1;
/// The time that is running.
pub const SAME_TIME: u64 = u64::MAX;
/// Bits of the source in [`funds`].
pub const FUNDS_SHIFT: u32 = 32;

/// From which Time a dispatch takes what it grants, and the former Time that it takes back into it; 0 = none.
#[must_use]
pub const fn funds(source: u64, former: u64) -> u64 {
    source | former << FUNDS_SHIFT
}

/// Every cycle there is; as a budget: without end.
pub const ALL: u64 = u64::MAX;
/// A time-out that never comes.
pub const NEVER: u64 = u64::MAX;
/// The time-out that the scheduler has: what a switch between its threads leaves as it is.
pub const KEEP: u64 = 0;
/// The least important priority; 0 is the most important.
pub const LEAST: u64 = u64::MAX;

/// Places in the first component's table.
pub mod first {
    /// Returns from invocations; by convention at 0 of every table.
    pub const RETURN: u64 = 0;
    /// Root of its table.
    pub const TABLE: u64 = 1;
    /// The leaf these stand in.
    pub const LEAF: u64 = 2;
    /// Itself.
    pub const COMPONENT: u64 = 3;
    /// Level 1, 2 and 3 of its address space; level 3 maps the 2 MiB from [`super::IMAGE`].
    pub const PAGES: [u64; 3] = [4, 5, 6];
    /// Its thread, which is its scheduler's own.
    pub const THREAD: u64 = 7;
    /// The root scheduler.
    pub const SCHEDULER: u64 = 8;
    /// The receiving side of its thread.
    pub const RECEIVE: u64 = 9;
    /// Time without end, of priority 0.
    pub const TIME: u64 = 10;
    /// All free memory.
    pub const MEMORY: u64 = 11;
    /// The window of the partition: guest page, console, channels.
    pub const WINDOW: u64 = 12;
    /// The archive of components.
    pub const ARCHIVE: u64 = 13;
    /// The interrupt lines.
    pub const INTERRUPT: u64 = 14;
    /// The monitor.
    pub const MONITOR: u64 = 15;
    /// The cores, by rank; its own is the first.
    pub const CORES: u64 = 16;
    /// Everything below memory, as devices; the monitor lets through what is the partition's.
    pub const DEVICES: u64 = CORES + super::MAX_CORES as u64;
    /// Identities of address spaces.
    pub const IDENTITIES: u64 = DEVICES + 1;
    /// From here on the table is empty.
    pub const FREE: u64 = IDENTITIES + 1;

    /// `identity` of [`IDENTITIES`], as [`super::Operation::MakeComponent`] names it.
    #[must_use]
    pub const fn identity(identity: u64) -> u64 {
        IDENTITIES << super::IDENTITIES_SHIFT | identity
    }
}

/// Link address of components, which own their address space from here to [`IMAGE_END`].
pub const IMAGE: u64 = 0x40_0000;
/// End of what one level-3 table maps from [`IMAGE`].
pub const IMAGE_END: u64 = IMAGE + (2 << 20);
/// The first component's SCB.
pub const SCB_ADDRESS: u64 = IMAGE_END - 0x1000;
/// Top of the first component's first stack; below it are [`STACK_PAGES`].
pub const STACK_TOP: u64 = SCB_ADDRESS - 0x1000;
/// Pages of that stack; the page below is not mapped.
pub const STACK_PAGES: u64 = 4;

/// `x1` of the first thread: guest-physical address of the [`crate::guest::GuestInfo`]; its page in
/// the window is that minus the window's base, which is in `x2`.
pub const FIRST_ARGUMENTS: usize = 3;

/// `COMPONENT` in ASCII.
pub const ARCHIVE_MAGIC: u64 = u64::from_le_bytes(*b"COMPONEN");
/// Components an archive holds.
pub const MAX_COMPONENTS: usize = 16;
/// Segments a component has at most.
pub const MAX_SEGMENTS: usize = 4;

/// A segment of a component: whole pages, zero-filled.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Segment {
    /// Its run address.
    pub address: u64,
    /// Its first page in the archive.
    pub page: u32,
    /// Pages; 0 = none.
    pub pages: u32,
    /// A [`Rights`].
    pub rights: u64,
}

/// A component.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Packed {
    /// Its name.
    pub name: [u8; crate::NAME_LEN],
    /// Its entry point.
    pub entry: u64,
    /// Its segments.
    pub segments: [Segment; MAX_SEGMENTS],
}

/// First page of the archive, which the host tool lays behind the kernel's image. The first
/// component is started by the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Archive {
    /// [`ARCHIVE_MAGIC`].
    pub magic: u64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Components in it.
    pub count: u32,
    /// Pages of the archive, this one included.
    pub pages: u64,
    /// The components.
    pub components: [Packed; MAX_COMPONENTS],
    /// First page and pages of the VCPUs and tasks ([`crate::timing`]); zeros = none.
    pub timing: [u32; 2],
    /// Resources and requirements of each component, for the boot component.
    pub wiring: [Wiring; MAX_COMPONENTS],
    /// The interfaces among them; a name of zeros ends the list.
    pub interfaces: [Interface; MAX_INTERFACES],
    /// Memory shared by components; a name of zeros ends the list.
    pub shared: [Shared; MAX_SHARED],
}

const _: () = assert!(size_of::<Archive>() <= crate::PAGE_SIZE as usize);
