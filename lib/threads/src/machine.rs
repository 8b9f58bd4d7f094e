//! What threads need of the machine under them
#![expect(unsafe_code, reason = "who switches must be who runs")]

use bulkhead_abi::dispatch::Scb;
use bulkhead_sched::Time;

/// A core and its kernel.
///
/// # Safety
/// [`Machine::scb`] names the running thread; the discipline of [`bulkhead_abi::dispatch`] is kept.
pub unsafe trait Machine: 'static {
    /// What threads are made with.
    type Maker;
    /// Why one could not be made.
    type Error;

    /// Says that the policy refuses a thread's parameters, or has no room.
    const REFUSED: Self::Error;
    /// The time that runs, whatever it is.
    const SAME_TIME: u64;
    /// The scheduler's own thread, as [`Machine::make`] names threads.
    fn own() -> u64;

    /// The scheduler's own time, which has no end.
    fn own_time() -> u64;

    /// Ticks of the core's clock.
    fn now() -> Time;

    /// Ticks of [`Machine::now`] per second.
    fn frequency() -> u64;

    /// What is shared with the kernel of this core.
    fn scb() -> &'static Scb;

    /// A thread of that `index` that will run `entry(index)`; the name by which it is dispatched.
    ///
    /// # Errors
    /// The machine's refusal.
    fn make(
        maker: &mut Self::Maker,
        entry: extern "C" fn(u64) -> !,
        index: u64,
    ) -> Result<u64, Self::Error>;

    /// Switches from the running thread, `own`, to thread `next`, in user mode where that one left in
    /// user mode. Whether the caller was away and is back; `false` where nothing was done, since
    /// something happened after `epoch`.
    ///
    /// # Safety
    /// `own` runs, `next` is another thread of this core, and `name` its name.
    unsafe fn switch(own: u64, next: u64, name: u64, epoch: u64) -> bool;

    /// Has the kernel run a thread on `time`, whatever events there are, and the scheduler's own at
    /// `timeout`; `None` keeps the time-out that is set. Whether it did.
    fn dispatch(name: u64, time: u64, timeout: Option<Time>, epoch: u64) -> bool;

    /// Makes time of which the kernel ends what is granted; its name.
    ///
    /// # Errors
    /// The machine's refusal.
    fn time(maker: &mut Self::Maker) -> Result<u64, Self::Error>;

    /// Grants `budget` ticks of the scheduler's own time.
    fn grant(time: u64, budget: Time);

    /// What is left of it.
    fn left(time: u64) -> Option<Time>;

    /// Takes back what is left; how much that was.
    fn take_back(time: u64) -> Option<Time>;

    /// The end-point of the thread of that name, where it receives and where others send.
    ///
    /// # Errors
    /// The machine's refusal.
    fn end_point(maker: &mut Self::Maker, name: u64) -> Result<[u64; 2], Self::Error>;

    /// Cycles that were spent so far on interrupts which notified the thread of that name, at nobody else's
    /// cost.
    fn served(name: u64) -> Time;

    /// Waits for notifications at the calling thread's end-point; how many were merged.
    ///
    /// # Errors
    /// The machine's refusal.
    fn receive(receive: u64) -> Result<u64, Self::Error>;

    /// Fetches events that found no room in the SCB.
    fn fetch();

    /// Hears of a thread of this scheduler, by its index and name, that faulted and does not run again: where
    /// nobody else is told ([`Threads::run_telling`](crate::Threads::run_telling)).
    fn faulted(_index: u64, _name: u64) {}

    /// Sleeps until something happens.
    fn sleep();
}
