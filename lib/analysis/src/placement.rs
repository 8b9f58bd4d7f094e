//! Admission where priorities are given: in time partitions, beside EDF bands
//!
//! As [`crate::admission`], by the analysis of [`crate::time_partitions`].

use crate::Reservation;
use crate::Time;
use crate::admission::{Misfit, Refused};
use crate::time_partitions::{Core, Placed, Slot, Table};
use crate::utilisation::Fraction;
use crate::vcpu::Io;

/// The VCPUs of a core, at most `M` of each kind, under a table of up to `S` slots.
#[derive(Clone, Debug)]
pub struct Placement<const M: usize, const S: usize> {
    vcpus: [Placed; M],
    identities: [usize; M],
    count: usize,
    io: [Io; M],
    io_count: usize,
    slots: [Slot; S],
    slot_count: usize,
    frame: Time,
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

const NOTHING: Io = Io {
    utilisation: Fraction(0),
    longest: 0,
    rank: 0,
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
            identities: [0; M],
            count: 0,
            io: [NOTHING; M],
            io_count: 0,
            slots: [EMPTY; S],
            slot_count: 0,
            frame: 0,
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

    /// Admits a VCPU of that identity.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn vcpu(&mut self, identity: usize, vcpu: Placed) -> Result<(), Refused> {
        let Reservation { capacity, period } = vcpu.limits;
        let limits = Reservation::new(capacity, period).ok_or(Refused::BadBudget)?;
        let place = self.vcpus.get_mut(self.count).ok_or(Refused::Full)?;
        *place = Placed { limits, ..vcpu };
        if let Some(place) = self.identities.get_mut(self.count) {
            *place = identity;
        }
        self.count += 1;
        let answer = self.check();
        if answer.is_err() {
            self.count -= 1;
        }
        answer
    }

    /// Admits an I/O VCPU.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn io(&mut self, io: Io) -> Result<(), Refused> {
        *self.io.get_mut(self.io_count).ok_or(Refused::Full)? = io;
        self.io_count += 1;
        let answer = self.check();
        if answer.is_err() {
            self.io_count -= 1;
        }
        answer
    }

    fn check(&self) -> Result<(), Refused> {
        let core = Core {
            vcpus: self.vcpus.get(..self.count).unwrap_or(&[]),
            io: self.io.get(..self.io_count).unwrap_or(&[]),
            ahead: &[],
            table: Table {
                frame: self.frame,
                slots: self.slots.get(..self.slot_count).unwrap_or(&[]),
            },
        };
        match core.misfit() {
            None => Ok(()),
            Some((vcpu, lacks)) => Err(Refused::Misfit(Misfit {
                vcpu: self.identities.get(vcpu).copied().unwrap_or(0),
                lacks,
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
    fn who_is_there_is_not_pushed_out() {
        let mut core = Placement::<3, 1>::new();
        let slot = Slot {
            start: 0,
            length: 40,
            partition: 1,
        };
        assert_eq!(core.slot(100, slot), Ok(()));
        assert_eq!(core.slot(100, slot), Err(Refused::Full));
        assert_eq!(core.vcpu(7, vcpu(30, 200, 1, 3)), Ok(()));
        // 80 in 200 are there, 20 for the newcomer's budget twice: 30 + 40 of them fit.
        assert_eq!(core.vcpu(8, vcpu(20, 100, 1, 2)), Ok(()));
        let Err(Refused::Misfit(Misfit { vcpu: 7, .. })) = core.vcpu(9, vcpu(10, 100, 0, 1)) else {
            panic!("TP0 takes from the slots");
        };
        assert_eq!(core.vcpu(9, vcpu(2, 100, 0, 1)), Ok(()));
        assert_eq!(core.vcpu(9, vcpu(1, 100, 0, 1)), Err(Refused::Full));
    }
}
