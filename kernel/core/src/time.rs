//! Temporal capabilities: a slice of time and one priority per scheduler that had a hand in it
//!
//! Priorities are 64 bits, smaller is more important, [`LEAST`] where a scheduler said nothing.
//! Where time from two origins meets, the vector becomes the weaker of both, so that no scheduler's
//! time runs more importantly than it granted (spec 20-kernel, details). Time that is used up meets nothing:
//! what replaces it brings its own vector, but what the scheduler that replaces it said of it remains.

use crate::call::{Answer, Arguments};
use crate::object::{Core, Thread, Time};
use crate::slot::Slot;
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{ALL, Kind, LEAST, Operation, SCHEDULERS, Status};

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
                let receiver = self.own(caller, first).expect(Kind::Send)?;
                let receiver = self.thread(receiver.object());
                let into = self.local(self.time(receiver.time().reference()))?;
                let grade = self.said(caller, time, third);
                self.transfer(time, into, second, grade)?;
                if fourth != 0 {
                    self.send(receiver)
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
        let time = self.own(caller, index).expect(Kind::Time)?;
        self.local(self.time(time.object()))
    }

    /// What the caller says of time for its scheduler: its place in vectors, and a priority. Who decides is in
    /// the scheduler's component; its threads elsewhere make nothing more important than it said.
    #[inline(never)]
    pub(crate) fn said(
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
        if let (place, Some(priority)) = self.said(caller, time, priority) {
            self.prioritise(time, place, priority);
            time.places().set(time.places().get().max(place + 1));
        }
    }

    /// Writes a place of a vector; its core counts in how many each place says something.
    #[inline(always)]
    pub(crate) fn prioritise(self, time: Time<'h>, place: u64, priority: u64) {
        let at = time.core().reference();
        let graded = Core::new(at, self.0.frame(at)).graded(place);
        let word = time.priority(place);
        let said = |priority| u64::from(priority != LEAST);
        let more = said(priority).wrapping_sub(said(word.get()));
        graded.set(graded.get().wrapping_add(more));
        word.set(priority);
    }

    /// Moves `cycles` (or [`ALL`]) for the scheduler of a place. It grades what it gives, or leaves it at what was
    /// said, of both.
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
        let had = into.budget().get();
        let moved = take(from, cycles)?;
        into.budget().set(match (had, moved) {
            (ALL, _) | (_, ALL) => ALL,
            _ => had.saturating_add(moved).min(ALL - 1),
        });
        for place in 0..SCHEDULERS as u64 {
            let [given, said] = [from, into].map(|time| time.priority(place).get());
            let given = grade.filter(|_| place == giver).unwrap_or(given);
            let stays = had != 0 || place == giver && grade.is_none() && said != LEAST;
            let kept = if stays { said } else { 0 };
            self.prioritise(into, place, given.max(kept));
        }
        let places = into.places().get().max(from.places().get());
        into.places().set(places.max(giver + 1));
        Ok(moved)
    }
}

/// Takes budget off; time without end gives any amount, and stays without end.
pub(crate) fn take(from: Time<'_>, cycles: u64) -> Answer {
    let had = from.budget().get();
    if had == ALL {
        return Ok(cycles);
    }
    let taken = if cycles == ALL { had } else { cycles };
    let left = had.checked_sub(taken).ok_or(Status::NoTime)?;
    from.budget().set(left);
    Ok(taken)
}
