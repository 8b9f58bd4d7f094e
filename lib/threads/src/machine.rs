//! Interface between threads and the machine under them
#![expect(
    unsafe_code,
    reason = "the thread that switches must be the running one"
)]

use bulkhead_abi::dispatch::Scb;
use bulkhead_sched::Time;

/// Time that a dispatch moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Cycles of the scheduler's own time for the time that is dispatched on.
    pub cycles: Time,
    /// Time of which the rest goes back to the scheduler's own; 0 = none.
    pub former: u64,
}

/// A core and its kernel.
///
/// # Safety
/// [`Machine::scb`] names the running thread; the discipline of [`bulkhead_abi::dispatch`] is kept.
pub unsafe trait Machine: 'static {
    /// Resources from which threads are made.
    type Maker;
    /// Why one could not be made.
    type Error;

    /// Says that the policy refuses a thread's parameters, or has no room.
    const REFUSED: Self::Error;
    /// True if threads learn for how long they ran; it costs a look at the clock in each switch.
    const IS_METERED: bool = false;
    /// The time that runs, whatever it is.
    const SAME_TIME: u64;
    /// The scheduler's own thread, as [`Machine::make`] names threads.
    fn scheduler_thread() -> u64;

    /// The scheduler's own time, which has no end.
    fn scheduler_time() -> u64;

    /// Ticks of the core's clock.
    fn now() -> Time;

    /// Ticks of [`Machine::now`] per second.
    fn frequency() -> u64;

    /// Scheduler control block, shared with the kernel of this core.
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

    /// Switches from the running thread, `caller`, to thread `next`, in user mode where that one left in
    /// user mode. Whether the caller was away and is back; `false` where nothing was done, since
    /// something happened after `epoch`.
    ///
    /// # Safety
    /// `caller` runs, `next` is another thread of this core, and `name` its name.
    unsafe fn switch(caller: u64, next: u64, name: u64, epoch: u64) -> bool;

    /// Has the kernel run a thread on `time`, whatever events there are, and the scheduler's own at
    /// `timeout`; `None` keeps the time-out that is set. The same call moves time. Returns whether it did, all or nothing.
    fn dispatch(
        name: u64,
        time: u64,
        timeout: Option<Time>,
        epoch: u64,
        moved: Option<Moved>,
    ) -> bool;

    /// Makes time of which the kernel ends what is granted; its name.
    ///
    /// # Errors
    /// The machine's refusal.
    fn time(maker: &mut Self::Maker) -> Result<u64, Self::Error>;

    /// The end-point of the thread of that name, where it receives and where others send.
    ///
    /// # Errors
    /// The machine's refusal.
    fn receive_end(maker: &mut Self::Maker, name: u64) -> Result<[u64; 2], Self::Error>;

    /// Cycles spent so far on interrupts that notified the thread of that name. No other budget paid for them.
    fn served(name: u64) -> Time;

    /// Waits for notifications at the calling thread's end-point; how many were merged.
    ///
    /// # Errors
    /// The machine's refusal.
    fn receive(receive: u64) -> Result<u64, Self::Error>;

    /// Fetches events that found no room in the SCB.
    fn fetch();

    /// Stops the thread of that name, which does not run, for good ([`Threads::end`](crate::Threads::end)).
    fn retire(_name: u64) {}

    /// Receives each thread of this scheduler, by index and name, that faulted and does not run again, if
    /// no other handler is installed ([`Threads::run_telling`](crate::Threads::run_telling)).
    fn faulted(_index: u64, _name: u64) {}

    /// Sleeps until something happens.
    fn sleep();
}
