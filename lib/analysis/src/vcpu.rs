//! Response times of Main and I/O VCPUs on one core
//!
//! Main VCPUs count as sporadic tasks of their (C, T) (a corrected sporadic server never demands
//! more; Stanovich et al., RTAS 2010). An I/O VCPU of utilisation U that works for periods up to T
//! executes at most U·t + (2 − U)·U·T in a window of t while it responds within T: at the window's
//! edges two budgets, in between its share (spec 30-scheduling §2, 001 §4.1.3). The response is the
//! smallest R with R = C + Σ_{more important} ⌈R/T_j⌉·C_j + Σ_{io} (U·R + (2 − U)·U·T).

use crate::utilisation::{Fraction, WHOLE};
use crate::{Reservation, Time};

/// An I/O VCPU as it appears to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// U.
    pub utilisation: Fraction,
    /// Longest period of the Main VCPUs it works for.
    pub longest: Time,
    /// Rank of the most important of them, 0 the most important.
    pub rank: usize,
}

impl Io {
    /// Most that it executes in a window of `window`.
    #[must_use]
    pub fn demand(&self, window: Time) -> Option<Time> {
        let share = u128::from(self.utilisation.0);
        let whole = u128::from(WHOLE.0);
        let edge = u128::from(self.longest) * (2 * whole).checked_sub(share)?;
        let edge = edge.div_ceil(whole).checked_mul(share)?;
        let inside = u128::from(window).checked_mul(share)?;
        let sum = edge.checked_add(inside)?.div_ceil(whole);
        u64::try_from(sum).ok()
    }
}

/// Response of `own` behind `higher` Main VCPUs and `io`, all more or equally important; `None`
/// where it exceeds `limit`.
#[must_use]
pub fn response<'a>(
    capacity: Time,
    higher: &'a [Reservation],
    io: impl Iterator<Item = &'a Io> + Clone,
    limit: Time,
) -> Option<Time> {
    response_behind(&[], capacity, higher, io, limit)
}

/// Response of `own` as [`response`], also behind overheads that are more important than all VCPUs ([`crate::overhead`]).
#[must_use]
pub fn response_behind<'a>(
    ahead: &'a [Reservation],
    capacity: Time,
    higher: &'a [Reservation],
    io: impl Iterator<Item = &'a Io> + Clone,
    limit: Time,
) -> Option<Time> {
    response_from(capacity, capacity, ahead.iter().chain(higher), io, limit)
}

/// Returns the response for a caller that knows a lower bound `least` of it.
fn response_from<'a>(
    least: Time,
    capacity: Time,
    higher: impl Iterator<Item = &'a Reservation> + Clone,
    io: impl Iterator<Item = &'a Io> + Clone,
    limit: Time,
) -> Option<Time> {
    let mut window = least.max(capacity);
    loop {
        let mains = higher.clone().try_fold(capacity, |sum, vcpu| {
            let releases = window.div_ceil(vcpu.period);
            sum.checked_add(releases.checked_mul(vcpu.capacity)?)
        })?;
        let demand = io
            .clone()
            .try_fold(mains, |sum, io| sum.checked_add(io.demand(window)?))?;
        if demand > limit {
            return None;
        }
        if demand == window {
            return Some(window);
        }
        window = demand;
    }
}

/// Response of a Main VCPU: the longest from the moment its whole budget is there and demand for to
/// its end. `mains` is ordered by rank; `None` where it exceeds T.
#[must_use]
pub fn main_response(mains: &[Reservation], io: &[Io], rank: usize) -> Option<Time> {
    main_response_behind(&[], mains, io, rank)
}

/// Response of a Main VCPU as [`main_response`], also behind overheads that are more important than all VCPUs.
#[must_use]
pub fn main_response_behind(
    ahead: &[Reservation],
    mains: &[Reservation],
    io: &[Io],
    rank: usize,
) -> Option<Time> {
    let server = mains.get(rank)?;
    part_response_behind(ahead, mains, io, rank, server.capacity)
}

/// Returns the response of a part of a VCPU's budget, behind reservations that are more important
/// than all VCPUs.
pub(crate) fn part_response_behind(
    ahead: &[Reservation],
    mains: &[Reservation],
    io: &[Io],
    rank: usize,
    capacity: Time,
) -> Option<Time> {
    let before = io.iter().filter(|io| io.rank <= rank);
    let higher = ahead.iter().chain(mains.get(..rank)?);
    response_from(capacity, capacity, higher, before, mains.get(rank)?.period)
}

