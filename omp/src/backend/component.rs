//! The kernel of an RTOS partition: the program is the partition's first component, on all its cores.
//!
//! Each core has a scheduler, one VCPU where the description gives the core one, and one thread on it,
//! the *carrier*, the runtime's kernel thread. There are as many as cores; a caller that
//! asks for more is refused, which the runtime answers as it answers any system that refuses a thread.
//! A carrier parks by waiting at its end-point, and is unparked by a notification across cores.
#![expect(unsafe_code, reason = "the console's writer is shared under a lock")]

pub(crate) mod carrier;
pub(crate) mod description;
pub(crate) mod heap;
pub(crate) mod processor;

use super::interface::{Backend, Policy, Stack, SystemError};
use crate::core_set::CoreSet;
use crate::spinlock::SpinLock;
use bulkhead_abi::kernel::{Operation, first};
use bulkhead_component::call::call;
use bulkhead_component::{clock, console};
use core::ffi::CStr;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

pub use heap::resize;
pub use processor::{bound_ns, budget_ns};

/// See the module.
#[derive(Debug)]
pub enum Component {}

/// `EAGAIN`, `ENOSYS`: what Linux would say.
const NO_MORE_THREADS: SystemError = SystemError(11);
const NOT_HERE: SystemError = SystemError(38);

/// Handler of a fault of a carrier: the runtime's, from when it has one.
static EXPLAIN: AtomicUsize = AtomicUsize::new(0);

/// Shows text on the partition's console, a newline at its end apart.
pub fn print(text: &[u8]) {
    static CONSOLE: SpinLock = SpinLock::new();
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let text = core::str::from_utf8(text).unwrap_or("(not UTF-8)");
    let _turn = CONSOLE.lock();
    console::print(format_args!("{text}"));
}

/// The calling thread sleeps until tick `until`, with what it carries.
pub fn sleep_until(until: u64) {
    carrier::current().sleep_until(until);
}

/// The partition fails with `code`.
pub fn fail(code: u64) -> ! {
    let _gone = call(first::MONITOR, Operation::Fail, [code]);
    loop {
        clock::wait_for_interrupt();
    }
}

/// A carrier faulted at `address`.
fn explain(address: usize) {
    let function = EXPLAIN.load(Ordering::Acquire);
    if function != 0 {
        // SAFETY: `watch_faults` stored a function of this type.
        let function: fn(usize) = unsafe { core::mem::transmute(function) };
        function(address);
    }
}

impl Backend for Component {
    const STACK_BYTES: usize = 64 << 10;
    const STACK_TEXT: &'static str = "64K";
    /// No other program runs on the core: a look costs the VCPU's budget, to park costs little.
    const WATCH_ROUNDS: u32 = 64;
    const YIELDS: u32 = 0;

    fn map(bytes: usize) -> Option<NonNull<u8>> {
        let block = heap::allocate(bytes, heap::PAGE)?;
        // SAFETY: fresh memory of that size.
        unsafe { block.write_bytes(0, bytes) };
        Some(block)
    }

    fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>> {
        heap::allocate(bytes, align)
    }

    unsafe fn release(block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { heap::release(block) };
    }

    fn map_stack(bytes: usize) -> Option<Stack> {
        heap::stack(bytes)
    }

    fn own_stack() -> Stack {
        carrier::current().stack()
    }

    fn spawn(
        main: extern "C" fn(usize),
        argument: usize,
        stack_bytes: usize,
    ) -> Result<(), SystemError> {
        carrier::employ(main, argument, stack_bytes).ok_or(NO_MORE_THREADS)
    }

    fn watch_exit(_: extern "C" fn(*mut core::ffi::c_void)) {}

    fn park(word: &AtomicU32, expected: u32) {
        carrier::current().park(word, expected);
    }

    fn unpark(word: &AtomicU32) {
        carrier::unpark(word);
    }

    fn yield_now() {
        clock::let_others_run();
    }

    fn watch_fork(_: extern "C" fn(), _: extern "C" fn(), _: extern "C" fn()) {}

    fn watch_faults(explain: fn(usize)) {
        EXPLAIN.store(explain as usize, Ordering::Release);
    }

    fn prepare_fences() {}

    /// There is no way to run a fence on other cores but to interrupt them: both halves are whole fences.
    fn heavy_fence() {
        fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn light_fence() {
        fence(Ordering::SeqCst);
    }

    fn core_set() -> CoreSet {
        let mut set = CoreSet::EMPTY;
        for core in 0..carrier::count() {
            set.insert(core as i64);
        }
        set
    }

    /// Each carrier has a core for good.
    fn run_on(_: &CoreSet) {}

    const THREADS_END: bool = false;

    fn thread_id() -> u32 {
        carrier::current().rank() as u32
    }

    fn name_thread(_index: u32) {}

    fn process_id() -> u32 {
        1
    }

    fn write_host_name(out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(description::name())
    }

    fn now_ns() -> u64 {
        let ticks = u128::from(clock::now()) * 1_000_000_000;
        (ticks / u128::from(clock::frequency())) as u64
    }

    fn environment(name: &CStr) -> Option<&'static CStr> {
        description::variable(name)
    }

    fn write_error(text: &[u8]) {
        print(text);
    }

    fn abort() -> ! {
        fail(1)
    }

    fn save(_: &CStr, _: &[u8]) {
        print(b"bulkhead-omp: a partition has no files");
    }

    /// Policies come from the description.
    fn set_policy(_: Policy) -> Result<(), SystemError> {
        Err(NOT_HERE)
    }
}
