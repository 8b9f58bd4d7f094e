//! Response times under time partitions and EDF bands, and the inflation of less important VCPUs by
//! bands
//!
//! Papers 002 and 003 §2.1, spec 30-scheduling §5, ARINC 653. VCPUs of TPx run in the slots of x, those
//! of TP0 always; at equal priority TP0 comes first; on a priority of TP0 that is a band deadlines decide.
//! Every VCPU is a corrected sporadic server. For less important VCPUs it therefore counts as a sporadic task of its
//! (C, T).
//!
//! *TP0*: R = C + Σ ⌈(R + J)/T⌉·C over all that are at least as important, TPx included; a VCPU of TPx,
//! which waits for its slot, comes with a jitter J = T − C. *TPx*: the smallest R of which every window
//! has the supply: supply(R) ≥ C + Σ ⌈R/T⌉·C. *A band*: [`crate::edf`], with the demand of more important VCPUs as interference.

use crate::admission::lacking;
use crate::edf::Band;
use crate::vcpu::Io;
use crate::{Reservation, Time};

/// A VCPU among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// C and T.
    pub limits: Reservation,
    /// Its time partition; 0 = TP0.
    pub partition: u8,
    /// 0 the most important.
    pub priority: u8,
    /// True for a reservation of the EDF band with that priority.
    pub reservation: bool,
}

/// A stretch of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// From the start of the frame.
    pub start: Time,
    /// More than 0; it does not reach beyond the frame or into another slot.
    pub length: Time,
    /// Number, from 1, of the time partition with VCPUs that may run beside those of TP0.
    pub partition: u8,
}

/// Slots in order of time, in a frame that repeats.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Length of the frame.
    pub frame: Time,
    /// Its slots.
    pub slots: &'a [Slot],
}

/// VCPUs and time table of a core.
#[derive(Clone, Copy, Debug)]
pub struct Core<'a> {
    /// VCPUs with a budget of their own, in any order.
    pub vcpus: &'a [Placed],
    /// I/O VCPUs; [`Io::rank`] is the priority of the most important one that waits for it.
    pub io: &'a [Io],
    /// Overheads that are more important than all VCPUs ([`crate::overhead`]).
    pub ahead: &'a [Reservation],
    /// The time table.
    pub table: Table<'a>,
}

/// Steps of an iteration after which there is no answer.
const STEPS: usize = 10_000;

impl Table<'_> {
    fn of(&self, partition: u8) -> impl Iterator<Item = &Slot> + Clone {
        let slots = self.slots.iter();
        slots.filter(move |slot| slot.partition == partition)
    }

    /// Returns the shortest time that has `work` of supply for the partition at every start; `None` if the partition
    /// never has supply. The end of a slot is the worst start.
    #[must_use]
    pub fn span(&self, partition: u8, work: Time) -> Option<Time> {
        if partition == 0 || work == 0 {
            return Some(work);
        }
        let per_frame: Time = self.of(partition).map(|slot| slot.length).sum();
        let frames = (work - 1).checked_div(per_frame)?;
        let rest = work - frames * per_frame;
        let from = |start: &Slot| {
            let begin = start.start + start.length;
            let mut remaining = rest;
            // Those behind `begin` in this frame, then those of the next.
            let behind = self.of(partition).filter(|slot| slot.start >= begin);
            let next = self.of(partition).map(|slot| Slot {
                start: slot.start + self.frame,
                ..*slot
            });
            for slot in behind.copied().chain(next) {
                if remaining <= slot.length {
                    return slot.start + remaining - begin;
                }
                remaining -= slot.length;
            }
            self.frame
        };
        let longest = self.of(partition).map(from).max()?;
        frames.checked_mul(self.frame)?.checked_add(longest)
    }
}