/// Responses of all of them at once, as [`main_response`] gives them one by one; `None` in `found` where it exceeds
/// T. A VCPU responds no sooner than the one before it and its own C on top, which saves most of the
/// iteration.
pub fn main_responses(mains: &[Reservation], io: &[Io], found: &mut [Option<Time>]) {
    main_responses_behind(&[], mains, io, found);
}

/// Computes the responses of all Main VCPUs behind reservations that are more important than all of
/// them.
pub fn main_responses_behind(
    ahead: &[Reservation],
    mains: &[Reservation],
    io: &[Io],
    found: &mut [Option<Time>],
) {
    let mut before = 0;
    for (rank, (server, found)) in mains.iter().zip(found).enumerate() {
        let io = io.iter().filter(|io| io.rank <= rank);
        let least = server.capacity.saturating_add(before);
        let higher = mains[..rank].iter();
        // The solver spends most of its time here for long pipelines, so a core without overheads
        // skips their sum.
        *found = match ahead {
            [] => response_from(least, server.capacity, higher, io, server.period),
            _ => response_from(
                least,
                server.capacity,
                ahead.iter().chain(higher),
                io,
                server.period,
            ),
        };
        before = found.unwrap_or(0);
    }
}

/// Returns the response of work on a Main VCPU with the response `vcpu_response`. `work` is the most that can wait,
/// this work included. Work that never exceeds a whole budget and comes at least a period apart finds a whole budget.
/// In the worst case other work finds the budget used up: ⌈w/C⌉·T until enough budgets are replenished, then the
/// response of the last.
#[must_use]
pub fn work_response(
    vcpu: Reservation,
    vcpu_response: Time,
    work: Time,
    distance: Time,
) -> Option<Time> {
    if work <= vcpu.capacity && distance >= vcpu.period {
        return Some(vcpu_response);
    }
    let periods = work.div_ceil(vcpu.capacity).checked_mul(vcpu.period)?;
    periods.checked_add(vcpu_response)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    fn vcpu(capacity: Time, period: Time) -> Reservation {
        Reservation::new(capacity, period).expect("valid")
    }

    #[test]
    fn without_io_it_is_the_textbook() {
        let mains = [vcpu(3, 7), vcpu(3, 12), vcpu(5, 20)];
        let responses = [0, 1, 2].map(|rank| main_response(&mains, &[], rank));
        assert_eq!(responses, [Some(3), Some(6), Some(20)]);
    }

    /// Figure 4.3 of paper 001: VCPU0 10/40, VCPU1 20/50, I/O of 4 % for both. VCPU0: R = 10 + 0.04·R +
    /// 1.96·0.04·50 = 10 + 3.92 + 0.04·R.
    #[test]
    fn figure_4_3() {
        let mains = [vcpu(10_000, 40_000), vcpu(20_000, 50_000)];
        let io = Io {
            utilisation: Fraction::ratio(4, 100).expect("valid"),
            longest: 50_000,
            rank: 0,
        };
        assert_eq!(main_response(&mains, &[io], 0), Some(14_501));
        let second = main_response(&mains, &[io], 1).expect("fits");
        assert!((35_333..35_340).contains(&second), "{second}");
        assert_eq!(
            main_response(&[vcpu(49, 50)], &[Io { longest: 50, ..io }], 0),
            None
        );
    }

    proptest! {
        #[test]
        fn all_at_once_is_one_by_one(
            mut shapes in prop::collection::vec((1u64..9, 1u64..200), 1..12),
            io in prop::collection::vec((1u64..30, 0usize..12), 0..3),
        ) {
            shapes.sort_by_key(|&(_, period)| period);
            let mains: Vec<_> = shapes.iter().map(|&(c, t)| vcpu(c.min(t), t)).collect();
            let longest = mains.last().map_or(0, |main| main.period);
            let io: Vec<_> = io
                .iter()
                .map(|&(percent, rank)| Io {
                    utilisation: Fraction::ratio(percent, 100).expect("valid"),
                    longest,
                    rank,
                })
                .collect();
            let mut found = vec![None; mains.len()];
            main_responses(&mains, &io, &mut found);
            for (rank, found) in found.iter().enumerate() {
                prop_assert_eq!(*found, main_response(&mains, &io, rank));
            }
        }
    }

    #[test]
    fn work_beyond_a_budget_waits_for_more() {
        let server = vcpu(10, 40);
        assert_eq!(work_response(server, 14, 10, 40), Some(14));
        assert_eq!(work_response(server, 14, 10, 39), Some(54));
        assert_eq!(work_response(server, 14, 25, 400), Some(134));
    }
}
