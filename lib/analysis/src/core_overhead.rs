//! Decisions of a core, counted as its VCPUs are admitted
//!
//! [`crate::overhead`] over what is known so far, in room that is there from the start: for a scheduler that cannot
//! allocate. Where nothing costs anything, nothing is kept.

use crate::admission::Refused;
use crate::overhead::{Jobs, Keeping, Overhead, Request};
use crate::{Reservation, Time};

/// Tasks, doorbells and changes of slots of a core that are counted.
pub const ROOM: usize = 64;

const NOTHING: Reservation = Reservation {
    capacity: 0,
    period: 0,
};

/// What decides beside the VCPUs themselves.
#[derive(Clone, Debug)]
pub struct CoreOverhead {
    overhead: Overhead,
    keeping: Keeping,
    /// More important than all.
    ahead: List<Reservation>,
}

/// So much was known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl Default for CoreOverhead {
    fn default() -> Self {
        Self::new()
    }
}

impl CoreOverhead {
    /// Where nothing costs anything.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            overhead: Overhead {
                decision: 0,
                interrupt: 0,
                job: 0,
                stage: 0,
                blocking: 0,
            },
            keeping: Keeping {
                chunks: 0,
                quantum: None,
            },
            ahead: List::of(NOTHING),
        }
    }

    /// Says what it costs, before anything is counted, and counts for how long the kernel blocks.
    ///
    /// # Errors
    /// [`Refused::Full`].
    pub fn count(&mut self, overhead: Overhead, keeping: Keeping) -> Result<(), Refused> {
        self.overhead = overhead;
        self.keeping = keeping;
        match overhead.of_blocking() {
            Some(blocking) => self.ahead.push(blocking),
            None => Ok(()),
        }
    }

    /// Counts a doorbell that rings at most `limit` times in `period`.
    ///
    /// # Errors
    /// [`Refused::Full`].
    pub fn doorbell(&mut self, limit: u64, period: Time) -> Result<(), Refused> {
        let both = self.overhead.of_doorbell(limit, period);
        both.into_iter()
            .flatten()
            .try_for_each(|one| self.ahead.push(one))
    }

    /// Counts so many slots in a frame.
    ///
    /// # Errors
    /// [`Refused::Full`].
    pub fn slots(&mut self, slots: u64, frame: Time) -> Result<(), Refused> {
        match self.overhead.of_slots(slots, frame) {
            Some(changes) => self.ahead.push(changes),
            None => Ok(()),
        }
    }

    /// Counts the tasks of a VCPU. Answers how many of their jobs come in `window`.
    ///
    /// # Errors
    /// [`Refused::Full`].
    pub fn tasks(
        &mut self,
        tasks: impl IntoIterator<Item = Jobs>,
        window: Time,
    ) -> Result<u64, Refused> {
        let mut count = 0u64;
        for jobs in tasks {
            count = count.saturating_add(jobs.within(window));
            let waking = self.overhead.of_waking(jobs).into_iter().flatten();
            for ahead in waking {
                self.ahead.push(ahead)?;
            }
            if let Some(ahead) = self.overhead.of_jobs(jobs) {
                self.ahead.push(ahead)?;
            }
        }
        Ok(count)
    }

    pub(crate) const fn mark(&self) -> Mark {
        Mark(self.ahead.count)
    }

    /// Forgets what was counted since.
    pub(crate) const fn back(&mut self, Mark(ahead): Mark) {
        self.ahead.count = ahead;
    }

    /// What is more important than all VCPUs.
    #[must_use]
    pub fn ahead(&self) -> &[Reservation] {
        self.ahead.all()
    }

    /// VCPUs with what their decisions take.
    #[must_use]
    pub fn prolonged<const M: usize>(&self, vcpus: &[Request]) -> [Reservation; M] {
        let mut found = [NOTHING; M];
        for (found, vcpu) in found.iter_mut().zip(vcpus) {
            *found = self.overhead.prolong(vcpu, &self.keeping);
        }
        found
    }
}

/// Who admits VCPUs with their decisions, or leaves everything as it was.
pub(crate) trait Admits: Sized {
    /// What decides.
    fn counted(&mut self) -> &mut CoreOverhead;

    /// How many I/O VCPUs there are.
    fn io_count(&mut self) -> &mut usize;

    /// Whether all that are known fit.
    fn check(&mut self) -> Result<(), Refused>;

    /// What was counted for who is not admitted is forgotten.
    fn or_as_it_was(
        &mut self,
        admit: impl FnOnce(&mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let mark = self.counted().mark();
        let answer = admit(self);
        if answer.is_err() {
            self.counted().back(mark);
        }
        answer
    }

    /// Admits the I/O VCPU that stands in the next place, on which such bottom halves run, for Main VCPUs of periods up
    /// to `longest`.
    fn admit_next_io(
        &mut self,
        tasks: impl IntoIterator<Item = Jobs>,
        longest: Time,
    ) -> Result<(), Refused> {
        self.or_as_it_was(|all| {
            all.counted().tasks(tasks, longest)?;
            *all.io_count() += 1;
            let answer = all.check();
            if answer.is_err() {
                *all.io_count() -= 1;
            }
            answer
        })
    }
}

/// As many as there are, in the order in which they came.
#[derive(Clone, Debug)]
struct List<T> {
    items: [T; ROOM],
    count: usize,
}

impl<T: Copy> List<T> {
    const fn of(nothing: T) -> Self {
        Self {
            items: [nothing; ROOM],
            count: 0,
        }
    }

    fn push(&mut self, item: T) -> Result<(), Refused> {
        *self.items.get_mut(self.count).ok_or(Refused::Full)? = item;
        self.count += 1;
        Ok(())
    }

    fn all(&self) -> &[T] {
        self.items.get(..self.count).unwrap_or(&[])
    }
}
