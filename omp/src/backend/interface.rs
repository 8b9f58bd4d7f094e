//! Interface to the system below the runtime: threads, stacks, waiting, time, memory

#![expect(unsafe_code, reason = "declares what only unsafe code can promise")]

use crate::core_set::CoreSet;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;

/// A stack with a guard below: addresses `low..high` are usable.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Lowest usable address.
    pub low: usize,
    /// One past the highest usable address; aligned to a page.
    pub high: usize,
}

/// Scheduling policy for the workers, in the kernel's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Time sharing.
    Other,
    /// Fixed priority, first in first out; larger runs first.
    Fifo {
        /// Fixed priority in the system's range.
        priority: u32,
    },
    /// Constant-bandwidth server: `runtime_ns` in every `period_ns`, due `deadline_ns` after release.
    Deadline {
        /// Budget in nanoseconds.
        runtime_ns: u64,
        /// Relative deadline in nanoseconds.
        deadline_ns: u64,
        /// Period in nanoseconds.
        period_ns: u64,
    },
}

/// A failure of the system below, as its error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemError(pub i32);

/// One implementation per system; all functions are callable from any thread.
pub trait Backend {
    /// Usable bytes of a stack unless `OMP_STACKSIZE` says otherwise, and how that variable would.
    const STACK_BYTES: usize;
    /// See [`Backend::STACK_BYTES`].
    const STACK_TEXT: &'static str;
    /// Rounds that an idle worker watches by default, and how often it then yields before it parks.
    const WATCH_ROUNDS: u32;
    /// See [`Backend::WATCH_ROUNDS`].
    const YIELDS: u32;

    /// Zeroed, page-aligned memory that is never given back; nothing when there is none.
    fn map(bytes: usize) -> Option<NonNull<u8>>;

    /// Memory that [`Backend::release`] takes back; `align` is a power of two.
    fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>>;

    /// Takes back what [`Backend::allocate`] gave.
    ///
    /// # Safety
    /// `block` came from `allocate` and is not used again.
    unsafe fn release(block: NonNull<u8>);

    /// A stack of at least `bytes`, touched nowhere yet, that faults below its low end.
    fn map_stack(bytes: usize) -> Option<Stack>;

    /// Bounds of the calling kernel thread's own stack.
    fn own_stack() -> Stack;

    /// Starts a detached kernel thread that calls `main(argument)`.
    fn spawn(
        main: extern "C" fn(usize),
        argument: usize,
        stack_bytes: usize,
    ) -> Result<(), SystemError>;

    /// Arranges that `leave` runs when the calling kernel thread ends; always the same function.
    fn watch_exit(leave: extern "C" fn(*mut core::ffi::c_void));

    /// Sleeps while `*word == expected`; may wake without cause.
    fn park(word: &AtomicU32, expected: u32);

    /// Wakes the thread parked on `word`.
    fn unpark(word: &AtomicU32);

    /// Lets another kernel thread run on this core.
    fn yield_now();

    /// Arranges calls around `fork`: before, and after in the parent and in the child.
    fn watch_fork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn());

    /// Lets the calling thread tell a stack overflow from other faults: calls `explain` with the
    /// faulting address first.
    fn watch_faults(explain: fn(usize));

    /// Whatever [`Backend::heavy_fence`] needs once in a process, before any thread of the runtime waits.
    fn prepare_fences();

    /// Orders every other thread's earlier stores before the caller's later loads, and the other
    /// way round, as if each of them had run a full fence: the slow half of an asymmetric fence.
    fn heavy_fence();

    /// The fast half: between a store and the load that looks for sleepers.
    fn light_fence();

    /// The cores that the calling thread may use.
    fn core_set() -> CoreSet;

    /// Restricts the calling thread to some cores.
    fn run_on(cores: &CoreSet);

    /// Number that the system below gives the calling kernel thread.
    fn thread_id() -> u32;

    /// Gives the calling kernel thread, the team's `index`th, a name for the system's tools.
    fn name_thread(index: u32);

    /// True if a thread that [`Backend::spawn`] started ends when its function returns.
    const THREADS_END: bool;

    /// Number of the process.
    fn process_id() -> u32;

    /// Writes the machine's name.
    fn write_host_name(out: &mut dyn core::fmt::Write) -> core::fmt::Result;

    /// Monotonic time in nanoseconds.
    fn now_ns() -> u64;

    /// Value of an environment variable; alive until the program changes its environment.
    fn environment(name: &core::ffi::CStr) -> Option<&'static core::ffi::CStr>;

    /// Writes to standard error.
    fn write_error(text: &[u8]);

    /// Ends the program in failure.
    fn abort() -> !;

    /// Writes `contents` to the file that `path` names.
    fn save(path: &core::ffi::CStr, contents: &[u8]);

    /// Sets the calling kernel thread's scheduling policy.
    fn set_policy(policy: Policy) -> Result<(), SystemError>;
}
