//! Does a core starve the machine's clock?
//!
//! Where instructions are the clock, cores take turns. A core that ends its turns at once, for example because it waits
//! for events in a loop, uses the host's time but not the machine's. A core that takes exceptions without executing instructions never ends its turn.

use bulkhead_plan::manifest::Manifest;
use std::time::{Duration, Instant};

use crate::figures::duration;
use crate::machine::{Machine, Turns};

/// Parts of [`RunOptions::patience`](super::RunOptions) after which the turns are judged.
const WINDOWS: u32 = 4;
/// The machine's clock starves if the host's makes so many times its progress,
const SLOWER: u128 = 20;
/// and the busiest core's turns are this short on average, nanoseconds. A core with work uses its turn, microseconds.
const SHORTEST_NS: u64 = 500;

/// Follows the turns.
pub(super) struct Starvation<'m> {
    manifest: &'m Manifest,
    window: Duration,
    since: Instant,
    former: Turns,
}

impl<'m> Starvation<'m> {
    pub(super) fn new(manifest: &'m Manifest, patience: Duration) -> Self {
        Self {
            manifest,
            window: patience / WINDOWS,
            since: Instant::now(),
            former: Turns::default(),
        }
    }

    /// The core that starved the clock since the last window began, in words.
    pub(super) fn look(&mut self, machine: &Machine) -> Option<String> {
        let passed = self.since.elapsed();
        if passed < self.window {
            return None;
        }
        let turns = machine.turns(self.manifest.machine.cores);
        let former = std::mem::replace(&mut self.former, turns);
        self.since = Instant::now();
        let (core, turn_ns) = starving(&former, &self.former, passed)?;
        Some(format!(
            "{} ended its turns after {} on average",
            self.name(core),
            duration(turn_ns)
        ))
    }

    /// The core that has its turn, in words.
    pub(super) fn holder(&self, machine: &Machine) -> Option<String> {
        let turns = machine.turns(self.manifest.machine.cores);
        Some(format!(
            "{} did not end its turn",
            self.name(turns.current?)
        ))
    }

    fn name(&self, core: usize) -> String {
        let mut partitions = self.manifest.partitions.iter();
        match partitions.find(|one| one.cores.contains(&core)) {
            Some(partition) => format!("core {core} of partition `{}`", partition.name),
            None => format!("core {core}"),
        }
    }
}

/// The core that starved the clock between two records, and the average length of its turns.
fn starving(former: &Turns, newest: &Turns, passed: Duration) -> Option<(usize, u64)> {
    if former.cores.is_empty() {
        return None;
    }
    let all = |turns: &Turns| -> u64 { turns.cores.iter().map(|[_, ns]| ns).sum() };
    let progress = all(newest).saturating_sub(all(former));
    let (core, turn_ns) = newest.busiest_since(former)?;
    (u128::from(progress) * SLOWER < passed.as_nanos() && turn_ns < SHORTEST_NS)
        .then_some((core, turn_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_starves_if_it_is_slow_and_turns_are_short() {
        let turns = |turns: u64, ns: u64| Turns {
            current: Some(0),
            cores: vec![[turns, 0], [turns, ns]],
        };
        let second = Duration::from_secs(1);
        let cases = [
            // Four nanoseconds a turn.
            (turns(1_000_000, 4_000_000), Some((1, 4))),
            // A loaded host, and whole turns.
            (turns(800, 4_000_000), None),
            // Short turns, as of a core that mostly sleeps, and good progress.
            (turns(1_000_000, 400_000_000), None),
        ];
        for (newest, expected) in cases {
            assert_eq!(
                starving(&turns(0, 0), &newest, second),
                expected,
                "{newest:?}"
            );
        }
        let first = Turns::default();
        assert_eq!(starving(&first, &turns(1_000_000, 4_000_000), second), None);
    }
}
