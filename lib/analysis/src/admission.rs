//! Admission: whether another VCPU fits beside those of a core
//!
//! Exact response times under rate-monotonic priorities with what I/O VCPUs take ([`crate::vcpu`]) and with what
//! deciding costs ([`crate::overhead`]), where that is known.
//! The host tool asks before anything is built, a scheduler on target before it creates a VCPU: the
//! same code, the same answer. It names the first VCPU that would not get its C in every T, and how
//! much of it would be missing.

use crate::core_overhead::{Admits, CoreOverhead};
use crate::edf::Band;
use crate::overhead::{Jobs, Request};
use crate::utilisation::Fraction;
use crate::vcpu::{Io, main_response_behind, part_response_behind};
use crate::{Reservation, Time};

/// A VCPU that does not get its C in every T.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its place among those request about; in [`Admission`], its identity.
    pub vcpu: usize,
    /// How much of its C cannot be promised, time.
    pub lacks: Time,
}

/// The most important of `mains`, which are ordered by rank, that does not fit beside `io`.
#[must_use]
pub fn misfit(mains: &[Reservation], io: &[Io]) -> Option<Misfit> {
    misfit_behind(&[], mains, io)
}

/// Returns the first VCPU that misses its budget, beside overhead of higher priority ([`crate::overhead`]).
#[must_use]
pub fn misfit_behind(ahead: &[Reservation], mains: &[Reservation], io: &[Io]) -> Option<Misfit> {
    let unfit = |&rank: &usize| main_response_behind(ahead, mains, io, rank).is_none();
    let vcpu = (0..mains.len()).find(unfit)?;
    let capacity = mains.get(vcpu)?.capacity;
    let fits = |response| part_response_behind(ahead, mains, io, vcpu, response).is_some();
    Some(Misfit {
        vcpu,
        lacks: lacking(capacity, fits),
    })
}

/// Under earliest deadline first: the VCPU with the longest period, where `mains` do not all get their budgets behind what has
/// precedence over them ([`crate::edf`]).
#[must_use]
pub fn misfit_by_deadline(
    ahead: &[Reservation],
    mains: &[Reservation],
    io: &[Io],
) -> Option<Misfit> {
    let fits = |vcpu: usize, capacity: Time| {
        let servers = mains.iter().enumerate().map(|(index, main)| Reservation {
            capacity: if index == vcpu {
                capacity
            } else {
                main.capacity
            },
            ..*main
        });
        band(ahead, servers, io).is_feasible()
    };
    let (vcpu, main) = mains
        .iter()
        .enumerate()
        .max_by_key(|(_, main)| main.period)?;
    (!fits(vcpu, main.capacity)).then(|| Misfit {
        vcpu,
        lacks: lacking(main.capacity, |capacity| fits(vcpu, capacity)),
    })
}

/// Servers that deadlines order, behind what is more important than all of them and what I/O VCPUs take at most.
pub fn band<V>(
    ahead: &[Reservation],
    servers: V,
    io: &[Io],
) -> Band<V, impl Fn(Time) -> Option<Time>> {
    Band {
        servers,
        interference: move |window: Time| {
            let ahead = ahead.iter();
            let ahead = ahead.map(|one| window.div_ceil(one.period).checked_mul(one.capacity));
            let io = io.iter().map(|io| io.demand(window));
            ahead
                .chain(io)
                .try_fold(0, |sum: Time, one| sum.checked_add(one?))
        },
    }
}

/// Least that has to be taken off a capacity that does not fit.
pub(crate) fn lacking(capacity: Time, fits: impl Fn(Time) -> bool) -> Time {
    let (mut fitting, mut lacking) = (0, capacity);
    while lacking - fitting > 1 {
        let middle = fitting + (lacking - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            lacking = middle;
        }
    }
    capacity - fitting
}

/// Why a VCPU is not admitted; what was admitted before stays as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// C and T are no budget: C = 0, or C > T.
    BadBudget,
    /// No room for another VCPU.
    Full,
    /// A VCPU, the new one or one that is there, would not get its C.
    Misfit(Misfit),
}

/// The VCPUs of a core, at most `M` of each kind.
#[derive(Clone, Debug)]
pub struct Admission<const M: usize> {
    /// By rank.
    mains: [Request; M],
    identities: [usize; M],
    count: usize,
    io: [Io; M],
    /// Shortest period of the main VCPUs that each may work for.
    shortest: [Time; M],
    io_count: usize,
    by_deadline: bool,
    core_overhead: CoreOverhead,
}

