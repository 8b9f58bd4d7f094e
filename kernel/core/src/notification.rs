//! Asynchronous notification: threads and interrupts
//!
//! Every thread has one end-point: a count of notifications. Sending adds one and touches no
//! scheduler's structure; if the receiver waits, the temporal capabilities of running and receiving
//! thread decide whether it runs at once or is left to its scheduler (spec 20-kernel §4). A thread of
//! another core is notified by what both share, three words, and an interrupt.

use crate::bits::Bits;
use crate::frame::{Frame, Ref, Word};
use crate::object::{Core, LISTENED, READY, Scheduler, Thread, Time, WAITING};
use crate::system_call::Answer;
use crate::{Hal, Kernel};
use bulkhead_abi::dispatch::{EventKind, MAX_THREADS};
use bulkhead_abi::kernel::{Kind, SCHEDULERS, Status};
use core::ops::Range;

/// Word of a mailbox with a bit for each other word that is not zero.
const MAIL: u64 = 0;
/// Bit of that word: the core is being interrupted and has not attended yet.
const ON_ITS_WAY: u64 = 1 << 63;
/// First of the words of a mailbox with a bit per thread of the core; not on the line of the other.
const FIRST_MAIL: u64 = 8;
/// How many there are.
const MAILS: u64 = (SCHEDULERS * MAX_THREADS / 64) as u64;

const _: () = assert!(MAILS < 64);

/// Threads that are notified in an interrupt by other cores, so that it is short.
const ATTENDED: u64 = 1;

/// Windows in a period of quiescence.
const WINDOWS: u64 = 10;
/// How often a source may interrupt other cores in a window.
const INTERRUPTS_PER_WINDOW: u64 = 4;

/// Beside the thread in the table of interrupts.
const LEVEL: u64 = 1;
/// INTIDs that the table of interrupts has room for.
const INTERRUPTS: u64 = 512;
/// The shared ones of them.
pub(crate) const LINES: Range<u64> = 32..INTERRUPTS;

impl<'h, H: Hal> Kernel<'h, H> {
    /// One notification for `receiver`.
    #[inline(always)]
    pub(crate) fn send(self, sender: Thread<'h>, receiver: Thread<'h>) -> Answer {
        let core = receiver.core().reference();
        if core != self.0.core().at() {
            return self.send_across(sender, receiver, core);
        }
        self.deliver(receiver, 1);
        Ok(0)
    }

    #[inline(never)]
    fn send_across(self, sender: Thread<'h>, receiver: Thread<'h>, core: Ref) -> Answer {
        match self.source(sender) {
            None => self.post_and_interrupt(receiver, core)?,
            Some(source) => {
                if self.post(receiver, core, 0)? & ON_ITS_WAY == 0 {
                    self.interrupt_limited(core, source);
                }
            }
        }
        Ok(0)
    }

    #[inline(always)]
    fn deliver(self, receiver: Thread<'h>, count: u64) {
        let pending = receiver.pending();
        pending.set(pending.get().saturating_add(count));
        if receiver.state().get() == WAITING {
            self.wake(receiver);
        }
    }

    /// Counts a notification at a thread of another core, and marks it in the core's mailbox, with other `bits` of
    /// [`MAIL`]. Returns the former value of that word.
    ///
    /// A thread is marked once until its core has attended, however often it is notified.
    #[inline(always)]
    fn post(self, receiver: Thread<'h>, core: Ref, bits: u64) -> Result<u64, Status> {
        if core == self.void() {
            return Err(Status::NotReady);
        }
        let mailbox = self.mailbox(core);
        let mut bits = bits;
        if receiver.posted().add(1) == 0 {
            let number = receiver.number().get();
            let (word, bit) = (number / 64 % MAILS, number % 64);
            mailbox.word(FIRST_MAIL + word).mark(1 << bit);
            bits |= 1 << word;
        } else if mailbox.word(MAIL).first() & !ON_ITS_WAY == 0 {
            // The core has taken the mark, and takes the count next; or the thread is retired.
            return Ok(ON_ITS_WAY);
        }
        Ok(mailbox.word(MAIL).mark(bits))
    }

