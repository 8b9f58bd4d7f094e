//! Events for schedulers, and the part of their shared pages that the kernel trusts
//!
//! Layout and rules: [`bulkhead_abi::dispatch`]; steps: `models/dispatch.pml`. Nothing a scheduler
//! writes is used but to choose among its own threads, in its own component.

use crate::bits::Bits;
use crate::frame::{Frame, Word};
use crate::object::{READY, Scheduler, Thread, Time};
use crate::{Hal, Kernel};
use bulkhead_abi::dispatch::{
    Dcb, EVENTS, Event, EventKind, KERNEL_RESUME_OFFSET, MAX_THREADS, NOT_IN_FORCE, Scb,
};
use core::mem::offset_of;

const CURRENT: u64 = offset_of!(Scb, current) as u64 / 8;
const EPOCH: u64 = offset_of!(Scb, epoch) as u64 / 8;
/// `produced` below, `consumed` above.
const CURSORS: u64 = offset_of!(Scb, produced) as u64 / 8;
const OVERFLOW: u64 = offset_of!(Scb, overflow) as u64 / 8;
const QUEUE: u64 = offset_of!(Scb, events) as u64 / 8;
const BUDGET: u64 = offset_of!(Scb, budget) as u64 / 8;
const GRANTS: u64 = offset_of!(Scb, grants) as u64 / 8;
const EVENT_WORDS: u64 = size_of::<Event>() as u64 / 8;
const BLOCKS: u64 = size_of::<Scb>() as u64 / 8;
const BLOCK_WORDS: u64 = size_of::<Dcb>() as u64 / 8;
/// Number of threads of a word from which one call fetches events.
const FETCHED: usize = 4;

const _: () = assert!(offset_of!(Scb, consumed) == offset_of!(Scb, produced) + 4 && CURRENT == 0);

impl<'h, H: Hal> Kernel<'h, H> {
    /// Returns true if this is a scheduler and not the void.
    pub(crate) fn exists(self, scheduler: Scheduler<'h>) -> bool {
        scheduler.at() != self.void()
    }

