//! Requirements to be had in place of one that cannot be met
//!
//! The solver names the nearest ones beside the other pipes as they were solved. Those have to be solved anew for it, and tasks
//! and VCPUs are judged after that: each requirement is tried in the whole description before it is advised.

use super::remark::{advised, with_rounded_delay};
use super::solution::Solution;
use crate::diagnostic::{Diagnostic, Severity};
use crate::rules::pipes::pipe_unmet;
use bulkhead_tpipe::language::{Flow, Loss, Requirement, Throughput};
use std::collections::BTreeSet;

/// Factors, in quarters, by which a requirement is loosened until all that is described holds.
const QUARTERS: [u64; 5] = [4, 5, 6, 8, 16];
/// All messages, in the unit of [`Loss`].
const ALL: u64 = 1_000_000;

/// A pipe that has an infeasible requirement.
pub(crate) struct Unmet {
    pub(crate) name: String,
    pub(crate) flow: String,
    /// Other requirements and the flows with them: with longer delays, and with lower rates or greater losses; each time the
    /// tightest comes first.
    looser: [Vec<(Requirement, String)>; 2],
}

impl Unmet {
    /// The one on which the solver failed.
    pub(crate) fn of(solution: &Solution<'_>) -> Option<Self> {
        let failed = solution.outcome()?.err()?;
        let flow = &failed.flow.value;
        let in_the_flow = |requirement: Requirement| {
            let requirement = with_rounded_delay(requirement);
            Some((requirement, failed.remark.requiring(flow, requirement)?))
        };
        let loosened = |nearest: Option<Requirement>,
                        change: fn(Requirement, u64) -> Requirement| {
            let all = nearest.into_iter();
            let all = all.flat_map(|one| QUARTERS.map(|quarters| change(one, quarters)));
            all.filter_map(in_the_flow).collect()
        };
        Some(Self {
            name: failed.name.value.clone(),
            flow: flow.clone(),
            looser: [
                loosened(failed.least.delay, with_delay),
                loosened(failed.least.flow, with_flow),
            ],
        })
    }

    /// Puts requirements into the advice of `found` with which nothing is wrong that is not wrong without them. `check` checks the
    /// description with another flow of the pipe.
    pub(crate) fn advise(
        &self,
        found: &mut [Diagnostic],
        mut check: impl FnMut(&str) -> Vec<Diagnostic>,
    ) {
        let error = |one: &Diagnostic| {
            let is_error = one.severity == Severity::Error;
            is_error.then(|| (one.id, one.message.clone()))
        };
        let is_unmet = |one: &Diagnostic| one.id == pipe_unmet::RULE.id;
        let others = found.iter().filter(|one| !is_unmet(one));
        let unrelated: BTreeSet<_> = others.filter_map(error).collect();
        let mut holds = |flow: &str| {
            let found = check(flow);
            found
                .iter()
                .filter_map(error)
                .all(|one| unrelated.contains(&one))
        };
        let accepted = self.looser.iter().filter_map(|all| {
            let mut all = all.iter();
            all.find_map(|(requirement, flow)| holds(flow).then_some(*requirement))
        });
        let help = advised(&accepted.collect::<Vec<_>>());
        if let Some(unmet) = found.iter_mut().find(|one| is_unmet(one)) {
            unmet.help = Some(help);
        }
    }

    /// Returns `true` if there are requirements to try.
    pub(crate) fn has_looser(&self) -> bool {
        self.looser.iter().any(|all| !all.is_empty())
    }
}

const fn with_delay(nearest: Requirement, quarters: u64) -> Requirement {
    Requirement {
        delay_ns: nearest.delay_ns.saturating_mul(quarters) / 4,
        ..nearest
    }
}

fn with_flow(nearest: Requirement, quarters: u64) -> Requirement {
    let flow = match nearest.flow {
        // Loses a larger part, but for what arrives.
        Flow::Loss(Loss(parts)) => {
            let arrives = (ALL - u64::from(parts).min(ALL)) * 4 / quarters;
            Flow::Loss(Loss((ALL - arrives.max(1)) as u32))
        }
        Flow::Throughput(Throughput(rate)) => {
            Flow::Throughput(Throughput((rate.saturating_mul(4) / quarters).max(1)))
        }
    };
    Requirement { flow, ..nearest }
}
