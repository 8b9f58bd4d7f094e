//! The kernel as the machine under threads
#![expect(unsafe_code, reason = "switches")]

use bulkhead_abi::dispatch::Scb;
use bulkhead_abi::kernel::{KEEP, Operation, SAME_TIME, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{self, Switched, Target, dcb};
use bulkhead_component::{First, clock};
use bulkhead_threads::{Machine, Time};

/// The kernel of a partition, seen from a component that has a scheduler.
#[derive(Debug)]
pub struct Kernel;

// SAFETY: `bulkhead_component::dispatch` and the kernel keep the discipline.
unsafe impl Machine for Kernel {
    type Maker = First;
    type Error = Status;

    const REFUSED: Status = Status::BadArgument;
    const OWN: u64 = first::THREAD;

    #[inline(always)]
    fn now() -> Time {
        clock::now()
    }

    fn frequency() -> u64 {
        clock::frequency()
    }

    #[inline(always)]
    fn scb() -> &'static Scb {
        dispatch::scb()
    }

    fn make(first: &mut First, entry: extern "C" fn(u64) -> !, index: u64) -> Result<u64, Status> {
        first.thread(entry, index, first::TIME)
    }

    #[inline(always)]
    unsafe fn switch(own: u64, next: u64, name: u64, epoch: u64) -> bool {
        let target = Target {
            dcb: dcb(next as usize),
            index: next,
            thread: name,
        };
        // SAFETY: the caller's contract is the same.
        let switched = unsafe { dispatch::switch(dcb(own as usize), target, Self::scb(), epoch) };
        switched == Switched::Resumed
    }

    #[inline(always)]
    fn dispatch(name: u64, timeout: Option<Time>, epoch: u64) -> bool {
        let words = [SAME_TIME, timeout.unwrap_or(KEEP), epoch];
        call(name, Operation::Dispatch, words).is_ok()
    }

    #[cold]
    fn fetch() {
        let _left = call(first::SCHEDULER, Operation::Fetch, []);
    }

    fn sleep() {
        clock::wait_for_interrupt();
    }
}