    /// Posts, and interrupts the core unless it is being interrupted.
    #[inline(always)]
    fn post_and_interrupt(self, receiver: Thread<'h>, core: Ref) -> Result<(), Status> {
        if self.post(receiver, core, ON_ITS_WAY)? & ON_ITS_WAY == 0 {
            self.0.interrupt_core(Core::new(core, self.0.frame(core)));
        }
        Ok(())
    }

    #[inline(always)]
    fn mailbox(self, core: Ref) -> &'h Frame {
        let core = Core::new(core, self.0.frame(core));
        self.0.frame(core.mailbox().reference())
    }

    /// Interrupts a core that has mail, unless it is being interrupted.
    fn interrupt_core(self, core: Ref) {
        if self.mailbox(core).word(MAIL).mark(ON_ITS_WAY) & ON_ITS_WAY == 0 {
            self.0.interrupt_core(Core::new(core, self.0.frame(core)));
        }
    }

    /// Interrupts a core now if the source's limit admits it; later otherwise.
    #[inline(never)]
    fn interrupt_limited(self, core: Ref, source: [&'h Word; 2]) {
        if self.admits(source) {
            self.interrupt_core(core);
        } else {
            self.interrupt_later(core);
            // The timer is set to the end of the window.
            self.leave();
        }
    }

    /// Returns the counters of the source that a notification of another core is limited by, or `None` if the root
    /// scheduler's component, which has the core, sends. A scheduler under the root and all schedulers below it are one source. The root's other threads are
    /// one source for each component in which they were made: neither nested schedulers nor further threads raise the limit of a component.
    #[inline(always)]
    fn source(self, sender: Thread<'h>) -> Option<[&'h Word; 2]> {
        let scheduler = self.scheduler(sender.scheduler().reference());
        let outermost = self.scheduler(scheduler.outermost().reference());
        if self.exists(outermost) {
            Some([outermost.window(), outermost.sent()])
        } else if scheduler.component().get() == sender.component().get() {
            None
        } else {
            let home = match sender.depth().get() {
                0 => sender.component(),
                _ => sender.invocation(0)[0],
            };
            let rank = self.0.core().rank().get();
            Some(self.component(home.reference()).sent(rank))
        }
    }

    /// Returns whether a source may interrupt another core now: [`INTERRUPTS_PER_WINDOW`] times in a window.
    fn admits(self, [window, sent]: [&'h Word; 2]) -> bool {
        let now = self.0.now();
        if now.wrapping_sub(window.get()) >= self.window() {
            window.set(now);
            sent.set(0);
        }
        let admits = sent.get() < INTERRUPTS_PER_WINDOW;
        sent.set(sent.get() + u64::from(admits));
        admits
    }

    fn window(self) -> u64 {
        self.0.core().period().get() / WINDOWS
    }

    /// Has [`Kernel::interrupt_late`] interrupt the core when a window has passed.
    fn interrupt_later(self, core: Ref) {
        let this_core = self.0.core();
        let rank = Core::new(core, self.0.frame(core)).rank().get();
        this_core.late().set(this_core.late().get() | 1 << rank);
        let due = self.0.now().saturating_add(self.window());
        this_core.due().set(this_core.due().get().min(due));
    }

    /// Interrupts cores that were not when their mail came.
    pub(crate) fn interrupt_late(self) {
        let this_core = self.0.core();
        for rank in Bits(this_core.late().get()) {
            let core = this_core.first().reference().plus(rank);
            if self.mailbox(core).word(MAIL).first() != 0 {
                self.interrupt_core(core);
            }
        }
        this_core.late().set(0);
    }

    /// Delivers what other cores have posted, to each thread at most once for an interrupt of theirs, which came at
    /// `began`. A call notifies [`ATTENDED`] threads at most. For the rest the core interrupts itself, so that other
    /// interrupts come between; what is marked meanwhile waits for the next interrupt of another core. A function of its own, so that other interrupts
    /// save no registers for it.
    #[inline(never)]
    pub fn attend(self, began: u64) {
        self.quiesce_in_passing();
        let core = self.0.core();
        let mailbox = self.0.frame(core.mailbox().reference());
        let unattended = core.mail_left();
        let [mut words, mut word, mut bits] = unattended.map(Word::get);
        let continues = words | bits != 0;
        if !continues {
            words = mailbox.word(MAIL).take() & !ON_ITS_WAY;
        }
        let mut began = began;
        for _ in 0..ATTENDED {
            if bits == 0 {
                if words == 0 {
                    break;
                }
                word = u64::from(words.trailing_zeros());
                words &= words - 1;
                bits = mailbox.word(FIRST_MAIL + word % MAILS).take();
            }
            if bits != 0 {
                let number = word * 64 + u64::from(bits.trailing_zeros());
                bits &= bits - 1;
                began = self.deliver_posted(number, began);
            }
        }
        // An interrupt of another core that came meanwhile may be this one.
        if words | bits != 0 || continues {
            let is_on_its_way = mailbox.word(MAIL).first() & ON_ITS_WAY != 0;
            for (place, value) in unattended.into_iter().zip([words, word, bits]) {
                place.set(value);
            }
            if words | bits != 0 || is_on_its_way {
                self.0.interrupt_core(core);
            }
        }
    }

    /// Delivers what was posted to the thread of that number of this core. Returns the time, or `began` if nothing was.
    #[inline(always)]
    fn deliver_posted(self, number: u64, began: u64) -> u64 {
        let place = number / MAX_THREADS as u64;
        let scheduler = self.scheduler(self.0.core().placed(place).reference());
        if !self.exists(scheduler) {
            // Retired since, with its threads.
            return began;
        }
        let receiver = self.thread(scheduler.member(number).reference());
        if receiver.at() == self.void() {
            return began;
        }
        let count = receiver.posted().take();
        if count == 0 {
            // The mark was meant for a thread that was retired.
            return began;
        }
        self.deliver(receiver, count);
        self.served(receiver, began)
    }

    /// Returns whether a thread on `time` preempts one on `running`: it has time, and for every scheduler that
    /// had a hand in the running time it is at least as important.
    #[inline(always)]
    fn preempts(self, time: Time<'h>, running: Time<'h>) -> bool {
        self.clear_reused([time, running]);
        time.budget().get() != 0
            && (0..running.places().get())
                .all(|place| time.priority(place).get() <= running.priority(place).get())
    }

    /// Ends the wait of a thread that has been notified.
    #[inline(never)]
    fn wake(self, receiver: Thread<'h>) {
        let core = self.0.core();
        self.ready(receiver);
        self.report(receiver, EventKind::Activated);
        let running = self.time(core.time().reference());
        let time = self.time(receiver.time().reference());
        if !self.preempts(time, running) {
            return;
        }
        let scheduler = self.scheduler(receiver.scheduler().reference());
        let epoch = self.epoch(scheduler);
        epoch.set(epoch.get().wrapping_add(1));
        core.preempted().set(core.current().get());
        core.preempted_time().set(running.at().address());
        self.switch(receiver, time);
    }

    /// Has the caller, which must be the thread of the end-point, wait for notifications or events.
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
        // The event says for how long it ran until now.
        self.charge();
        self.report(caller, EventKind::Blocked);
        let core = self.0.core();
        let preempted = self.thread(core.preempted().reference());
        if self.resumes(preempted, caller, next) {
            core.preempted().set(self.void().address());
            self.switch_or_expire(preempted, self.time(core.preempted_time().reference()));
        } else {
            self.activate(next);
        }
        Ok(0)
    }

    /// Returns whether the thread that a notification preempted resumes when the notified one waits again. The notified
    /// one's scheduler, where that is another, is activated instead only if it is important enough itself: it
    /// does not get the core by a notification.
    #[inline(always)]
    fn resumes(
        self,
        preempted: Thread<'h>,
        notified: Thread<'h>,
        scheduler: Scheduler<'h>,
    ) -> bool {
        preempted.at() != self.void()
            && preempted.state().get() == READY
            && (preempted.scheduler().get() == notified.scheduler().get()
                || !self.is_more_important(scheduler))
    }

    /// Returns whether a scheduler's own thread preempts the one that a notification preempted.
    #[inline(never)]
    fn is_more_important(self, scheduler: Scheduler<'h>) -> bool {
        let scheduler_thread = self.thread(scheduler.thread().reference());
        let preempted = self.0.core().preempted_time().reference();
        self.preempts(
            self.time(scheduler_thread.time().reference()),
            self.time(preempted),
        )
    }

    /// Interrupt `intid` becomes a notification of the thread behind the caller's Send at `sender`.
    #[inline(never)]
    pub(crate) fn listen(self, caller: Thread<'h>, intid: u64, sender: u64) -> Answer {
        let sender = self.lookup(caller, sender).of_kind(Kind::Send)?;
        let core = self.0.core();
        let mut places = (0..LISTENED).map(|place| core.listened(place));
        let place = places.clone().find(|place| place.get() == intid);
        let place = place.or_else(|| places.find(|place| place.get() == 0));
        let place = place.ok_or(Status::Occupied)?;
        self.add_reference(sender.object())?;
        let level = self
            .0
            .enable_interrupt(intid)
            .inspect_err(|_| self.drop_reference(sender.object()))?;
        place.set(intid);
        self.notify_of(intid, sender.object().address() | u64::from(level));
        Ok(level.into())
    }

    /// Ends Listen of interrupt `intid` of this core.
    #[inline(never)]
    pub(crate) fn ignore(self, intid: u64) -> Answer {
        let table = self.0.frame(self.0.core().interrupts().reference());
        if intid >= INTERRUPTS || table.word(intid).reference() == self.void() {
            return Err(Status::Nothing);
        }
        self.0.disable_interrupt(intid);
        let _no_longer_active = self.complete(intid);
        self.notify_of(intid, self.void().address());
        let core = self.0.core();
        let mut places = (0..LISTENED).map(|place| core.listened(place));
        let place = places.find(|place| place.get() == intid);
        place.into_iter().for_each(|place| place.set(0));
        Ok(0)
    }

    /// Ends Listen of one interrupt of this core that notifies `thread`. Returns true if there are more.
    pub(crate) fn ignore_one(self, thread: Thread<'h>) -> bool {
        let core = self.0.core();
        let table = self.0.frame(core.interrupts().reference());
        let notifies = |intid: &u64| {
            let notified = table.word(*intid).get() & !LEVEL;
            *intid != 0 && notified == thread.at().address()
        };
        let listened = (0..LISTENED).map(|place| core.listened(place).get());
        let mut listened = listened.filter(notifies);
        let one = listened.next();
        let more = listened.next().is_some();
        if let Some(intid) = one {
            let _it_was = self.ignore(intid);
        }
        more
    }

    /// Replaces the thread that an interrupt notifies, to which the table refers.
    fn notify_of(self, intid: u64, word: u64) {
        let table = self.0.frame(self.0.core().interrupts().reference());
        let before = Ref(table.word(intid).get() & !LEVEL);
        table.word(intid).set(word);
        if before != self.void() {
            self.drop_reference(before);
        }
    }

    /// An interrupt arrived, at `began`; whether it has been dealt with.
    ///
    /// A level stays active until its thread has served the device: the line would interrupt for ever.
    /// Until then no other level interrupts this core, everything else does, having more priority; and
    /// nothing is masked, which would enter the monitor.
    #[must_use]
    pub fn interrupt(self, intid: u64, began: u64) -> bool {
        self.quiesce_in_passing();
        let core = self.0.core();
        let table = self.0.frame(core.interrupts().reference());
        let word = table.word(intid % INTERRUPTS).get();
        let receiver = Ref(word & !LEVEL);
        if receiver == self.void() {
            return true;
        }
        let level = word & LEVEL != 0;
        if level {
            core.held().set(intid);
        }
        let receiver = self.thread(receiver);
        let at = receiver.core().reference();
        if at == core.at() {
            self.deliver(receiver, 1);
            self.served(receiver, began);
        } else {
            // The monitor limits devices and doorbells.
            let _always_taken = self.post_and_interrupt(receiver, at);
        }
        !level
    }

    /// Counts the time since `began`, which the kernel used for interrupts of `receiver`. Returns the time now.
    #[inline(always)]
    fn served(self, receiver: Thread<'h>, began: u64) -> u64 {
        let now = self.0.now();
        let served = receiver.served();
        served.set(served.get().wrapping_add(now.wrapping_sub(began)));
        now
    }

    /// The level of that number has been served.
    pub(crate) fn complete(self, intid: u64) -> Answer {
        let held = self.0.core().held();
        if intid == 0 || held.get() != intid {
            return Err(Status::Nothing);
        }
        held.set(0);
        self.0.end_interrupt(intid);
        Ok(0)
    }
}