pub(crate) const NOBODY: Request = Request {
    limits: Reservation {
        capacity: 0,
        period: 0,
    },
    jobs: 0,
};

pub(crate) const NOTHING: Io = Io {
    utilisation: Fraction(0),
    longest: 0,
    rank: 0,
};

impl<const M: usize> Default for Admission<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const M: usize> Admission<M> {
    /// A core without VCPUs.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            mains: [NOBODY; M],
            identities: [0; M],
            count: 0,
            io: [NOTHING; M],
            shortest: [0; M],
            io_count: 0,
            by_deadline: false,
            core_overhead: CoreOverhead::new(),
        }
    }

    /// Has deadlines decide instead of rates.
    pub const fn by_deadline(&mut self) {
        self.by_deadline = true;
    }

    /// Returns the scheduling overhead of the core.
    pub const fn core_overhead(&mut self) -> &mut CoreOverhead {
        &mut self.core_overhead
    }

    /// Admits a main VCPU of that identity, on which such tasks run.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn main(
        &mut self,
        identity: usize,
        limits: Reservation,
        tasks: impl IntoIterator<Item = Jobs>,
    ) -> Result<(), Refused> {
        let Reservation { capacity, period } = limits;
        let limits = Reservation::new(capacity, period).ok_or(Refused::BadBudget)?;
        if self.count >= M {
            return Err(Refused::Full);
        }
        let ranked = self.mains.iter().take(self.count);
        let rank = ranked.filter(|main| main.limits.period <= period).count();
        self.or_as_it_was(|all| {
            let request = Request {
                limits,
                jobs: all.core_overhead.tasks(tasks, period)?,
            };
            all.insert(rank, identity, request);
            let answer = all.check();
            if answer.is_err() {
                all.remove(rank);
            }
            answer
        })
    }

    /// Admits an I/O VCPU of that utilisation, which works for Main VCPUs with periods between
    /// `shortest` and `longest`, and on which such bottom halves run.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn io(
        &mut self,
        utilisation: Fraction,
        [shortest, longest]: [Time; 2],
        tasks: impl IntoIterator<Item = Jobs>,
    ) -> Result<(), Refused> {
        let place = self.io.get_mut(self.io_count).ok_or(Refused::Full)?;
        *place = Io {
            utilisation,
            longest,
            rank: 0,
        };
        if let Some(place) = self.shortest.get_mut(self.io_count) {
            *place = shortest;
        }
        self.admit_next_io(tasks, longest)
    }

    fn insert(&mut self, rank: usize, identity: usize, request: Request) {
        self.mains.copy_within(rank..self.count, rank + 1);
        self.identities.copy_within(rank..self.count, rank + 1);
        if let (Some(main), Some(name)) = (self.mains.get_mut(rank), self.identities.get_mut(rank))
        {
            (*main, *name) = (request, identity);
            self.count += 1;
        }
    }

    fn remove(&mut self, rank: usize) {
        self.mains.copy_within(rank + 1..self.count, rank);
        self.identities.copy_within(rank + 1..self.count, rank);
        self.count -= 1;
    }
}

impl<const M: usize> Admits for Admission<M> {
    fn counted(&mut self) -> &mut CoreOverhead {
        &mut self.core_overhead
    }

    fn io_count(&mut self) -> &mut usize {
        &mut self.io_count
    }

