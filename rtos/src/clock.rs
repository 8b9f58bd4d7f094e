//! The counter that all partitions share, and this core's deadline
//!
//! Times are ticks of CNTVCT_EL0; its frequency is the machine's (CNTFRQ_EL0), never a constant.

use crate::registers;

/// Ticks since power-on.
#[inline]
#[must_use]
pub fn now() -> u64 {
    registers::counter()
}

/// Ticks per second.
#[inline]
#[must_use]
pub fn frequency() -> u64 {
    registers::counter_frequency().max(1)
}

/// Ticks as microseconds, rounded down.
#[must_use]
pub fn micros(ticks: u64) -> u64 {
    let hz = frequency();
    let (seconds, rest) = (ticks / hz, ticks % hz);
    seconds
        .saturating_mul(1_000_000)
        .saturating_add(rest.saturating_mul(1_000_000) / hz)
}

/// Microseconds as ticks, rounded down.
#[must_use]
pub fn ticks(micros: u64) -> u64 {
    let hz = frequency();
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    seconds
        .saturating_mul(hz)
        .saturating_add(rest.saturating_mul(hz) / 1_000_000)
}

/// Sleeps until `deadline_ticks` or an earlier interrupt, which is taken before the function
/// returns. Interrupts are masked from reading the clock until the wait, and a pending one ends the
/// wait, so that none is missed.
pub(crate) fn sleep_until(deadline_ticks: u64) {
    let mask = registers::mask_interrupts();
    if registers::counter() < deadline_ticks {
        registers::set_timer_deadline(deadline_ticks);
        registers::set_timer_control(ENABLE);
        registers::wait_for_interrupt();
    }
    registers::restore_interrupts(mask);
}

/// The timer's interrupt: it stays off until the next deadline is set.
pub(crate) fn silence_timer() {
    registers::set_timer_control(ENABLE | MASK);
}

const ENABLE: u64 = 1;
const MASK: u64 = 2;
