//! Deferrable-server rate limiter in one atomic word
//!
//! At most `events` per window of `period` ticks; windows start at multiples of the period (spec
//! "Rate limiter (deferrable)"; paper 000 §III-D). A budget not used in its window is forfeited,
//! and two neighbouring windows may be used up back to back: at most 2 · `events` fall into any
//! span shorter than the period, which the analysis takes into account.
//!
//! Count and start of window share one 64-bit word, advanced by one compare-exchange: the count in
//! the low bits that `events` needs, c of them, the start above, cut to its low 64 − c bits.
//! Differences of cut times are exact as long as they fit, so the counter may wrap.
//!
//! - *Idle.* After up to 2^(64−c) · 255/256 ticks without a call (for 100 events 4.5 years at 1 GHz) windows
//!   stay at multiples of the period. After more they may start elsewhere, and with a chance of
//!   1/256 a budget that was used up is withheld, for at most 1/256 of that time; never is more admitted.
//! - *Late callers.* A reading older than the window, by up to 2^(56−c) ticks (of two cores that read the
//!   counter at once, the second to come), is charged to the window: time never goes back.
//! - *Contention.* An exchange fails only when another caller's has succeeded. After [`ATTEMPTS`]
//!   lost races in one call the event is refused: wait-free, and it errs to the safe side.
//!
//! All orderings are relaxed: the word orders its own changes, and nothing else depends on it.

#![no_std]
#![forbid(unsafe_code)]

use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU64, Ordering};

/// Exchanges tried before a contended event is refused.
pub const ATTEMPTS: usize = 8;

/// Distances with all upper bits set are small negative ones: a late caller.
const LATE: u64 = 0xff << 56;

/// At most so many events in each period. Its layout is fixed: programs built apart may hand it on.
#[derive(Debug)]
#[repr(C)]
pub struct Limiter {
    word: AtomicU64,
    period_ticks: NonZeroU64,
    events: u32,
    count_bits: u32,
}

/// Why there can be no such limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// Events or period is zero.
    Zero,
    /// The period is longer than the word can tell apart from idleness; see [`Limiter::new`].
    PeriodTooLong,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "a rate limit needs at least one event and a period of at least one tick",
            Self::PeriodTooLong => "the period of the rate limit is too long for so many events",
        })
    }
}

impl core::error::Error for LimitError {}

impl Limiter {
    /// Admit `events` per `period_ticks`, with windows from tick 0 on.
    ///
    /// # Errors
    /// A zero, or a period of more than 2^(55−c) ticks, where c is the number of bits of `events`:
    /// 208 days at 1 GHz for 2 events, 3 days for 100.
    pub const fn new(events: u32, period_ticks: u64) -> Result<Self, LimitError> {
        let (Some(period_ticks), 1..) = (NonZeroU64::new(period_ticks), events) else {
            return Err(LimitError::Zero);
        };
        let count_bits = u32::BITS - events.leading_zeros();
        if period_ticks.get() > 1 << (55 - count_bits) {
            return Err(LimitError::PeriodTooLong);
        }
        Ok(Self {
            word: AtomicU64::new(0),
            period_ticks,
            events,
            count_bits,
        })
    }

    /// Returns the limiter, unused, with its window at `now_ticks`: for a counter that does not
    /// start near 0.
    #[must_use]
    pub const fn starting_at(self, now_ticks: u64) -> Self {
        let start = now_ticks - now_ticks % self.period_ticks.get();
        Self {
            word: AtomicU64::new(start << self.count_bits),
            ..self
        }
    }

    /// Returns true if one more event may pass at `now_ticks`, a fresh reading of the counter.
    /// Bounded: at most [`ATTEMPTS`] exchanges; divides only when a new window begins.
    #[inline]
    pub fn admit(&self, now_ticks: u64) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        for _ in 0..ATTEMPTS {
            let Some(next) = self.charged(word, now_ticks) else {
                return false;
            };
            match self.exchange(word, next) {
                Ok(_) => return true,
                Err(newer) => word = newer,
            }
        }
        false
    }

    fn exchange(&self, word: u64, next: u64) -> Result<u64, u64> {
        self.word
            .compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed)
    }

    /// The word after one more event, unless its window is used up.
    fn charged(&self, word: u64, now_ticks: u64) -> Option<u64> {
        let start = word >> self.count_bits << self.count_bits;
        let distance = (now_ticks << self.count_bits).wrapping_sub(start);
        let elapsed = distance >> self.count_bits;
        if elapsed < self.period_ticks.get() || distance >= LATE {
            return (word - start < u64::from(self.events)).then(|| word + 1);
        }
        let whole = elapsed - elapsed % self.period_ticks;
        Some(start.wrapping_add(whole << self.count_bits) + 1)
    }
}

#[cfg(test)]
mod tests;
