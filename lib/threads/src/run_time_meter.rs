//! Run-time statistics: for how long each thread ran

use crate::Time;

/// Time by thread, added at each switch under the scheduler's lock.
pub(crate) struct Meter<const N: usize> {
    threads: [Time; N],
    scheduler: Time,
    idle: Time,
    running: u64,
    since: Time,
}

impl<const N: usize> Meter<N> {
    pub(crate) const fn new() -> Self {
        Self {
            threads: [0; N],
            scheduler: 0,
            idle: 0,
            running: 0,
            since: 0,
        }
    }

    /// The thread of that index runs from `now` on.
    #[inline(always)]
    pub(crate) fn switch_to(&mut self, index: u64, now: Time) {
        if self.since != 0 {
            *self.place(self.running) += now.saturating_sub(self.since);
        }
        (self.running, self.since) = (index, now);
    }

    /// Time for which the thread of that index has run.
    pub(crate) fn run_time(&mut self, index: u64, now: Time) -> Time {
        self.switch_to(self.running, now);
        *self.place(index)
    }

    /// Begins anew for a place that another thread gets.
    pub(crate) fn clear(&mut self, index: u64) {
        *self.place(index) = 0;
    }

    fn place(&mut self, index: u64) -> &mut Time {
        match index.checked_sub(1) {
            None => &mut self.scheduler,
            Some(thread) => self
                .threads
                .get_mut(thread as usize)
                .unwrap_or(&mut self.idle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;

    #[test]
    fn time_is_that_of_the_running_thread() {
        let mut meter = Meter::<2>::new();
        for (index, now) in [(1, 10), (2, 25), (127, 30), (0, 50), (1, 51)] {
            meter.switch_to(index, now);
        }
        let times = [1, 2, 127, 0].map(|index| meter.run_time(index, 60));
        assert_eq!(times, [24, 5, 20, 1]);
        meter.clear(1);
        assert_eq!(meter.run_time(1, 61), 1);
    }
}
