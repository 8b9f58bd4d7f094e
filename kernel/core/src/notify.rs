//! Asynchronous notification: threads and interrupts
//!
//! Every thread has one end-point: a count of notifications. Sending adds one and touches no
//! scheduler's structure; if the receiver waits, the temporal capabilities of running and receiving
//! thread decide whether it runs at once or is left to its scheduler (spec 20-kernel §4).

use crate::call::Answer;
use crate::object::{READY, Thread, Time, WAITING};
use crate::{Hal, Kernel};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{Kind, Status};

/// INTIDs that the table of interrupts has room for.
const INTERRUPTS: u64 = 512;

impl<'h, H: Hal> Kernel<'h, H> {
    /// One notification for `receiver`.
    pub(crate) fn send(self, receiver: Thread<'h>) -> Answer {
        let pending = receiver.pending();
        pending.set(pending.get().saturating_add(1));
        if receiver.state().get() == WAITING {
            self.wake(receiver);
        }
        Ok(0)
    }

    /// Ends the wait of a thread that has been notified.
    fn wake(self, receiver: Thread<'h>) {
        let core = self.0.core();
        self.ready(receiver);
        self.tell(receiver, EventKind::Activated);
        let running = self.time(core.time().reference());
        let time = self.time(receiver.time().reference());
        if !preempts(time, running) {
            return;
        }
        let scheduler = self.scheduler(receiver.scheduler().reference());
        let epoch = self.epoch(scheduler);
        epoch.set(epoch.get().wrapping_add(1));
        core.preempted().set(core.current().get());
        core.preempted_time().set(running.at().address());
        self.switch(receiver, time);
    }

    /// The caller, whose end-point it must be, waits for notifications or events.
    pub(crate) fn receive(self, caller: Thread<'h>, receiver: Thread<'h>, poll: bool) -> Answer {
        if !caller.is(receiver) {
            return Err(Status::BadArgument);
        }
        let scheduler = self.scheduler(caller.scheduler().reference());
        let schedules = scheduler.thread().reference() == caller.at();
        let pending = caller.pending().get();
        if pending != 0 || schedules && self.has_events(scheduler) {
            caller.pending().set(0);
            return Ok(pending);
        }
        if poll {
            return Err(Status::Nothing);
        }
        let next = if schedules {
            self.scheduler(scheduler.parent().reference())
        } else {
            scheduler
        };
        if !self.exists(next) {
            return Err(Status::Alone);
        }
        caller.state().set(WAITING);
        self.tell(caller, EventKind::Blocked);
        let core = self.0.core();
        let preempted = self.thread(core.preempted().reference());
        let resumable = preempted.at() != self.void()
            && preempted.state().get() == READY
            && preempted.scheduler().get() == caller.scheduler().get();
        if resumable {
            core.preempted().set(self.void().address());
            self.switch(preempted, self.time(core.preempted_time().reference()));
        } else {
            self.activate(next);
        }
        Ok(0)
    }

    /// Interrupt `intid` becomes a notification of the thread behind the caller's Send at `sender`.
    pub(crate) fn listen(self, caller: Thread<'h>, intid: u64, sender: u64) -> Answer {
        let sender = self.own(caller, sender).expect(Kind::Send)?;
        if intid >= INTERRUPTS {
            return Err(Status::BadArgument);
        }
        self.0.enable_interrupt(intid)?;
        self.refer(sender.object());
        let table = self.0.frame(self.0.core().interrupts().reference());
        table.word(intid).set(sender.object().address());
        Ok(0)
    }

    /// An interrupt arrived.
    pub fn interrupt(self, intid: u64) {
        let table = self.0.frame(self.0.core().interrupts().reference());
        let receiver = table.word(intid % INTERRUPTS).reference();
        if receiver != self.void() {
            let _always_taken = self.send(self.thread(receiver));
        }
    }
}

/// Whether a thread on `time` preempts one on `running`: it has time, and for every scheduler that
/// had a hand in the running time it is at least as important.
pub(crate) fn preempts(time: Time<'_>, running: Time<'_>) -> bool {
    time.budget().get() != 0
        && (0..running.places().get())
            .all(|place| time.priority(place).get() <= running.priority(place).get())
}