    pub(crate) fn scb(self, scheduler: Scheduler<'h>) -> &'h Frame {
        self.0.frame(scheduler.scb().reference())
    }

    pub(crate) fn epoch(self, scheduler: Scheduler<'h>) -> &'h Word {
        self.scb(scheduler).word(EPOCH)
    }

    /// Shows the owner of limited time when that ends, which is in force; a thread that decides needs no call for it.
    #[inline(always)]
    pub(crate) fn show_end(self, time: Time<'h>, end: u64) {
        self.show(time, end.min(NOT_IN_FORCE - 1));
    }

    /// Shows the owner of limited time what is left of it: it is in force no longer.
    #[inline(never)]
    pub(crate) fn show_rest(self, time: Time<'h>) {
        self.show(time, time.budget().get() | NOT_IN_FORCE);
    }

    #[inline(always)]
    fn show(self, time: Time<'h>, word: u64) {
        let owner = self.scheduler(time.owner().reference());
        if self.exists(owner) {
            self.scb(owner).word(BUDGET).set(word);
        }
    }

    /// Counts a dispatch that moved time.
    pub(crate) fn count_grant(self, scheduler: Scheduler<'h>) {
        let grants = self.scb(scheduler).word(GRANTS);
        grants.set(grants.get().wrapping_add(1));
    }

    /// The current thread's scheduler names another: takes that one, if it may execute here. Called
    /// before its registers are saved, so that they are saved as its own.
    #[inline(never)]
    pub fn follow(self) {
        let core = self.0.core();
        let thread = self.current();
        let scheduler = self.scheduler(thread.scheduler().reference());
        let current = self.scb(scheduler).word(CURRENT);
        match self.dispatchable(scheduler, current.get()) {
            Some(next) => {
                core.current().set(next.at().address());
                core.running().set(next.at().address());
                core.preempted().set(self.void().address());
                if core.fp_owner().reference() == thread.at() {
                    core.fp_owner().set(next.at().address());
                    next.floating().set(1);
                    // The machine has the FP state of both. The page of the thread that dispatched away has older
                    // state, which may be that of a server in which it was preempted.
                    thread.floating().set(0);
                }
            }
            None => current.set(thread.index().get()),
        }
    }

    /// The thread of that index, if the scheduler may have dispatched to it in user mode.
    fn dispatchable(self, scheduler: Scheduler<'h>, index: u64) -> Option<Thread<'h>> {
        if index >= MAX_THREADS as u64 {
            return None;
        }
        let thread = self.thread(scheduler.member(index).reference());
        let there = thread.component().get() == scheduler.component().get();
        (there && thread.state().get() == READY).then_some(thread)
    }

    /// Records that `thread` runs, and resumes it from its block where it dispatched away in user mode.
    #[inline(always)]
    pub(crate) fn announce(self, thread: Thread<'h>) {
        let scheduler = self.scheduler(thread.scheduler().reference());
        if !self.exists(scheduler) {
            return;
        }
        self.scb(scheduler).word(CURRENT).set(thread.index().get());
        self.collect(scheduler, thread);
    }

    /// Takes over where a thread that has dispatched away in user mode is to be resumed.
    #[inline(always)]
    pub(crate) fn collect(self, scheduler: Scheduler<'h>, thread: Thread<'h>) {
        if scheduler.component().get() != thread.component().get() {
            return;
        }
        let scb = self.scb(scheduler);
        let block = BLOCKS + BLOCK_WORDS * (thread.index().get() % MAX_THREADS as u64);
        let kept = scb.word(block + 1);
        let sp = kept.get();
        if sp != 0 {
            let ip = scb.word(block).get();
            thread.pc().set(ip.wrapping_add(KERNEL_RESUME_OFFSET));
            thread.sp().set(sp);
            thread.resume().set(crate::object::CALLED);
            // What its page has of it may be from another component, where it was preempted.
            thread.clear_registers();
            thread.message(0).set(0);
            kept.set(0);
        }
    }

    /// Clears the block of an index: a thread that is bound there has not run.
    pub(crate) fn empty_block(self, scheduler: Scheduler<'h>, index: u64) {
        let block = BLOCKS + BLOCK_WORDS * (index % MAX_THREADS as u64);
        self.scb(scheduler).word(block + 1).set(0);
    }

    /// Sends an event about a thread to its scheduler, or to the parent if the thread is the scheduler's own.
    pub(crate) fn report(self, thread: Thread<'h>, kind: EventKind) {
        let direct = self.scheduler(thread.scheduler().reference());
        let (scheduler, index) = if direct.thread().reference() == thread.at() {
            (
                self.scheduler(direct.parent().reference()),
                direct.parent_index().get(),
            )
        } else {
            (direct, thread.index().get())
        };
        if self.exists(scheduler) && !self.enqueue(scheduler, index, kind, thread.cycles().get()) {
            let bits = thread.overflow().get() | 1 << kind as u64;
            thread.overflow().set(bits);
            let word = scheduler_overflow(scheduler, index);
            word.set(word.get() | 1 << (index % 64));
            self.scb(scheduler).word(OVERFLOW).set(1);
        } else {
            thread.cycles().set(0);
        }
    }

    fn enqueue(self, scheduler: Scheduler<'h>, index: u64, kind: EventKind, cycles: u64) -> bool {
        let scb = self.scb(scheduler);
        let cursors = scb.word(CURSORS).get();
        let (produced, consumed) = (cursors as u32, (cursors >> 32) as u32);
        if produced.wrapping_sub(consumed) as usize >= EVENTS {
            return false;
        }
        let place = QUEUE + EVENT_WORDS * (u64::from(produced) % EVENTS as u64);
        scb.word(place).set(index | (kind as u64) << 32);
        scb.word(place + 1).set(cycles);
        scb.word(CURSORS)
            .set(u64::from(produced.wrapping_add(1)) | u64::from(consumed) << 32);
        true
    }

    /// Returns true if events wait in the queue.
    pub(crate) fn has_events(self, scheduler: Scheduler<'h>) -> bool {
        let cursors = self.scb(scheduler).word(CURSORS).get();
        cursors as u32 != (cursors >> 32) as u32
    }

    /// Moves events that found no room into the queue, those of twice [`FETCHED`] threads at most, so that the call is
    /// short. Returns how many threads still have some.
    pub(crate) fn fetch(self, scheduler: Scheduler<'h>) -> u64 {
        let words = [scheduler.overflow(), scheduler.overflow_high()];
        for (number, word) in (0..).zip(words) {
            for bit in Bits(word.get()).take(FETCHED) {
                self.fetch_of(scheduler, 64 * number + bit);
            }
        }
        let remaining = words.map(|word| u64::from(word.get().count_ones()));
        let remaining = remaining[0] + remaining[1];
        self.scb(scheduler)
            .word(OVERFLOW)
            .set(u64::from(remaining > 0));
        remaining
    }

    /// Moves the events of the thread of that index.
    #[inline(never)]
    fn fetch_of(self, scheduler: Scheduler<'h>, index: u64) {
        const KINDS: [EventKind; 4] = [
            EventKind::Activated,
            EventKind::Blocked,
            EventKind::Expired,
            EventKind::Faulted,
        ];
        let thread = self.thread(scheduler.member(index).reference());
        for kind in KINDS {
            let bit = 1 << kind as u64;
            let waits = thread.overflow().get() & bit != 0;
            if waits && self.enqueue(scheduler, index, kind, thread.cycles().get()) {
                thread.overflow().set(thread.overflow().get() & !bit);
                thread.cycles().set(0);
            }
        }
        if thread.overflow().get() == 0 {
            let word = scheduler_overflow(scheduler, index);
            word.set(word.get() & !(1 << (index % 64)));
        }
    }
}

fn scheduler_overflow(scheduler: Scheduler<'_>, index: u64) -> &Word {
    let second = index / 64 % 2 == 1;
    if second {
        scheduler.overflow_high()
    } else {
        scheduler.overflow()
    }
}
