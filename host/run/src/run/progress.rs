//! Does the machine's clock go on?
//!
//! The real-time clock is asked only where memory cannot tell: when a partition claims that the run
//! is over, and when none has told the time for a while.

use std::time::{Duration, Instant};

use crate::error::RunError;
use crate::machine::Machine;
use crate::watch::Clock;

/// Silence after which the real-time clock is asked, wall clock.
const QUIET: Duration = Duration::from_secs(2);
/// Seconds of the machine's clock after which some partition must have been started.
const BOOT_S: u64 = 10;

/// Follows the machine's clock.
#[derive(Debug)]
pub(super) struct Progress {
    rtc: Option<u64>,
    power_on_s: u32,
    newest_ns: u64,
    rtc_s: u64,
    moved: Instant,
    queried_at: Instant,
}

impl Progress {
    /// Begins with the machine frozen before its first instruction; `rtc` is the address of its
    /// real-time clock.
    pub(super) fn new(rtc: Option<u64>, machine: &mut Machine) -> Result<Self, RunError> {
        let power_on_s = rtc.map_or(Ok(0), |pa| machine.register(pa))?;
        let now = Instant::now();
        Ok(Self {
            rtc,
            power_on_s,
            newest_ns: 0,
            rtc_s: 0,
            moved: now,
            queried_at: now,
        })
    }

    /// Notes what `clock` says and asks the real-time clock where needed. Gives a partition that was
    /// found to lie about the time.
    pub(super) fn check(
        &mut self,
        clock: &mut Clock,
        end_ns: Option<u64>,
        machine: &mut Machine,
    ) -> Result<Option<usize>, RunError> {
        let over = end_ns.is_some_and(|end_ns| clock.now_ns() >= end_ns);
        let mut liar = None;
        if over || self.is_quiet() {
            liar = self.ask(clock, over, machine)?;
        }
        if clock.now_ns() > self.newest_ns {
            self.newest_ns = clock.now_ns();
            self.moved = Instant::now();
        }
        Ok(liar)
    }

    /// How long nothing has moved, wall clock.
    pub(super) fn standstill(&self) -> Duration {
        self.moved.elapsed()
    }

    /// Returns `true` if so much time has passed on the machine that a partition must have started.
    pub(super) const fn should_have_started(&self) -> bool {
        self.rtc_s >= BOOT_S
    }

    fn is_quiet(&self) -> bool {
        self.standstill() > QUIET && self.queried_at.elapsed() > QUIET
    }

    /// Reads the real-time clock. The end of a run must be confirmed; otherwise a missing answer is no error.
    fn ask(
        &mut self,
        clock: &mut Clock,
        over: bool,
        machine: &mut Machine,
    ) -> Result<Option<usize>, RunError> {
        let Some(pa) = self.rtc else { return Ok(None) };
        let answer = match over {
            true => machine.register(pa).map(Some),
            false => machine.glance(pa),
        };
        self.queried_at = Instant::now();
        let Some(now_s) = answer? else {
            return Ok(None);
        };
        let seconds = u64::from(now_s.wrapping_sub(self.power_on_s));
        if seconds > self.rtc_s {
            self.rtc_s = seconds;
            self.moved = Instant::now();
        }
        Ok(clock.confirm(seconds))
    }
}
