//! Temporal capabilities: a slice of time and one priority per scheduler that had a hand in it
//!
//! Priorities are 64 bits, smaller is more important, [`LEAST`] where a scheduler has set none.
//! If time of two origins is combined, each priority becomes the weaker of both, so that no scheduler's time runs at a
//! higher importance than it granted (spec 20-kernel, details). A transfer into a temporal capability without time
//! replaces its vector. Only the priority of the transferring scheduler remains, unless the transfer sets a new one.

use crate::object::{Thread, Time};
use crate::slot::Slot;
use crate::system_call::{Answer, Arguments};
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{
    ALL, DELEGATES, FUNDS_SHIFT, Kind, LEAST, Operation, SCHEDULERS, Status,
};

/// Time that a dispatch moves: the rest of `former` to the source, which is without end, and `cycles` from there.
pub(crate) struct Funding<'h> {
    source: Time<'h>,
    /// The source itself where nothing is taken back.
    former: Time<'h>,
    cycles: u64,
}

impl<'h, H: Hal> Kernel<'h, H> {
    #[inline(never)]
    pub(crate) fn time_operation(
        self,
        caller: Thread<'h>,
        slot: Slot<'h>,
        operation: Operation,
        [first, second, third, fourth, _]: Arguments,
    ) -> Answer {
        let time = self.local(self.time(slot.object()))?;
        self.charge();
        match operation {
            Operation::Budget => Ok(time.budget().get()),
            Operation::SetPriority => {
                self.grade(caller, time, first);
                Ok(0)
            }
            Operation::Transfer => {
                let into = self.own_time(caller, first)?;
                let place = self.scheduler(caller.scheduler().reference()).place().get();
                self.transfer(time, into, second, (place, None))
            }
            Operation::Delegate => {
                let receiver = self.lookup(caller, first).of_kind(Kind::Send)?;
                // Time that meets other time can weaken it: the right to notify is not enough.
                if receiver.detail() != DELEGATES {
                    return Err(Status::NoCapability);
                }
                let receiver = self.thread(receiver.object());
                let into = self.local(self.time(receiver.time().reference()))?;
                let grade = self.grading(caller, time, third);
                self.transfer(time, into, second, grade)?;
                if fourth != 0 {
                    self.send(caller, receiver)
                } else {
                    Ok(0)
                }
            }
            _ => Err(Status::NoOperation),
        }
    }

