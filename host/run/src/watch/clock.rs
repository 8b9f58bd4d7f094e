//! The machine's time, as far as the host can see it
//!
//! The newest moment that a heartbeat or a trace tells. A partition may lie about it, and one that is
//! stopped tells nothing; where it matters the board's real-time clock, which runs with the machine's
//! clock, has the last word (to a second).

use std::collections::BTreeSet;

/// Nanoseconds of a second.
const SECOND_NS: u128 = 1_000_000_000;

/// The time of a run.
#[derive(Debug)]
pub struct Clock {
    counter_hz: u64,
    newest_ticks: u64,
    source: Option<usize>,
    liars: BTreeSet<usize>,
}

impl Clock {
    /// A clock for a counter of `counter_hz`.
    #[must_use]
    pub const fn new(counter_hz: u64) -> Self {
        Self {
            counter_hz,
            newest_ticks: 0,
            source: None,
            liars: BTreeSet::new(),
        }
    }

    /// Partition `source` says that it is `ticks`.
    pub fn hear(&mut self, source: usize, ticks: u64) {
        if ticks > self.newest_ticks && !self.liars.contains(&source) {
            self.newest_ticks = ticks;
            self.source = Some(source);
        }
    }

    /// The real-time clock says that so many whole seconds have passed since power-on. Later claims
    /// by more than a second are lies; gives the partition that is no longer listened to.
    pub fn confirm(&mut self, seconds: u64) -> Option<usize> {
        let least = seconds.saturating_mul(self.counter_hz);
        let most = seconds.saturating_add(2).saturating_mul(self.counter_hz);
        if self.newest_ticks <= most {
            self.newest_ticks = self.newest_ticks.max(least);
            return None;
        }
        self.newest_ticks = least;
        let liar = self.source.take();
        self.liars.extend(liar);
        liar
    }

    /// Nanoseconds since power-on.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.ns(self.newest_ticks)
    }

    /// Ticks since power-on.
    #[must_use]
    pub const fn now_ticks(&self) -> u64 {
        self.newest_ticks
    }

    /// Ticks as nanoseconds.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> u64 {
        ticks_to_ns(ticks, self.counter_hz)
    }
}

/// Ticks of a counter of `counter_hz` as nanoseconds.
#[must_use]
pub fn ticks_to_ns(ticks: u64, counter_hz: u64) -> u64 {
    let ns = u128::from(ticks) * SECOND_NS / u128::from(counter_hz.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// Nanoseconds as ticks of a counter of `counter_hz`.
#[must_use]
pub fn ns_to_ticks(ns: u64, counter_hz: u64) -> u64 {
    u64::try_from(u128::from(ns) * u128::from(counter_hz) / SECOND_NS).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HZ: u64 = 62_500_000;

    #[test]
    fn goes_by_the_newest_word() {
        let mut clock = Clock::new(HZ);
        clock.hear(0, HZ);
        clock.hear(1, HZ / 2);
        assert_eq!(clock.now_ns(), 1_000_000_000);
        assert_eq!(clock.confirm(1), None);
        assert_eq!(clock.now_ns(), 1_000_000_000);
    }

    #[test]
    fn a_liar_is_found_out_and_not_heard_again() {
        let mut clock = Clock::new(HZ);
        clock.hear(0, 3 * HZ);
        clock.hear(1, u64::MAX);
        assert_eq!(clock.confirm(3), Some(1));
        clock.hear(1, u64::MAX);
        clock.hear(0, 4 * HZ);
        assert_eq!(clock.now_ns(), 4_000_000_000);
    }

    #[test]
    fn the_real_time_clock_goes_on_when_all_are_silent() {
        let mut clock = Clock::new(HZ);
        assert_eq!(clock.confirm(17), None);
        assert_eq!(clock.now_ns(), 17_000_000_000);
        assert_eq!(clock.confirm(u64::MAX - 2), None);
    }

    #[test]
    fn conversions_do_not_overflow() {
        assert_eq!(ticks_to_ns(u64::MAX, 1), u64::MAX);
        assert_eq!(ns_to_ticks(16, HZ), 1);
    }
}
