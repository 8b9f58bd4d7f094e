//! The kernel as the machine under threads
#![expect(unsafe_code, reason = "switches")]

use bulkhead_abi::dispatch::Scb;
use bulkhead_abi::kernel::{KEEP, Operation, SAME_TIME, Status, ThreadWord, WAIT, first, funds};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{self, Switched, Target};
use bulkhead_component::{First, clock, fault};
use bulkhead_sched::policy::Policy;
use bulkhead_threads::{Machine, Moved, Time};
use core::convert::Infallible;
use core::marker::PhantomData;

/// Names of what a component's scheduler has of the calling core.
pub trait Place: 'static {
    /// True if threads learn for how long they ran.
    const IS_METERED: bool = false;
    /// Its control block.
    fn scb() -> &'static Scb;
    /// Slot of its own thread.
    fn thread() -> u64;
    /// Slot of itself.
    fn scheduler() -> u64;
    /// Slot of its time.
    fn time() -> u64;
}

/// Objects of a component with one scheduler, at the places of the table with which it starts.
#[derive(Debug)]
pub struct OneCore;

impl Place for OneCore {
    #[inline(always)]
    fn scb() -> &'static Scb {
        dispatch::scb()
    }

    #[inline(always)]
    fn thread() -> u64 {
        first::THREAD
    }

    #[inline(always)]
    fn scheduler() -> u64 {
        first::SCHEDULER
    }

    #[inline(always)]
    fn time() -> u64 {
        first::TIME
    }
}

/// [`OneCore`], with run-time statistics.
#[derive(Debug)]
pub struct Metered;

impl Place for Metered {
    const IS_METERED: bool = true;

    #[inline(always)]
    fn scb() -> &'static Scb {
        OneCore::scb()
    }

    #[inline(always)]
    fn thread() -> u64 {
        OneCore::thread()
    }

    #[inline(always)]
    fn scheduler() -> u64 {
        OneCore::scheduler()
    }

    #[inline(always)]
    fn time() -> u64 {
        OneCore::time()
    }
}

/// The kernel of a partition, seen from a component that has a scheduler, at a [`Place`].
#[derive(Debug)]
pub struct Kernel<P = OneCore>(PhantomData<P>);

/// Threads of a component under policy `P`, at most `N`.
pub type Threads<P, const N: usize> = bulkhead_threads::Threads<Kernel, P, N>;

// SAFETY: `bulkhead_component::dispatch` and the kernel keep the discipline, a core with its own SCB.
unsafe impl<P: Place> Machine for Kernel<P> {
    type Maker = First;
    type Error = Status;

    const IS_METERED: bool = P::IS_METERED;
    const REFUSED: Status = Status::BadArgument;
    const SAME_TIME: u64 = SAME_TIME;

    #[inline(always)]
    fn scheduler_thread() -> u64 {
        P::thread()
    }

    #[inline(always)]
    fn scheduler_time() -> u64 {
        P::time()
    }

    #[inline(always)]
    fn now() -> Time {
        clock::now()
    }

    fn frequency() -> u64 {
        clock::frequency()
    }

    #[inline(always)]
    fn scb() -> &'static Scb {
        P::scb()
    }

    fn make(first: &mut First, entry: extern "C" fn(u64) -> !, index: u64) -> Result<u64, Status> {
        let thread = first.unbound_thread(entry)?;
        let words = [P::scheduler(), index, P::time()];
        call(thread, Operation::Bind, words)?;
        Ok(thread)
    }

    #[inline(always)]
    unsafe fn switch(caller: u64, next: u64, name: u64, epoch: u64) -> bool {
        let scb = P::scb();
        let block = |index: u64| dispatch::block(scb, index as usize);
        let target = Target {
            dcb: block(next),
            index: next,
            thread: name,
        };
        // SAFETY: the caller's contract is the same.
        let switched = unsafe { dispatch::switch(block(caller), target, scb, epoch) };
        switched == Switched::Resumed
    }

    #[inline(always)]
    fn dispatch(
        name: u64,
        time: u64,
        timeout: Option<Time>,
        epoch: u64,
        moved: Option<Moved>,
    ) -> bool {
        let timeout = timeout.unwrap_or(KEEP);
        // The scheduler's time has no end, so that it gives what is asked of it.
        let [cycles, funds] = moved.map_or([0; 2], |moved| {
            [moved.cycles, funds(P::time(), moved.former)]
        });
        let words = [time, timeout, epoch, cycles, funds];
        call(name, Operation::Dispatch, words).is_ok()
    }

    fn time(first: &mut First) -> Result<u64, Status> {
        first.make(Operation::MakeTime, [P::time(), 0, 0])
    }

    fn receive_end(first: &mut First, name: u64) -> Result<[u64; 2], Status> {
        let sides = [first.slot(), first.slot()];
        call(name, Operation::Receiver, [sides[0]])?;
        call(name, Operation::Sender, [sides[1]])?;
        Ok(sides)
    }

    fn served(name: u64) -> Time {
        call(name, Operation::Inspect, [ThreadWord::Served as u64]).unwrap_or(0)
    }

    fn receive(receive: u64) -> Result<u64, Status> {
        call(receive, Operation::Receive, [WAIT])
    }

    #[cold]
    fn fetch() {
        let _left = call(P::scheduler(), Operation::Fetch, []);
    }

    fn retire(name: u64) {
        // A call ends Listen of one of its interrupts; one that is retired already stays so.
        while call(name, Operation::Retire, []) == Err(Status::Resting) {}
    }

    fn faulted(index: u64, name: u64) {
        let _gone = fault::report_own(index, name);
    }

    fn sleep() {
        clock::wait_for_interrupt();
    }
}

/// Threads of a component, with run-time statistics.
pub type MeteredThreads<P, const N: usize> = bulkhead_threads::Threads<Kernel<Metered>, P, N>;

/// Puts a thread under the scheduler of the component, at `index`.
///
/// # Errors
/// The kernel's refusal: the index is taken.
pub fn bind(thread: u64, index: u64) -> Result<(), Status> {
    let words = [OneCore::scheduler(), index, OneCore::time()];
    call(thread, Operation::Bind, words).map(|_| ())
}

/// Runs the threads of a subsystem: where none is ready it waits until its parent notifies it.
///
/// # Errors
/// The kernel's refusal to wait.
pub fn run_nested<P: Policy, const N: usize>(
    threads: &Threads<P, N>,
) -> Result<Infallible, Status> {
    threads.run_waiting(|| <Kernel>::receive(first::RECEIVE).map(|_| ()))
}