    /// Time, if it belongs to this core: budgets are counted without atomic operations.
    fn local(self, time: Time<'h>) -> Result<Time<'h>, Status> {
        if time.core().reference() == self.0.core().at() {
            Ok(time)
        } else {
            Err(Status::OtherCore)
        }
    }

    /// The time behind the caller's capability at `index`.
    #[inline(never)]
    pub(crate) fn own_time(self, caller: Thread<'h>, index: u64) -> Result<Time<'h>, Status> {
        let time = self.lookup(caller, index).of_kind(Kind::Time)?;
        self.local(self.time(time.object()))
    }

    /// Returns the place of the caller's scheduler in vectors and the priority that the caller may give time there. Only
    /// threads in the scheduler's component may raise a priority; its threads elsewhere may weaken it.
    #[inline(never)]
    pub(crate) fn grading(
        self,
        caller: Thread<'h>,
        of: Time<'h>,
        priority: u64,
    ) -> (u64, Option<u64>) {
        let scheduler = self.scheduler(caller.scheduler().reference());
        let place = scheduler.place().get();
        let decides = scheduler.component().reference() == caller.component().reference();
        let strongest = if decides { 0 } else { of.priority(place).get() };
        (place, Some(priority.max(strongest)))
    }

    /// Sets the priority that the caller's scheduler gives.
    fn grade(self, caller: Thread<'h>, time: Time<'h>, priority: u64) {
        self.clear_reused([time; 2]);
        if let (place, Some(priority)) = self.grading(caller, time, priority) {
            time.priority(place).set(priority);
            time.places().set(time.places().get().max(place + 1));
        }
    }

    /// Clears the places of two vectors that were given to other schedulers since: priorities of a retired scheduler
    /// are never read as its successor's.
    #[inline(always)]
    pub(crate) fn clear_reused(self, [one, other]: [Time<'h>; 2]) {
        let reuses = self.0.core().reuses().get();
        if (one.cleared().get() ^ reuses) | (other.cleared().get() ^ reuses) != 0 {
            self.clear_places(one);
            self.clear_places(other);
        }
    }

    #[cold]
    #[inline(never)]
    fn clear_places(self, time: Time<'h>) {
        let core = self.0.core();
        for place in 0..SCHEDULERS as u64 {
            if core.reused(place).get() > time.cleared().get() {
                time.priority(place).set(LEAST);
            }
        }
        time.cleared().set(core.reuses().get());
    }

    /// Moves `cycles` (or [`ALL`]) for the scheduler of a place. The scheduler sets its priority
    /// of the moved time, or keeps the weaker of both.
    #[inline(never)]
    pub(crate) fn transfer(
        self,
        from: Time<'h>,
        into: Time<'h>,
        cycles: u64,
        (giver, grade): (u64, Option<u64>),
    ) -> Answer {
        if from.is(into) || into.at() == self.void() {
            return Err(Status::BadArgument);
        }
        let moved = take(from, cycles)?;
        self.put(from, into, moved, (giver, grade));
        let running = self.0.core().time().reference();
        if [from.at(), into.at()].contains(&running) {
            self.leave();
        }
        Ok(moved)
    }

    /// Puts time that was taken into other time, unless it is none: no time meets other time.
    #[inline(never)]
    fn put(self, from: Time<'h>, into: Time<'h>, moved: u64, giver: (u64, Option<u64>)) {
        if moved == 0 {
            return;
        }
        let had = into.budget().get();
        into.budget().set(match (had, moved) {
            (ALL, _) | (_, ALL) => ALL,
            _ => had.saturating_add(moved).min(ALL - 1),
        });
        self.meet(from, into, had, giver);
    }

    /// Returns the transfers of a dispatch on `time`, by its arguments.
    #[inline(never)]
    pub(crate) fn funding(
        self,
        caller: Thread<'h>,
        time: Time<'h>,
        cycles: u64,
        funds: u64,
    ) -> Result<Funding<'h>, Status> {
        let source = self.own_time(caller, funds & ((1 << FUNDS_SHIFT) - 1))?;
        let former = match funds >> FUNDS_SHIFT {
            0 => source,
            former => self.own_time(caller, former)?,
        };
        if cycles == ALL || time.at() == self.void() {
            return Err(Status::BadArgument);
        }
        if source.budget().get() != ALL {
            return Err(Status::NoTime);
        }
        Ok(Funding {
            source,
            former,
            cycles,
        })
    }

    /// Takes the former time back, and grants to the time of a dispatch, which may be the former one. The caller has been
    /// charged; the source pays for the way here.
    #[inline(never)]
    pub(crate) fn fund(self, caller: Thread<'h>, time: Time<'h>, funding: Funding<'h>) {
        let Funding {
            source,
            former,
            cycles,
        } = funding;
        if !former.is(source) {
            // Time without end gains nothing by it, so no time meets other time.
            former.budget().set(0);
        }
        if !time.is(source) {
            let place = self.scheduler(caller.scheduler().reference()).place().get();
            self.put(source, time, cycles, (place, None));
        }
        self.charge_to_source(caller);
    }

    /// Makes the vector of `into`, which had so much time, that of both.
    #[inline(never)]
    pub(crate) fn meet(
        self,
        from: Time<'h>,
        into: Time<'h>,
        had: u64,
        (giver, grade): (u64, Option<u64>),
    ) {
        self.clear_reused([from, into]);
        // Behind its places a vector is LEAST, and so is what two become.
        let places = into.places().get().max(from.places().get());
        let places = places.max(giver + 1).min(SCHEDULERS as u64);
        for place in 0..places {
            let [given, present] = [from, into].map(|time| time.priority(place).get());
            let given = grade.filter(|_| place == giver).unwrap_or(given);
            let stays = had != 0 || place == giver && grade.is_none() && present != LEAST;
            let kept = if stays { present } else { 0 };
            into.priority(place).set(given.max(kept));
        }
        into.places().set(places);
    }
}

/// Takes budget off; time without end gives any amount, and stays without end.
pub(crate) fn take(from: Time<'_>, cycles: u64) -> Answer {
    let had = from.budget().get();
    if had == ALL {
        return Ok(cycles);
    }
    let taken = if cycles == ALL { had } else { cycles };
    let remaining = had.checked_sub(taken).ok_or(Status::NoTime)?;
    from.budget().set(remaining);
    Ok(taken)
}
