//! The machine's counter, which all partitions share
//!
//! Linux lets user space read the virtual counter (it does so for its own vDSO). Off the target, in
//! tests, the monotonic clock stands in for it.

#[cfg(target_arch = "aarch64")]
mod counter {
    #![expect(unsafe_code, reason = "system registers are read by assembly")]
    use std::arch::asm;

    pub(super) fn ticks() -> u64 {
        let value;
        // SAFETY: reads the counter, after everything before in program order.
        unsafe {
            asm!("isb", "mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }

    pub(super) fn frequency_hz() -> u64 {
        let value;
        // SAFETY: reads an identification register.
        unsafe {
            asm!("mrs {}, cntfrq_el0", out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }
}

#[cfg(not(target_arch = "aarch64"))]
mod counter {
    use std::sync::LazyLock;
    use std::time::Instant;

    const NANOSECONDS: u64 = 1_000_000_000;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn ticks() -> u64 {
        u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn frequency_hz() -> u64 {
        NANOSECONDS
    }
}

/// Counter value now: ticks since power-on, the same for every partition.
#[must_use]
pub fn ticks() -> u64 {
    counter::ticks()
}

/// Ticks per second.
#[must_use]
pub fn frequency_hz() -> u64 {
    counter::frequency_hz()
}