impl Placed {
    /// Order of importance: by priority, TP0 before the others, within a band by period.
    #[must_use]
    pub const fn rank(&self) -> (u8, u8, Time) {
        let period = match self.reservation {
            true => self.limits.period,
            false => 0,
        };
        (self.priority, self.partition, period)
    }

    /// At most this much of it executes in a window of `window`, whatever it has waited for before.
    fn demand(&self, window: Time, jitter: Time) -> Option<Time> {
        let releases = window.checked_add(jitter)?.div_ceil(self.limits.period);
        releases.checked_mul(self.limits.capacity)
    }

    /// Returns whether both are reservations of one band.
    const fn is_beside(&self, other: &Self) -> bool {
        self.reservation && other.reservation && self.priority == other.priority
    }

    /// Returns the jitter with which `other` can preempt this VCPU; `None` if it cannot.
    fn held_up_by(&self, other: &Self) -> Option<Time> {
        let strictly = other.priority < self.priority;
        match (self.partition, other.partition) {
            (0, 0) => (other.priority <= self.priority).then_some(0),
            (0, _) => strictly.then_some(other.limits.gap()),
            (_, 0) => (other.priority <= self.priority).then_some(0),
            (jitter, theirs) => (jitter == theirs && other.priority <= self.priority).then_some(0),
        }
    }
}

