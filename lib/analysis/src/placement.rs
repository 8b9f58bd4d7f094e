//! Admission where priorities are given: in time partitions, beside EDF bands
//!
//! As [`crate::admission`], with scheduling overhead, by the analysis of [`crate::time_partitions`].

use crate::Reservation;
use crate::Time;
use crate::admission::{self, Misfit, NOTHING, Refused};
use crate::core_overhead::{Admits, CoreOverhead};
use crate::overhead::{Jobs, Request};
use crate::time_partitions::{Core, Placed, Slot, Table};
use crate::vcpu::Io;

/// The VCPUs of a core, at most `M` of each kind, under a table of up to `S` slots.
#[derive(Clone, Debug)]
pub struct Placement<const M: usize, const S: usize> {
    /// Most important first; their budgets are those of `request`.
    vcpus: [Placed; M],
    request: [Request; M],
    identities: [usize; M],
    count: usize,
    io: [Io; M],
    io_count: usize,
    slots: [Slot; S],
    slot_count: usize,
    frame: Time,
    core_overhead: CoreOverhead,
}

const NOBODY: Placed = Placed {
    limits: Reservation {
        capacity: 0,
        period: 0,
    },
    partition: 0,
    priority: 0,
    reservation: false,
};

impl<const M: usize, const S: usize> Default for Placement<M, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const M: usize, const S: usize> Placement<M, S> {
    /// A core without VCPUs and slots.
    #[must_use]
    pub const fn new() -> Self {
        const EMPTY: Slot = Slot {
            start: 0,
            length: 0,
            partition: 0,
        };
        Self {
            vcpus: [NOBODY; M],
            request: [admission::NOBODY; M],
            identities: [0; M],
            count: 0,
            io: [NOTHING; M],
            io_count: 0,
            slots: [EMPTY; S],
            slot_count: 0,
            frame: 0,
            core_overhead: CoreOverhead::new(),
        }
    }

    /// Adds a slot behind those there are, in a frame of that length.
    ///
    /// # Errors
    /// [`Refused::Full`].
    pub fn slot(&mut self, frame: Time, slot: Slot) -> Result<(), Refused> {
        let place = self.slots.get_mut(self.slot_count).ok_or(Refused::Full)?;
        *place = slot;
        self.frame = frame;
        self.slot_count += 1;
        Ok(())
    }

    /// Returns the scheduling overhead and its sources beside the VCPUs. To be set before slots and VCPUs are added.
    pub const fn core_overhead(&mut self) -> &mut CoreOverhead {
        &mut self.core_overhead
    }

    /// Admits a VCPU of that identity, on which such tasks run.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn vcpu(
        &mut self,
        identity: usize,
        vcpu: Placed,
        tasks: impl IntoIterator<Item = Jobs>,
    ) -> Result<(), Refused> {
        let Reservation { capacity, period } = vcpu.limits;
        let limits = Reservation::new(capacity, period).ok_or(Refused::BadBudget)?;
        if self.count >= M {
            return Err(Refused::Full);
        }
        let place = vcpu.rank();
        let placed = self.vcpus.iter().take(self.count);
        let rank = placed.filter(|placed| placed.rank() <= place);
        let rank = rank.count();
        self.or_as_it_was(|all| {
            let request = Request {
                limits,
                jobs: all.core_overhead.tasks(tasks, period)?,
            };
            all.insert(rank, identity, vcpu, request);
            let answer = all.check();
            if answer.is_err() {
                all.remove(rank);
            }
            answer
        })
    }

    /// Admits an I/O VCPU, on which such bottom halves run.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn io(&mut self, io: Io, tasks: impl IntoIterator<Item = Jobs>) -> Result<(), Refused> {
        *self.io.get_mut(self.io_count).ok_or(Refused::Full)? = io;
        self.admit_next_io(tasks, io.longest)
    }

    fn insert(&mut self, rank: usize, identity: usize, vcpu: Placed, request: Request) {
        let behind = rank..self.count;
        self.vcpus.copy_within(behind.clone(), rank + 1);
        self.request.copy_within(behind.clone(), rank + 1);
        self.identities.copy_within(behind, rank + 1);
        let places = self.vcpus.iter_mut().zip(&mut self.request);
        let mut places = places.zip(&mut self.identities);
        if let Some(((place, placed), name)) = places.nth(rank) {
            (*place, *placed, *name) = (vcpu, request, identity);
            self.count += 1;
        }
    }

    fn remove(&mut self, rank: usize) {
        let behind = rank + 1..self.count;
        self.vcpus.copy_within(behind.clone(), rank);
        self.request.copy_within(behind.clone(), rank);
        self.identities.copy_within(behind, rank);
        self.count -= 1;
    }
}

impl<const M: usize, const S: usize> Admits for Placement<M, S> {
    fn counted(&mut self) -> &mut CoreOverhead {
        &mut self.core_overhead
    }

    fn io_count(&mut self) -> &mut usize {
        &mut self.io_count
    }

    fn check(&mut self) -> Result<(), Refused> {
        let request = self.request.get(..self.count).unwrap_or(&[]);
        let prolonged: [_; M] = self.core_overhead.prolonged(request);
        let mut vcpus = self.vcpus;
        for (vcpu, limits) in vcpus.iter_mut().zip(prolonged) {
            vcpu.limits = limits;
        }
        let core = Core {
            vcpus: vcpus.get(..self.count).unwrap_or(&[]),
            io: self.io.get(..self.io_count).unwrap_or(&[]),
            ahead: self.core_overhead.ahead(),
            table: Table {
                frame: self.frame,
                slots: self.slots.get(..self.slot_count).unwrap_or(&[]),
            },
        };
        match core.misfit() {
            None => Ok(()),
            Some((vcpu, lacks)) => Err(Refused::Misfit(Misfit {
                vcpu: self.identities.get(vcpu).copied().unwrap_or(0),
                lacks: lacks.min(
                    request
                        .get(vcpu)
                        .map_or(0, |request| request.limits.capacity),
                ),
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vcpu(capacity: Time, period: Time, partition: u8, priority: u8) -> Placed {
        Placed {
            limits: Reservation { capacity, period },
            partition,
            priority,
            reservation: false,
        }
    }

    #[test]
    fn an_admitted_task_is_not_displaced() {
        let mut core = Placement::<3, 1>::new();
        let slot = Slot {
            start: 0,
            length: 40,
            partition: 1,
        };
        assert_eq!(core.slot(100, slot), Ok(()));
        assert_eq!(core.slot(100, slot), Err(Refused::Full));
        assert_eq!(core.vcpu(7, vcpu(30, 200, 1, 3), []), Ok(()));
        // 80 in 200 are there, 20 for the newcomer's budget twice: 30 + 40 of them fit.
        assert_eq!(core.vcpu(8, vcpu(20, 100, 1, 2), []), Ok(()));
        let Err(Refused::Misfit(Misfit { vcpu: 7, .. })) = core.vcpu(9, vcpu(10, 100, 0, 1), [])
        else {
            panic!("TP0 takes from the slots");
        };
        assert_eq!(core.vcpu(9, vcpu(2, 100, 0, 1), []), Ok(()));
        assert_eq!(core.vcpu(9, vcpu(1, 100, 0, 1), []), Err(Refused::Full));
    }
}
