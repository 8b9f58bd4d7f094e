//! Clocks that EL0 may read
#![expect(unsafe_code, reason = "counters are registers")]

use core::arch::asm;

/// Ticks of the counter that all partitions share, after everything before it.
#[inline(always)]
#[must_use]
pub fn now() -> u64 {
    let value;
    // SAFETY: reads a register.
    unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack)) };
    value
}

/// Its ticks per second.
#[must_use]
pub fn frequency() -> u64 {
    let value: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, cntfrq_el0", out(reg) value, options(nomem, nostack)) };
    value.max(1)
}

/// Ticks in so many nanoseconds, rounded down.
#[must_use]
pub fn ticks(ns: u64) -> u64 {
    (u128::from(ns) * u128::from(frequency()) / 1_000_000_000) as u64
}

/// Ticks in so many nanoseconds, rounded up.
#[must_use]
pub fn ticks_up(ns: u64) -> u64 {
    (u128::from(ns) * u128::from(frequency())).div_ceil(1_000_000_000) as u64
}

/// Microseconds in so many ticks, rounded down.
#[must_use]
pub fn micros(ticks: u64) -> u64 {
    (u128::from(ticks) * 1_000_000 / u128::from(frequency())) as u64
}

/// Ticks as nanoseconds.
#[must_use]
pub fn nanos(ticks: u64) -> u64 {
    (u128::from(ticks) * 1_000_000_000 / u128::from(frequency())) as u64
}

/// Ticks as seconds.
#[must_use]
pub fn seconds(ticks: u64) -> f64 {
    ticks as f64 / frequency() as f64
}

/// Cycles of the core.
#[inline(always)]
#[must_use]
pub fn cycles() -> u64 {
    let value;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, pmccntr_el0", out(reg) value, options(nostack)) };
    value
}

/// Hints that another hardware thread may run. An emulator that runs its cores by turns switches to
/// another core.
#[inline(always)]
pub fn let_others_run() {
    // SAFETY: a hint.
    unsafe { asm!("yield", options(nostack)) };
}

/// Waits for an interrupt.
#[inline(always)]
pub fn wait_for_interrupt() {
    // SAFETY: a hint.
    unsafe { asm!("wfi", options(nostack)) };
}
