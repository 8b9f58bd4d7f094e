//! Turn by turn: a process for each runtime, of which all but one are stopped; what compares them, and how sure that is.

use crate::runtime::{Bench, Player, Runtime, Trouble, least};

/// Turns of a process before those that count: they find pages and caches as the start left them.
const WARMING: usize = 3;
/// How likely the median is below its interval, and how likely above. Several rows are of kernels in which the runtime
/// hardly matters, and of these, too, all have to hold.
const TAIL: f64 = 0.005;

/// One runtime's runs of one kernel.
#[derive(Default)]
pub(crate) struct Runs {
    pub(crate) seconds: Vec<f64>,
    pub(crate) checksum: f64,
    pub(crate) peak_kib: f64,
}

/// One runtime over another, run by run: both ran at nearly the same time, so what else the machine does
/// cancels out, and the median ignores the run in which only one of them met it.
#[derive(Clone, Copy)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    /// The median of ever so many runs is in between, but for [`TAIL`] on each side.
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Runs {
    pub(crate) fn best(&self) -> f64 {
        least(self.seconds.iter().copied())
    }

    pub(crate) fn over(&self, other: &Self) -> Ratio {
        let both = self.seconds.iter().zip(&other.seconds);
        let mut ratios: Vec<f64> = both.map(|(time, other)| time / other).collect();
        ratios.sort_by(f64::total_cmp);
        let from = outside(ratios.len());
        let at = |place: usize| ratios.get(place).copied().unwrap_or(f64::NAN);
        Ratio {
            median: f64::midpoint(at(ratios.len().saturating_sub(1) / 2), at(ratios.len() / 2)),
            least: at(from),
            most: at(ratios.len().saturating_sub(1 + from)),
        }
    }
}

/// How many of the least of `count` sorted values, and of the greatest, are outside the interval that has the
/// median: as many as a fair coin shows heads, or fewer, in at most [`TAIL`] of `count` throws.
fn outside(count: usize) -> usize {
    let mut term = 0.5f64.powi(count as i32);
    let mut sum = term;
    for heads in 0..count / 2 {
        term *= (count - heads) as f64 / (heads + 1) as f64;
        sum += term;
        if sum > TAIL {
            return heads;
        }
    }
    0
}

/// Work of the processes at each turn.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) kernel: &'a str,
    pub(crate) arguments: Vec<String>,
    pub(crate) threads: u32,
    /// Number of turns that count.
    pub(crate) turns: usize,
}

/// Adds a process for each runtime, and their turns. Another one begins at each turn, because the order makes a difference. With one
/// thread the processor's time counts, with more the clock's, because waiting counts too.
pub(crate) fn take_turns(
    bench: &Bench,
    runtimes: &[&Runtime],
    work: &Work<'_>,
    all: &mut [Runs],
) -> Result<(), Trouble> {
    let arguments: Vec<&str> = work.arguments.iter().map(String::as_str).collect();
    let players = runtimes
        .iter()
        .map(|runtime| bench.player(runtime, work.threads, work.kernel, &arguments));
    let mut players = players.collect::<Result<Vec<Player>, _>>()?;
    for turn in 0..WARMING + if bench.quick { 7 } else { work.turns } {
        for place in 0..players.len() {
            let place = (place + turn) % players.len();
            let (Some(player), Some(runs)) = (players.get_mut(place), all.get_mut(place)) else {
                continue;
            };
            let line = player.play()?;
            let [clock, processor, checksum, _] = line.as_slice() else {
                return Err(Trouble(format!("{} printed nothing", work.kernel)));
            };
            if turn >= WARMING {
                let is_alone = work.threads == 1;
                runs.seconds
                    .push(if is_alone { *processor } else { *clock });
            }
            runs.checksum = *checksum;
        }
    }
    Ok(())
}

/// The first one over that of the others which it is ahead of least, or behind most.
pub(crate) fn closest(all: &[Runs]) -> Option<Ratio> {
    let (ours, peers) = all.split_first()?;
    let ratios = peers.iter().map(|peer| ours.over(peer));
    ratios.max_by(|a, b| a.median.total_cmp(&b.median))
}

/// Runs again, up to `rounds` times, while it is not certain that the ratio is below `bound`.
pub(crate) fn settle(
    bench: &Bench,
    rounds: usize,
    bound: f64,
    all: &mut [Runs],
    mut again: impl FnMut(&mut [Runs]) -> Result<(), Trouble>,
) -> Result<Ratio, Trouble> {
    // Only a good ratio ends the runs early: a search that ended at the first bad one would find one.
    for _ in 0..if bench.quick { 1 } else { rounds } {
        again(all)?;
        if closest(all).is_some_and(|ratio| ratio.most < bound) {
            break;
        }
    }
    closest(all).ok_or(Trouble("no peer".into()))
}

/// All computed the same.
pub(crate) fn agree(all: &[Runs]) -> Result<(), String> {
    let (ours, peers) = all.split_first().ok_or("no runtime")?;
    match peers.iter().find(|peer| peer.checksum != ours.checksum) {
        Some(peer) => Err(format!(
            "{} on ours, {} on a peer",
            ours.checksum, peer.checksum
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_sign_test() {
        assert_eq!([7, 8, 14, 21, 84].map(outside), [0, 0, 1, 4, 29]);
    }

    #[test]
    fn what_both_met_cancels_out() {
        let runs = |seconds: [f64; 7]| Runs {
            seconds: seconds.to_vec(),
            ..Runs::default()
        };
        let ours = runs([1.0, 2.0, 3.0, 1.0, 1.0, 9.0, 1.0]);
        let peer = runs([2.0, 4.0, 6.0, 2.0, 2.0, 2.0, 2.0]);
        let ratio = ours.over(&peer);
        assert_eq!([ratio.least, ratio.median, ratio.most], [0.5, 0.5, 4.5]);
    }
}
