//! Periods in given proportions, as long as the requirement lets them be

use crate::assessment::{Setting, fixed_periods, longest, period_limits};
use crate::binding::Bound;
use crate::language::{Flow, MILLION, Requirement, SOURCE};
use bulkhead_analysis::Time;

/// Bits after the point of a scale.
const POINT: u32 = 20;

/// Proportions of periods by stage; at most 2^32 each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape<const N: usize> {
    pub(super) weight: [u64; N],
    /// True if stages with several producers, or in other address spaces than theirs, are kept fast
    /// enough to read each of them in time.
    pub(super) cautious: bool,
}

impl<const N: usize> Shape<N> {
    /// All alike.
    pub(super) const fn uniform() -> Self {
        Self {
            weight: [1 << 16; N],
            cautious: false,
        }
    }

    /// The setting with these proportions and one message a period, with a longest path as close
    /// below `delay` as possible. Limits of the requirement, the cores and the devices bend the
    /// proportions.
    pub(super) fn fit(
        &self,
        bound: &Bound<'_, N>,
        required: Requirement,
        delay: Time,
    ) -> Setting<N> {
        let (mut low, mut high) = (0, delay << POINT.min(delay.leading_zeros()));
        let mut best = self.at(bound, required, low);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let setting = self.at(bound, required, middle);
            let length = longest(bound, |stage| {
                setting.period[stage].saturating_add(fixed_periods(bound, stage))
            });
            if length <= delay {
                (low, best) = (middle, setting);
            } else {
                high = middle - 1;
            }
            // Nanoseconds do not change any more.
            if high - low < 1 << 4 {
                break;
            }
        }
        best
    }

    /// The setting at a scale; no period falls where the scale rises.
    fn at(&self, bound: &Bound<'_, N>, required: Requirement, scale: u64) -> Setting<N> {
        let mut setting = Setting {
            period: [1; N],
            messages: [1; N],
        };
        let mut limits = Limits::new(required, self.cautious);
        for stage in 0..bound.len() {
            let scaled = (u128::from(scale) * u128::from(self.weight[stage])) >> (POINT + 16);
            let (least, most) = period_limits(bound, stage);
            let period = u64::try_from(scaled).unwrap_or(most).min(most);
            let most = limits.most(bound, stage);
            setting.period[stage] = period.min(most).max(least);
            limits.settle(bound, stage, setting.period[stage]);
        }
        setting
    }
}

/// How long the requirement lets periods be, stage after stage.
pub(super) struct Limits<const N: usize> {
    required: Requirement,
    cautious: bool,
    junctions: [Producers; N],
}

impl<const N: usize> Limits<N> {
    pub(super) const fn new(required: Requirement, cautious: bool) -> Self {
        Self {
            required,
            cautious,
            junctions: [Producers {
                count: 0,
                shortest: Time::MAX,
                first: Time::MAX,
                distance: Time::MAX,
                joined: false,
            }; N],
        }
    }

    /// The longest period of a stage, given those before it.
    pub(super) fn most(&self, bound: &Bound<'_, N>, stage: usize) -> Time {
        match (self.required.flow, bound.pipeline.stages()[stage].from) {
            (Flow::Throughput(throughput), from) => {
                let interval = throughput.interval_ns();
                match (self.cautious, from) {
                    (false, _) => interval,
                    // Messages come as often as devices bring them, however few are required.
                    (true, SOURCE) => interval.min(distance(bound, stage)),
                    (true, from) => interval.min(self.junctions[usize::from(from) - 1].distance),
                }
            }
            (Flow::Loss(loss), SOURCE) => match self.cautious && bound.crosses(stage) {
                // As behind a stage of another address space: half of it is left for lateness.
                true if distance(bound, stage) != Time::MAX => distance(bound, stage) / 2,
                _ => slower(distance(bound, stage), loss.0),
            },
            (Flow::Loss(loss), from) => {
                let before = self.junctions[usize::from(from) - 1];
                let misses = before.count > 1 || bound.crosses(stage);
                match (self.cautious, misses, before.joined) {
                    // A job may begin just before the message of another producer, or of one that does not
                    // release it: half a period is left for lateness.
                    (true, true, _) => before.shortest / 2,
                    // Behind that stage rates start anew, but the loss allowed may be spent.
                    (true, _, true) => before.shortest,
                    _ => slower(before.shortest.min(before.first), loss.0),
                }
            }
        }
    }

    /// Goes on behind a stage.
    pub(super) fn settle(&mut self, bound: &Bound<'_, N>, stage: usize, period: Time) {
        let crosses = bound.crosses(stage);
        let brought = distance(bound, stage);
        let stage = &bound.pipeline.stages()[stage];
        let (first, distance, joined) = match stage.from {
            SOURCE => (period, brought, false),
            from => {
                let before = self.junctions[usize::from(from) - 1];
                let joined = before.joined || before.count > 1 || crosses;
                (before.first, before.distance, joined)
            }
        };
        let slot = &mut self.junctions[usize::from(stage.to) - 1];
        slot.count += 1;
        slot.shortest = slot.shortest.min(period);
        slot.first = slot.first.min(first);
        slot.distance = slot.distance.min(distance);
        slot.joined |= joined;
    }
}

/// The stages that feed a junction.
#[derive(Clone, Copy, Debug)]
struct Producers {
    count: u32,
    /// Shortest period among them.
    shortest: Time,
    /// Shortest period among the first stages before them.
    first: Time,
    /// Shortest distance of messages that devices bring to these.
    distance: Time,
    /// True if a stage with several producers, or that reads by the clock, is among them or before
    /// them.
    joined: bool,
}

/// The shortest distance of messages that a device brings to a first stage, where one is declared.
fn distance<const N: usize>(bound: &Bound<'_, N>, stage: usize) -> Time {
    let source = bound.function(stage).source;
    let distance = source.and_then(|device| bound.repository.devices[device].distance);
    distance.unwrap_or(Time::MAX)
}

/// The longest period behind another at a loss: T/(1 − loss), rounded down.
pub(super) fn slower(period: Time, loss: u32) -> Time {
    let kept = u128::from(MILLION - u64::from(loss));
    let slower = u128::from(period) * u128::from(MILLION) / kept;
    u64::try_from(slower).unwrap_or(Time::MAX)
}
