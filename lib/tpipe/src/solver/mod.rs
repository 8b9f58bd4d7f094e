//! Budgets, periods and buffers that keep a requirement
//!
//! [`heuristic`] is the paper's (003 §3.1.4), the baseline. The module `search` starts from its answer,
//! tries better shapes of periods, and keeps what the [`Judge`] accepts and takes less of the
//! processor, so it is never worse. Where nothing is accepted, the smallest requirement that can be
//! met is looked for by bisection.

pub mod heuristic;
mod search;
mod shape;

use crate::assessment::{Assessment, Judge, Setting, Violation};
use crate::binding::Bound;
use crate::language::{Flow, Loss, MILLION, Pipeline, Requirement, Throughput};
use bulkhead_analysis::utilisation::Fraction;

/// A setting and what it promises.
#[derive(Clone, Copy, Debug)]
pub struct Solution<const N: usize> {
    /// C (as m), T and m of each stage.
    pub setting: Setting<N>,
    /// Its figures.
    pub assessment: Assessment<N>,
}

impl<const N: usize> Solution<N> {
    /// Judges a setting.
    #[must_use]
    pub fn of(judge: &mut Judge<'_, N>, setting: Setting<N>) -> Self {
        let assessment = judge.assess(&setting);
        Self {
            setting,
            assessment,
        }
    }

    /// Returns whether all of it holds.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.assessment.violation.is_none()
    }

    /// Returns whether it is to be preferred: it holds and the other does not, or takes less of the
    /// processors.
    #[must_use]
    pub fn better_than(&self, other: &Self) -> bool {
        let less = self.assessment.utilisation < other.assessment.utilisation;
        self.holds() && (!other.holds() || less)
    }
}

/// Result of the solver.
#[derive(Clone, Copy, Debug)]
pub struct Answer<const N: usize> {
    /// The best; where its violation is not `None`, nothing keeps the requirement, and that is why.
    pub best: Solution<N>,
    /// The paper's heuristic's answer.
    pub heuristic: Solution<N>,
    /// True if the heuristic itself takes its answer for good: the paper's conditions hold.
    pub heuristic_content: bool,
    /// The least that can be met, where the requirement cannot.
    pub least: Option<Least>,
}

/// Requirements next to one that cannot be met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Least {
    /// The shortest delay found with the required loss or throughput.
    pub delay: Option<Requirement>,
    /// The smallest loss or the highest throughput found with the required delay.
    pub flow: Option<Requirement>,
}

/// Why it takes so little of the processor: the share that the search saves of the
/// heuristic's, where both hold.
#[must_use]
pub fn saved<const N: usize>(answer: &Answer<N>) -> Option<Fraction> {
    let (ours, theirs) = (&answer.best, &answer.heuristic);
    let both = ours.holds() && theirs.holds();
    let less = theirs
        .assessment
        .utilisation
        .0
        .checked_sub(ours.assessment.utilisation.0)?;
    both.then(|| Fraction::ratio(less, theirs.assessment.utilisation.0))?
}

/// Multiples of its usual periods for a pipe without requirements, in order, until it fits and all
/// others keep theirs: such a pipe never degrades another.
pub fn yields<const N: usize>(pipeline: &Pipeline<'_, N>) -> impl Iterator<Item = u64> + use<N> {
    let most = match pipeline.requirement {
        Some(_) => 0,
        None => 10,
    };
    (0..=most).map(|doublings| 1 << doublings)
}

/// Solves a pipeline.
#[must_use]
pub fn solve<const N: usize>(bound: &Bound<'_, N>) -> Answer<N> {
    let mut answer = solve_yielding(bound, 1);
    for times in yields(bound.pipeline).skip(1) {
        if answer.best.holds() {
            break;
        }
        answer = solve_yielding(bound, times);
    }
    answer
}

/// Solves a pipe without requirements at `times` its usual periods.
#[must_use]
pub fn solve_yielding<const N: usize>(bound: &Bound<'_, N>, times: u64) -> Answer<N> {
    let mut judge = Judge::new(bound);
    let (setting, content) = heuristic::setting(bound, times);
    let heuristic = Solution::of(&mut judge, setting);
    let best = match bound.pipeline.requirement {
        Some(required) => search::improve(bound, &mut judge, required, heuristic),
        None => heuristic,
    };
    let unmet = bound.pipeline.requirement.filter(|_| !best.holds());
    Answer {
        best,
        heuristic,
        heuristic_content: content,
        least: unmet.map(|required| least(bound, required)),
    }
}

/// Steps of a bisection: a part in 256 of the first interval.
const STEPS: u32 = 8;
/// Doublings of a delay before it counts as out of reach.
const DOUBLINGS: u32 = 10;

/// Returns whether a requirement can be met by a quick search.
fn met<const N: usize>(bound: &Bound<'_, N>, requirement: Requirement) -> bool {
    let mut pipeline: Pipeline<'_, N> = bound.pipeline.clone();
    pipeline.requirement = Some(requirement);
    let Ok(bound) = Bound::new(&pipeline, bound.repository) else {
        return false;
    };
    search::quick(&bound, &mut Judge::new(&bound), requirement).is_some_and(|found| found.holds())
}

fn least<const N: usize>(bound: &Bound<'_, N>, required: Requirement) -> Least {
    let with_delay = |delay_ns| Requirement {
        delay_ns,
        ..required
    };
    let with_flow = |flow| Requirement { flow, ..required };
    let reach = (1..=DOUBLINGS).map_while(|times| required.delay_ns.checked_shl(times));
    let met = |requirement| met(bound, requirement);
    let reachable = |delay: &u64| *delay > required.delay_ns && met(with_delay(*delay));
    let delay = reach.into_iter().find(reachable).map(|met_at| {
        let low = (met_at / 2).max(required.delay_ns);
        with_delay(bisect(low, met_at, |delay| met(with_delay(delay))))
    });
    let flow = match required.flow {
        Flow::Loss(Loss(parts)) => {
            let requirement = |parts: u64| with_flow(Flow::Loss(Loss(parts as u32)));
            let most = MILLION - 1;
            met(requirement(most))
                .then(|| requirement(bisect(parts.into(), most, |parts| met(requirement(parts)))))
        }
        Flow::Throughput(Throughput(rate)) => {
            let requirement = |rate: u64| with_flow(Flow::Throughput(Throughput(rate)));
            met(requirement(1)).then(|| {
                let less = bisect(0, rate - 1, |less| met(requirement(rate - less)));
                requirement(rate - less)
            })
        }
    };
    Least { delay, flow }
}

/// The least value that holds, between one that does not and one that does, nearly.
fn bisect(fails: u64, holds: u64, test: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (fails, holds);
    for _ in 0..STEPS {
        let middle = low + (high - low) / 2;
        if middle == low {
            break;
        }
        if test(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    high
}

/// Returns whether a violation says that a core has too little time.
pub(crate) const fn overloaded(violation: Option<Violation>) -> Option<usize> {
    match violation {
        Some(Violation::Core { core, .. } | Violation::Response { core, .. }) => Some(core),
        _ => None,
    }
}
