//! Values on their way into a pipe, no closer together than it bears
//!
//! The bound of the pipe counts on a distance of its messages that no network keeps. A value that comes too early waits for its time;
//! its path begins when it is put in, so no bound suffers. What comes for longer than that faster than it may, is dropped: of four slots the
//! older, of a ring the newer.

use bulkhead_linux::{Kind, frequency_hz};
use std::collections::VecDeque;
use std::time::Duration;

/// Values of a ring that wait: what a network that stood still for a moment brings at once.
const WAITING: usize = 16;

/// Values that wait for their time. Times are ticks.
pub(crate) struct Spaced {
    distance: u64,
    /// When something was put in last.
    last: u64,
    waiting: VecDeque<[u64; 2]>,
    newest: bool,
}

impl Spaced {
    /// Of a stage that reads such a channel. A former start may have put something in just `now`.
    pub(crate) fn new(distance: Duration, kind: Kind, now: u64) -> Self {
        let ticks = distance.as_nanos() * u128::from(frequency_hz());
        Self {
            distance: u64::try_from(ticks.div_ceil(1_000_000_000)).unwrap_or(u64::MAX),
            last: now,
            waiting: VecDeque::new(),
            newest: kind != Kind::Ring,
        }
    }

    /// Takes a value in; how many were dropped for it.
    pub(crate) fn add(&mut self, data: [u64; 2]) -> u64 {
        let most = if self.newest { 1 } else { WAITING };
        let is_full = self.waiting.len() >= most;
        if is_full && self.newest {
            self.waiting.clear();
        }
        if self.newest || !is_full {
            self.waiting.push_back(data);
        }
        is_full.into()
    }

    /// How long until something is due; nothing where nothing waits.
    pub(crate) fn until(&self, now: u64) -> Option<Duration> {
        self.waiting.front()?;
        let ticks = self.distance.saturating_sub(now.saturating_sub(self.last));
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(frequency_hz());
        Some(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }

    /// Returns the message that is due at `now`.
    pub(crate) fn due(&mut self, now: u64) -> Option<[u64; 2]> {
        if now.saturating_sub(self.last) < self.distance {
            return None;
        }
        self.waiting.pop_front()
    }

    /// Something was put in, or was tried to.
    pub(crate) fn put(&mut self, now: u64) {
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::{Spaced, WAITING};
    use bulkhead_linux::{Kind, frequency_hz};
    use std::time::Duration;

    const DISTANCE: Duration = Duration::from_millis(10);

    /// Ticks of the distance.
    fn distance() -> u64 {
        let ticks = DISTANCE.as_nanos() * u128::from(frequency_hz());
        ticks.div_ceil(1_000_000_000) as u64
    }

    /// When values are put in that come each so many hundredths of the distance, and how many were dropped.
    fn put_in(kind: Kind, hundredths: u64, values: u64) -> (Vec<u64>, u64) {
        let step = distance().div_ceil(100);
        let mut spaced = Spaced::new(DISTANCE, kind, 0);
        let (mut put, mut dropped) = (Vec::new(), 0);
        for tick in 0..(hundredths + 100) * (values + 1) {
            let now = tick * step;
            if tick % hundredths == 0 && tick / hundredths < values {
                dropped += spaced.add([tick, 0]);
            }
            if spaced.due(now).is_some() {
                spaced.put(now);
                put.push(now);
            }
        }
        (put, dropped)
    }

    #[test]
    fn none_is_closer_than_the_distance() {
        for kind in [Kind::FourSlot, Kind::Ring] {
            // Ten times too fast, a little, and slower than it has to be.
            for hundredths in [10, 90, 110] {
                let (put, dropped) = put_in(kind, hundredths, 40);
                let distances = put.windows(2).map(|pair| pair[1] - pair[0]);
                let closest = distances.chain([put[0]]).min().expect("some were put in");
                assert!(closest >= distance(), "{kind:?} {hundredths}: {put:?}");
                assert_eq!(put.len() as u64 + dropped, 40);
                assert_eq!(
                    dropped > 0,
                    hundredths == 10 || hundredths == 90 && kind != Kind::Ring
                );
            }
        }
    }

    #[test]
    fn what_comes_at_once_waits_in_a_ring_and_is_the_newest_in_four_slots() {
        let mut ring = Spaced::new(DISTANCE, Kind::Ring, 0);
        let mut slots = Spaced::new(DISTANCE, Kind::FourSlot, 0);
        let dropped: u64 = (0..WAITING as u64 + 3)
            .map(|value| ring.add([value, 0]))
            .sum();
        assert_eq!(dropped, 3);
        assert_eq!((0..5).map(|value| slots.add([value, 0])).sum::<u64>(), 4);
        assert_eq!(ring.until(0), slots.until(0));
        assert_eq!((ring.due(1), slots.due(1)), (None, None));
        let at = distance();
        assert_eq!((ring.due(at), slots.due(at)), (Some([0, 0]), Some([4, 0])));
        assert_eq!(slots.until(at), None);
    }
}
