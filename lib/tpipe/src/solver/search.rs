//! A better search than the heuristic, from the heuristic's answer on
//!
//! Least processor time for a delay: where periods are free, Σ c_i/T_i is smallest for a given Σ
//! T_i at T_i ∝ √c_i. The search tries that shape and the uniform one, gives stages on overloaded
//! cores more, and of each as long periods as the delay lets be, since there the cores are least
//! loaded; with one message a period, since m > 1 only lengthens paths. Where the proven bound or
//! the loss by lateness forbid that length, it is shortened in steps. The best is polished: stages
//! off the longest path are stretched into its slack. All steps are counted, none depends on the
//! clock.

use super::shape::{Limits, Shape};
use super::{Solution, overloaded};
use crate::assessment::{Judge, Setting, Violation, job, period_limits, periods};
use crate::binding::Bound;
use crate::language::{Requirement, SOURCE};
use bulkhead_analysis::Time;

/// Rounds in which overloaded cores are relieved.
const ROUNDS: usize = 8;
/// Rounds of a quick search.
const QUICK_ROUNDS: usize = 3;
/// By which parts of 16 the length may be shortened.
const PARTS: [u64; 7] = [1, 3, 6, 8, 10, 12, 14];

/// The best that is found from `start` on.
pub(super) fn improve<const N: usize>(
    bound: &Bound<'_, N>,
    judge: &mut Judge<'_, N>,
    required: Requirement,
    start: Solution<N>,
) -> Solution<N> {
    let mut best = start;
    let mut search = Search {
        bound,
        judge,
        required,
    };
    for shape in shapes(bound) {
        let found = search.relieve(shape, ROUNDS);
        // Where neither holds, the search's own last try tells best why.
        if found.better_than(&best) || !best.holds() {
            best = found;
        }
    }
    if best.holds() {
        search.polish(best)
    } else {
        best
    }
}

/// Whatever a few steps find.
pub(super) fn quick<const N: usize>(
    bound: &Bound<'_, N>,
    judge: &mut Judge<'_, N>,
    required: Requirement,
) -> Option<Solution<N>> {
    let mut search = Search {
        bound,
        judge,
        required,
    };
    let mut found = shapes(bound)
        .into_iter()
        .map(|shape| search.relieve(shape, QUICK_ROUNDS));
    found.find(Solution::holds)
}

/// All alike, and by √c.
fn shapes<const N: usize>(bound: &Bound<'_, N>) -> [Shape<N>; 2] {
    let alike = Shape {
        cautious: true,
        ..Shape::uniform()
    };
    [alike, root_shape(bound)]
}

/// Weights ∝ √c.
fn root_shape<const N: usize>(bound: &Bound<'_, N>) -> Shape<N> {
    let mut shape = Shape {
        cautious: true,
        ..Shape::uniform()
    };
    let longest = (0..bound.len())
        .map(|stage| job(bound, stage))
        .max()
        .unwrap_or(1)
        .max(1);
    for (stage, weight) in shape.weight.iter_mut().enumerate().take(bound.len()) {
        let part = (u128::from(job(bound, stage)) << 32) / u128::from(longest);
        *weight = (part.isqrt() as u64).max(1);
    }
    shape
}

struct Search<'a, 'j, const N: usize> {
    bound: &'a Bound<'a, N>,
    judge: &'a mut Judge<'j, N>,
    required: Requirement,
}

impl<const N: usize> Search<'_, '_, N> {
    /// Gives stages on overloaded cores longer periods until no core is.
    fn relieve(&mut self, mut shape: Shape<N>, rounds: usize) -> Solution<N> {
        let mut found = self.longest(&shape);
        for _ in 0..rounds {
            let Some(core) = overloaded(found.assessment.violation) else {
                break;
            };
            for stage in 0..self.bound.len() {
                if self.bound.function(stage).core == core {
                    let more = shape.weight[stage].saturating_mul(5) / 4;
                    shape.weight[stage] = more.clamp(2, 1 << 32);
                }
            }
            found = self.longest(&shape);
        }
        found
    }

    /// The longest periods of a shape that hold, or the longest at all.
    fn longest(&mut self, shape: &Shape<N>) -> Solution<N> {
        let whole = self.fit(shape, self.required.delay_ns);
        let shorter = matches!(
            whole.assessment.violation,
            Some(
                Violation::Delay { .. }
                    | Violation::Loss { .. }
                    | Violation::Overrun { .. }
                    | Violation::Device { .. }
            )
        );
        if !shorter {
            return whole;
        }
        let delay = self.required.delay_ns;
        let tries = PARTS.map(|part| delay - part * (delay / 16));
        for delay in tries {
            let found = self.fit(shape, delay);
            if found.holds() {
                return found;
            }
            if overloaded(found.assessment.violation).is_some() {
                break;
            }
        }
        whole
    }

    fn fit(&mut self, shape: &Shape<N>, delay: Time) -> Solution<N> {
        let setting = shape.fit(self.bound, self.required, delay);
        Solution::of(self.judge, setting)
    }

    /// Stretches stages into the slack of their paths; half as far where that is too far.
    fn polish(&mut self, mut best: Solution<N>) -> Solution<N> {
        for part in [1, 2, 4] {
            let setting = self.stretched(&best.setting, part);
            let found = Solution::of(self.judge, setting);
            if found.better_than(&best) {
                best = found;
            }
        }
        best
    }

    /// Each stage in turn by a part of the slack that the longest path through it has left, as far
    /// as the requirement and its consumers let it.
    fn stretched(&self, setting: &Setting<N>, part: u64) -> Setting<N> {
        let bound = self.bound;
        let stages = bound.pipeline.stages();
        let mut changed = *setting;
        // Backwards first: the longest way from each stage to the end, which stretching does not change for
        // stages that come before.
        let mut rest = [0; N];
        let mut behind = [0; N];
        for index in (0..bound.len()).rev() {
            rest[index] = behind[usize::from(stages[index].to) - 1];
            if stages[index].from != SOURCE {
                let slot: &mut Time = &mut behind[usize::from(stages[index].from) - 1];
                *slot = (*slot).max(rest[index] + periods(bound, setting, index));
            }
        }
        let mut limits: Limits<N> = Limits::new(self.required, true);
        let mut reached = [0; N];
        for (index, stage) in stages.iter().enumerate() {
            let before = match stage.from {
                SOURCE => 0,
                from => reached[usize::from(from) - 1],
            };
            let choices = periods(bound, setting, index);
            let slack = self
                .required
                .delay_ns
                .saturating_sub(before + choices + rest[index]);
            let most = limits
                .most(bound, index)
                .saturating_mul(setting.messages[index]);
            let most = most.min(period_limits(bound, index).1);
            let longer = setting.period[index] + slack / part;
            changed.period[index] = longer.min(most).max(setting.period[index]);
            limits.settle(bound, index, changed.period[index]);
            let slot: &mut Time = &mut reached[usize::from(stage.to) - 1];
            *slot = (*slot).max(before + periods(bound, &changed, index));
        }
        changed
    }
}
