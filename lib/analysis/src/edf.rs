//! Exact response times under earliest deadline first
//!
//! Servers (C, T), each with its deadline at the end of its period, below whatever has precedence over all of them. A
//! corrected sporadic server and a constant-bandwidth server demand no more than a sporadic task of the same C and T in
//! any window of releases and deadlines, so that the results for sporadic tasks hold for servers.
//!
//! *Feasibility*: h(t) + I(t) ≤ t at all deadlines t of the longest busy period, h(t) = Σ ⌊t/T⌋·C, I(t) the most that has
//! precedence in a window of t (Baruah, Mok, Rosier 1990), by the iteration of Zhang and Burns (2009).
//!
//! *Response* (Spuri, INRIA RR-2772, 1996): the longest response of server i lies in a busy period of deadlines not
//! later than its own, in which all others are released at 0 and i at a. For every a at which the deadline of i
//! coincides with one of another server: R = max(C, L(a) − a), with L(a) the smallest L that satisfies
//! L = I(L) + (1 + ⌊a/T⌋)·C + Σ min(⌈L/Tj⌉, 1 + ⌊(a + T − Tj)/Tj⌋)·Cj over the others with Tj ≤ a + T.

use crate::{Reservation, Time};

/// Iterations after which a feasibility test has no answer and counts as failed.
const STEPS: usize = 10_000;
/// Evaluations of L(a) for a server; beyond, its bound is its period.
const EVALUATIONS: usize = 4_000;

/// Servers that are ordered by their deadlines.
#[derive(Clone, Debug)]
pub struct Band<V, I> {
    /// C and T of each.
    pub servers: V,
    /// Most that what has precedence over all servers executes in a window; never less in a longer one, `None` where that
    /// overflows.
    pub interference: I,
}