impl Core<'_> {
    /// Returns the time that the other VCPUs selected by `is_counted` execute in a window of
    /// `window` before `vcpus[index]`.
    fn demand(
        &self,
        index: usize,
        window: Time,
        is_counted: impl Fn(&Placed) -> bool,
    ) -> Option<Time> {
        let server = self.vcpus.get(index)?;
        let others = self.vcpus.iter().enumerate();
        let others = others.filter(|&(other, vcpu)| other != index && is_counted(vcpu));
        let vcpus = others.filter_map(|(_, vcpu)| Some((vcpu, server.held_up_by(vcpu)?)));
        let sum = vcpus
            .map(|(vcpu, jitter)| vcpu.demand(window, jitter))
            .try_fold(0, |sum: Time, demand| sum.checked_add(demand?))?;
        let io = self
            .io
            .iter()
            .filter(|io| io.rank <= usize::from(server.priority));
        let io = io.map(|io| io.demand(window));
        let ahead = self.ahead.iter();
        let ahead = ahead.map(|one| window.div_ceil(one.period).checked_mul(one.capacity));
        io.chain(ahead)
            .try_fold(sum, |sum, demand| sum.checked_add(demand?))
    }

    /// Returns the longest time in which `vcpus[index]` consumes a whole available and requested budget, among the
    /// other VCPUs selected by `is_counted`; `None` if it exceeds T.
    fn response_among(&self, index: usize, is_counted: impl Fn(&Placed) -> bool) -> Option<Time> {
        let server = self.vcpus.get(index)?;
        let Reservation { capacity, period } = server.limits;
        let mut window = capacity;
        for _ in 0..STEPS {
            let work = capacity.checked_add(self.demand(index, window, &is_counted)?)?;
            let span = self.table.span(server.partition, work)?;
            if span > period {
                return None;
            }
            if span <= window {
                return Some(window);
            }
            window = span;
        }
        None
    }

    /// Returns the response of `vcpus[index]` among all VCPUs.
    #[must_use]
    pub fn response(&self, index: usize) -> Option<Time> {
        let server = self.vcpus.get(index)?;
        if !server.reservation {
            return self.response_among(index, |_| true);
        }
        let band = self.band(index, server.limits.capacity);
        let before = self.vcpus.get(..index)?;
        band.response(before.iter().filter(|vcpu| server.is_beside(vcpu)).count())
    }

    /// The reservations of the band of `vcpus[index]`, of which that one has another capacity, behind all that has precedence.
    fn band(
        &self,
        index: usize,
        capacity: Time,
    ) -> Band<impl Iterator<Item = Reservation> + Clone, impl Fn(Time) -> Option<Time>> {
        let vcpus = self.vcpus.iter().enumerate();
        let server = self.vcpus.get(index);
        let beside = move |vcpu: &Placed| server.is_some_and(|server| server.is_beside(vcpu));
        Band {
            servers: vcpus
                .filter(move |(_, vcpu)| beside(vcpu))
                .map(move |(other, vcpu)| Reservation {
                    capacity: match other == index {
                        true => capacity,
                        false => vcpu.limits.capacity,
                    },
                    ..vcpu.limits
                }),
            interference: move |window| self.demand(index, window, |vcpu| !beside(vcpu)),
        }
    }

    /// The first that does not get its C in every T, the most important first, and how much it lacks.
    #[must_use]
    pub fn misfit(&self) -> Option<(usize, Time)> {
        let unfit = (0..self.vcpus.len()).filter(|&index| self.response(index).is_none());
        let index = unfit.min_by_key(|&index| self.vcpus.get(index).map(Placed::rank))?;
        Some((index, self.lacking(index)?))
    }

    /// How much of its C the VCPU lacks, beside the others as they are.
    fn lacking(&self, index: usize) -> Option<Time> {
        let server = self.vcpus.get(index)?;
        let Reservation { capacity, period } = server.limits;
        // What others take of a whole period is not there, wherever in the period they take it.
        let fits = |capacity: Time| {
            if server.reservation {
                return self.band(index, capacity).is_feasible();
            }
            let mut window = capacity;
            for _ in 0..STEPS {
                let others = self.demand(index, window, |_| true);
                let work = others.and_then(|others| others.checked_add(capacity));
                match work.and_then(|work| self.table.span(server.partition, work)) {
                    Some(span) if span > period => return false,
                    Some(span) if span <= window => return true,
                    Some(span) => window = span,
                    None => return false,
                }
            }
            false
        };
        Some(lacking(capacity, fits))
    }

    /// By how much the bands prolong the response of `vcpus[index]`: what its budget, or the time planned
    /// for it, must be inflated by. 0 where no band is at least as important; `None` where it has no
    /// response.
    #[must_use]
    pub fn inflation(&self, index: usize) -> Option<Time> {
        let server = self.vcpus.get(index)?;
        let band = |vcpu: &Placed| vcpu.reservation && vcpu.priority <= server.priority;
        if server.reservation || !self.vcpus.iter().any(band) {
            return Some(0);
        }
        let with = self.response_among(index, |_| true)?;
        let without = self.response_among(index, |vcpu| !vcpu.reservation)?;
        Some(with - without)
    }

    /// By how much a slot must be longer so that what is in it at `priority` or less important has as much time
    /// as without bands: the bands' demand in the slot, itself inflated. `None` where there is no end to it.
    #[must_use]
    pub fn slot_inflation(&self, slot: &Slot, priority: u8) -> Option<Time> {
        let mut length = slot.length;
        for _ in 0..STEPS {
            let bands = self.vcpus.iter().enumerate();
            let bands = bands.filter(|(_, vcpu)| vcpu.reservation && vcpu.priority <= priority);
            let demand = bands
                .map(|(index, vcpu)| {
                    // What it was held up before the slot comes on top of what comes in it.
                    let response = self.response(index)?;
                    vcpu.demand(length, response - vcpu.limits.capacity)
                })
                .try_fold(0, |sum: Time, demand| sum.checked_add(demand?))?;
            let longer = slot.length.checked_add(demand)?;
            if longer == length {
                return Some(demand);
            }
            length = longer;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(limits: (Time, Time), partition: u8, priority: u8, reservation: bool) -> Placed {
        Placed {
            limits: Reservation::new(limits.0, limits.1).expect("valid"),
            partition,
            priority,
            reservation,
        }
    }

    const SLOTS: [Slot; 3] = [
        Slot {
            start: 0,
            length: 30,
            partition: 1,
        },
        Slot {
            start: 40,
            length: 20,
            partition: 2,
        },
        Slot {
            start: 60,
            length: 10,
            partition: 1,
        },
    ];
    const TABLE: Table<'static> = Table {
        frame: 100,
        slots: &SLOTS,
    };

    /// By looking at every start and every instant.
    fn shortest(partition: u8, work: Time) -> Time {
        let own_slots = |time: Time| {
            let place = time % TABLE.frame;
            let inside = |slot: &&Slot| place >= slot.start && place < slot.start + slot.length;
            SLOTS
                .iter()
                .find(inside)
                .is_some_and(|slot| slot.partition == partition)
        };
        let span = |start: Time| {
            let mut remaining = work;
            let mut time = start;
            while remaining > 0 {
                remaining -= u64::from(own_slots(time));
                time += 1;
            }
            time - start
        };
        (0..TABLE.frame).map(span).max().expect("there are starts")
    }

    #[test]
    fn supply_is_that_of_the_worst_start() {
        for partition in [1, 2] {
            for work in 1..130 {
                let expected = Some(shortest(partition, work));
                assert_eq!(
                    TABLE.span(partition, work),
                    expected,
                    "{work} in TP{partition}"
                );
            }
        }
        assert_eq!(TABLE.span(3, 1), None);
        assert_eq!(TABLE.span(0, 7), Some(7));
        assert_eq!(TABLE.span(1, Time::MAX), None);
    }

    /// Without slots and bands it is the textbook (Burns and Wellings, §11.5).
    #[test]
    fn tp0_alone_is_fixed_priorities() {
        let vcpus = [((3, 7), 0), ((3, 12), 1), ((5, 20), 2)]
            .map(|(limits, priority)| placed(limits, 0, priority, false));
        let core = Core {
            vcpus: &vcpus,
            io: &[],
            ahead: &[],
            table: Table {
                frame: 0,
                slots: &[],
            },
        };
        let responses = [0, 1, 2].map(|index| core.response(index));
        assert_eq!(responses, [Some(3), Some(6), Some(20)]);
        assert_eq!(core.misfit(), None);
    }

    #[test]
    fn a_band_inflates_what_is_less_important() {
        let vcpus = [
            placed((2, 50), 0, 2, true),
            placed((10, 100), 0, 3, false),
            placed((20, 200), 1, 3, false),
            placed((5, 100), 0, 1, false),
        ];
        let core = Core {
            vcpus: &vcpus,
            io: &[],
            ahead: &[],
            table: TABLE,
        };
        // Behind 5; behind 2 and 5; in the slots of TP1, the longest way to 37 from 30 on: 10 of this
        // frame, 27 of the next.
        assert_eq!(core.response(0), Some(7));
        assert_eq!(core.response(1), Some(17));
        assert_eq!(core.inflation(1), Some(2));
        assert_eq!(core.inflation(3), Some(0));
        assert_eq!(core.inflation(0), Some(0));
        let slot = SLOTS[0];
        // Held up by 5, at most: 2 in 35, and one more in 32 and 5.
        assert_eq!(core.slot_inflation(&slot, 3), Some(2));
        assert_eq!(core.slot_inflation(&slot, 1), Some(0));
        assert!(core.response(2).is_some());
    }

    /// 3/6 and 4/9 in one band need their deadlines; with 2 in 18 above them they miss.
    #[test]
    fn a_band_fits_by_deadline() {
        let mut vcpus = [
            placed((3, 6), 0, 2, true),
            placed((4, 9), 0, 2, true),
            placed((1, 18), 0, 1, false),
        ];
        let response = |vcpus: &[Placed]| {
            Core {
                vcpus,
                io: &[],
                ahead: &[],
                table: Table {
                    frame: 0,
                    slots: &[],
                },
            }
            .response(1)
        };
        assert_eq!(response(&vcpus), Some(9));
        vcpus[2].limits.capacity = 2;
        assert_eq!(response(&vcpus), None);
    }
}