    fn check(&mut self) -> Result<(), Refused> {
        let request = self.mains.get(..self.count).unwrap_or(&[]);
        for (io, shortest) in self.io.iter_mut().zip(&self.shortest) {
            let before = request.iter().filter(|main| main.limits.period < *shortest);
            io.rank = before.count();
        }
        let io = self.io.get(..self.io_count).unwrap_or(&[]);
        let mains: [_; M] = self.core_overhead.prolonged(request);
        let mains = mains.get(..self.count).unwrap_or(&[]);
        let ahead = self.core_overhead.ahead();
        let found = if self.by_deadline {
            misfit_by_deadline(ahead, mains, io)
        } else {
            misfit_behind(ahead, mains, io)
        };
        let budget = |vcpu: usize| {
            request
                .get(vcpu)
                .map_or(0, |request| request.limits.capacity)
        };
        match found {
            None => Ok(()),
            Some(found) => Err(Refused::Misfit(Misfit {
                vcpu: self.identities.get(found.vcpu).copied().unwrap_or(0),
                lacks: found.lacks.min(budget(found.vcpu)),
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::overhead::{Keeping, Overhead};
    use proptest::prelude::*;
    use std::vec::Vec;

    fn limits(capacity: Time, period: Time) -> Reservation {
        Reservation { capacity, period }
    }

    #[test]
    fn the_first_that_does_not_fit_is_named_with_what_it_lacks() {
        let mut core = Admission::<4>::new();
        assert_eq!(core.main(7, limits(20, 50), []), Ok(()));
        assert_eq!(core.main(8, limits(25, 100), []), Ok(()));
        // Beside 20/50 and the newcomer 20/60, 25/100 gets 100 − 2·20 − 2·20 = 20.
        let refused = Refused::Misfit(Misfit { vcpu: 8, lacks: 5 });
        assert_eq!(core.main(9, limits(20, 60), []), Err(refused));
        let newcomer = Refused::Misfit(Misfit { vcpu: 9, lacks: 10 });
        assert_eq!(core.main(9, limits(45, 101), []), Err(newcomer));
        assert_eq!(core.main(9, limits(9, 101), []), Ok(()));
        assert_eq!(core.main(9, limits(5, 4), []), Err(Refused::BadBudget));
        assert_eq!(core.main(9, limits(0, 4), []), Err(Refused::BadBudget));
        assert_eq!(core.main(9, limits(1, 1000), []), Ok(()));
        assert_eq!(core.main(9, limits(1, 1000), []), Err(Refused::Full));
    }

    /// 7: C' = 10 + 4·1 for two chunks and two ends. 8 gets 40 − 14 − 3 of 20 + 4, with two releases and one decision that blocks ahead,
    /// and has to give up 1.
    #[test]
    fn decisions_are_asked_for_with_the_budget() {
        let mut core = Admission::<4>::new();
        let overhead = Overhead {
            decision: 1,
            ..Overhead::default()
        };
        let keeping = Keeping {
            chunks: 8,
            quantum: None,
        };
        assert_eq!(core.core_overhead().count(overhead, keeping), Ok(()));
        let each = || [Jobs::each(40)];
        assert_eq!(core.main(7, limits(10, 40), each()), Ok(()));
        let refused = Refused::Misfit(Misfit { vcpu: 8, lacks: 1 });
        assert_eq!(core.main(8, limits(20, 40), each()), Err(refused));
        assert_eq!(
            core.main(8, limits(19, 40), each()),
            Ok(()),
            "all is as it was"
        );
        let mut budgets = Admission::<4>::new();
        assert_eq!(budgets.main(7, limits(10, 40), each()), Ok(()));
        assert_eq!(budgets.main(8, limits(20, 40), each()), Ok(()));
    }

    #[test]
    fn an_io_vcpu_can_displace_an_admitted_vcpu() {
        let mut core = Admission::<4>::new();
        core.main(1, limits(10_000, 40_000), []).expect("fits");
        core.main(2, limits(20_000, 50_000), []).expect("fits");
        let io = |percent| Fraction::ratio(percent, 100).expect("valid");
        let both = [40_000, 50_000];
        let Err(Refused::Misfit(Misfit { vcpu: 2, lacks })) = core.io(io(20), both, []) else {
            panic!("20 % do not fit beside VCPU 2");
        };
        assert!(lacks > 0 && lacks < 20_000, "{lacks}");
        assert_eq!(core.io(io(4), both, []), Ok(()));
    }

    #[test]
    fn by_deadline_the_whole_core_fits() {
        let mut core = Admission::<4>::new();
        core.by_deadline();
        assert_eq!(core.main(1, limits(2, 4), []), Ok(()));
        assert_eq!(core.main(2, limits(3, 8), []), Ok(()));
        let refused = Refused::Misfit(Misfit { vcpu: 3, lacks: 2 });
        assert_eq!(core.main(3, limits(4, 16), []), Err(refused));
        assert_eq!(core.main(3, limits(2, 16), []), Ok(()));
    }

    proptest! {
        /// A VCPU fits if its C is reduced by the reported lack, and does not fit with one unit more.
        #[test]
        fn lacks_is_exact(shapes in prop::collection::vec((1u64..40, 10u64..100), 1..6)) {
            let mut mains: Vec<_> = shapes.iter().map(|&(c, t)| limits(c.min(t), t)).collect();
            mains.sort_by_key(|main| main.period);
            if let Some(Misfit { vcpu, lacks }) = misfit(&mains, &[]) {
                let fits = |lacks| {
                    let mut less = mains[..=vcpu].to_vec();
                    less[vcpu].capacity -= lacks;
                    less[vcpu].capacity == 0 || misfit(&less, &[]).is_none()
                };
                prop_assert!(fits(lacks));
                prop_assert!(lacks == 0 || !fits(lacks - 1));
            }
        }
    }
}