impl<V, I> Band<V, I>
where
    V: Iterator<Item = Reservation> + Clone,
    I: Fn(Time) -> Option<Time>,
{
    /// Σ of what the servers need in a window, plus the interference.
    fn demand(&self, window: Time, jobs: impl Fn(&Reservation) -> u64) -> Option<Time> {
        let mut servers = self.servers.clone();
        servers.try_fold((self.interference)(window)?, |sum: Time, server| {
            sum.checked_add(jobs(&server).checked_mul(server.capacity)?)
        })
    }

    /// Length of the longest time without a break in the work; `None` where no end was found.
    fn busy_period(&self) -> Option<Time> {
        let mut window = self.demand(1, |_| 1)?;
        for _ in 0..STEPS {
            let next = self.demand(window, |server| window.div_ceil(server.period))?;
            if next <= window {
                return Some(window);
            }
            window = next;
        }
        None
    }

    /// Returns whether each server gets its C in every T.
    #[must_use]
    pub fn is_feasible(&self) -> bool {
        self.busy_period().is_some_and(|busy| self.meets_all(busy))
    }

    /// Returns whether no deadline up to `busy` is missed.
    fn meets_all(&self, busy: Time) -> bool {
        let latest = |time: Time| {
            let deadlines = self.servers.clone();
            let deadlines = deadlines.map(|server| time / server.period * server.period);
            deadlines.max().unwrap_or(0)
        };
        // What is needed by a deadline is enough for all deadlines between there and it.
        let mut window = latest(busy);
        for _ in 0..STEPS {
            if window == 0 {
                return true;
            }
            match self.demand(window, |server| window / server.period) {
                Some(needed) if needed <= window => window = latest(needed.min(window - 1)),
                _ => return false,
            }
        }
        false
    }

    /// Returns the longest time in which server `index` consumes a whole available and requested budget; `None` if a server does not get its budget.
    #[must_use]
    pub fn response(&self, index: usize) -> Option<Time> {
        let busy = self.busy_period().filter(|&busy| self.meets_all(busy))?;
        self.response_in(index, busy)
    }

    /// Responses of all servers, in their order; `None` in `found` where not all servers get their budgets.
    pub fn responses(&self, found: &mut [Option<Time>]) {
        let busy = self.busy_period().filter(|&busy| self.meets_all(busy));
        for (index, found) in found.iter_mut().enumerate() {
            *found = busy.and_then(|busy| self.response_in(index, busy));
        }
    }

    /// The response of a server of a feasible band with that busy period.
    fn response_in(&self, index: usize, busy: Time) -> Option<Time> {
        let server = self.servers.clone().nth(index)?;
        let limit = server.period.min(busy);
        let mut evaluations = EVALUATIONS;
        let mut longest = server.capacity;
        for other in self.servers.clone() {
            // Own releases with a deadline in common with the other server: a = n·Tj − T.
            let first = server.period.div_ceil(other.period);
            let first = first.checked_mul(other.period)?;
            let mut release = first - server.period;
            while release < busy {
                let Some(end) = self.end(index, server, release, &mut evaluations) else {
                    return Some(limit);
                };
                longest = longest.max(end.saturating_sub(release));
                release = release.checked_add(other.period)?;
            }
        }
        Some(longest.min(limit))
    }

    /// L(a); `None` where it takes too many steps.
    fn end(
        &self,
        index: usize,
        server: Reservation,
        release: Time,
        evaluations: &mut usize,
    ) -> Option<Time> {
        let deadline = release.checked_add(server.period)?;
        let former = (release / server.period)
            .checked_add(1)?
            .checked_mul(server.capacity)?;
        let mut window = former;
        loop {
            *evaluations = evaluations.checked_sub(1)?;
            let others = self.servers.clone().enumerate();
            let mut others = others
                .filter(|(other, server)| *other != index && server.period <= deadline)
                .map(|(_, server)| {
                    let due = deadline / server.period;
                    window
                        .div_ceil(server.period)
                        .min(due)
                        .checked_mul(server.capacity)
                });
            let ahead = (self.interference)(window)?.checked_add(former)?;
            let next = others.try_fold(ahead, |sum: Time, one| sum.checked_add(one?))?;
            if next <= window {
                return Some(window);
            }
            window = next;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn nothing(_: Time) -> Option<Time> {
        Some(0)
    }

    fn responses(
        servers: &[Reservation],
        interference: impl Fn(Time) -> Option<Time>,
    ) -> Vec<Option<Time>> {
        let band = Band {
            servers: servers.iter().copied(),
            interference,
        };
        let mut found = std::vec![None; servers.len()];
        band.responses(&mut found);
        let one_by_one: Vec<_> = (0..servers.len()).map(|one| band.response(one)).collect();
        assert_eq!(found, one_by_one);
        found
    }

    fn server((capacity, period): (Time, Time)) -> Reservation {
        Reservation { capacity, period }
    }

    /// Two servers, by hand: the long one waits for the short one's jobs at 0 and 4, not for the one at 8 with a deadline that is
    /// later than its own. Where the long one needs 5, the core has no time left: each ends at its deadline at 20.
    #[test]
    fn two_servers_by_hand() {
        let servers = [(2, 4), (4, 10)].map(server);
        assert_eq!(responses(&servers, nothing), [Some(2), Some(8)]);
        let full = [(2, 4), (5, 10)].map(server);
        assert_eq!(responses(&full, nothing), [Some(4), Some(10)]);
        let overload = [(2, 4), (6, 10)].map(server);
        assert_eq!(responses(&overload, nothing), [None, None]);
    }

    /// A whole core without interference; with it, 1 in 5 at higher priority, it does not fit although 1/5 + 3/4 < 1: two of the 1
    /// fall before the deadline at 4 … 10.
    #[test]
    fn interference_counts_in_windows() {
        assert_eq!(responses(&[server((4, 4))], nothing), [Some(4)]);
        let ahead = |window: Time| Some(window.div_ceil(5));
        assert_eq!(responses(&[server((3, 4))], ahead), [Some(4)]);
        let twice = |window: Time| Some(window.div_ceil(5) + 1);
        assert_eq!(responses(&[server((3, 4))], twice), [None]);
        assert_eq!(responses(&[server((2, 4))], twice), [Some(4)]);
    }

    #[test]
    fn what_overflows_has_no_response() {
        let servers = [(1, 2), (Time::MAX / 2, Time::MAX)].map(server);
        assert_eq!(responses(&servers, |_| None), [None, None]);
        assert_eq!(responses(&[], nothing), []);
    }

    /// Sporadic tasks under preemptive earliest deadline first, released at their phases and periodically from then on: the
    /// longest response of each. Of equal deadlines that of `last` is served last.
    fn simulate(servers: &[Reservation], phases: &[Time], last: usize, until: Time) -> Vec<Time> {
        let mut jobs: Vec<(Time, bool, Time, usize, Time)> = Vec::new();
        let mut worst = std::vec![0; servers.len()];
        for now in 0..until {
            for (index, server) in servers.iter().enumerate() {
                let since = now.checked_sub(phases[index]);
                if since.is_some_and(|since| since % server.period == 0) {
                    let deadline = now + server.period;
                    jobs.push((deadline, index == last, now, index, server.capacity));
                }
            }
            jobs.sort_unstable();
            if let Some((_, _, released, index, remaining)) = jobs.first_mut() {
                *remaining -= 1;
                if *remaining == 0 {
                    worst[*index] = worst[*index].max(now + 1 - *released);
                    jobs.remove(0);
                }
            }
        }
        worst
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        /// No simulated response exceeds its bound; and each bound is reached where the servers are released as the analysis
        /// assumes: all others together, its own at every offset.
        #[test]
        fn bounds_hold_and_are_exact(
            shapes in prop::collection::vec((1u64..8, 3u64..24), 1..5),
            phases in prop::collection::vec(0u64..24, 5),
        ) {
            let servers: Vec<_> = shapes.iter().map(|&(c, t)| server((c.min(t), t))).collect();
            let found = responses(&servers, nothing);
            let share: f64 = servers.iter().map(|one| one.capacity as f64 / one.period as f64).sum();
            prop_assert_eq!(found[0].is_some(), share <= 1.0 + 1e-9, "{:?}", &servers);
            prop_assume!(found[0].is_some());
            let drawn = simulate(&servers, &phases[..servers.len()], 0, 600);
            for (seen, bound) in drawn.iter().zip(&found) {
                prop_assert!(Some(*seen) <= *bound, "{drawn:?} > {found:?} of {servers:?}");
            }
            // In a long busy period the evaluations end first, and the bound is the period.
            let band = Band { servers: servers.iter().copied(), interference: nothing };
            let busy = band.busy_period().expect("it is feasible");
            for (index, bound) in found.iter().enumerate() {
                let offsets = 0..servers[index].period;
                let seen = offsets.map(|offset| {
                    let mut phases = std::vec![0; servers.len()];
                    phases[index] = offset;
                    simulate(&servers, &phases, index, busy + 24)[index]
                });
                let seen = seen.max();
                let is_sound = if busy < 300 { seen == *bound } else { seen <= *bound };
                prop_assert!(is_sound, "{seen:?} of {bound:?}, server {index} of {servers:?}");
            }
        }
    }
}
