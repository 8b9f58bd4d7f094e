//! Cost of moving a VCPU and its address space
//!
//! Paper 001 §4.3, equations 4.5–4.10.

use crate::communication::Channel;
use crate::{Reservation, Time};

/// δ_s and δ_a: execution times to produce, and to put together again, what is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serialisation {
    /// At the source.
    pub produce: Time,
    /// At the destination.
    pub assemble: Time,
}

/// Δ_mig by messages, equation 4.7: Δ_s (4.5) + Δ'_WC (4.3, one way 4.4) + Δ_a (4.6).
#[must_use]
pub fn by_messages(channel: &Channel, bytes: u64, work: Serialisation) -> Option<Time> {
    let produced = channel.sender.vcpu.worst_span(work.produce)?;
    let assembled = channel.receiver.vcpu.worst_span(work.assemble)?;
    produced
        .checked_add(channel.one_way(bytes)?)?
        .checked_add(assembled)
}

/// Δ_mig by direct copy, equation 4.8: `copy` (δ_m) on the destination's migration VCPU.
#[must_use]
pub fn by_copy(migration: Reservation, copy: Time) -> Option<Time> {
    migration.worst_span(copy)
}

/// δ_ADJ, equation 4.9: what is added to a migrated VCPU's times.
#[must_use]
pub const fn clock_adjustment(
    destination: Time,
    source: Time,
    read_cost: Time,
    notification_cost: Time,
) -> i64 {
    let skew = destination.wrapping_sub(source).cast_signed();
    skew.wrapping_sub(2 * read_cost.cast_signed())
        .wrapping_sub(notification_cost.cast_signed())
}

/// Whether a strict migration leaves the VCPU's utilisation alone, equation 4.10: its next event
/// is no nearer than the migration takes. On refusal, by how much it is nearer.
///
/// # Errors
/// The missing time.
pub const fn admits_strict(next_event: Time, cost: Time) -> Result<(), Time> {
    if next_event >= cost {
        Ok(())
    } else {
        Err(cost - next_event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Time = 1_000;

    /// Tables 4.5, 4.6 and 4.8 (C = 10 ms, T = 50 ms, E_m = 79.8 ms), in nanoseconds.
    #[test]
    fn tables_4_5_to_4_8() {
        let vcpu = Reservation::new(10_000 * US, 50_000 * US).expect("valid");
        let next_event = 79_800 * US;
        let cost = by_copy(vcpu, 5_400 * US).expect("fits");
        assert_eq!(cost, (5_400 + 40_000) * US);
        assert_eq!(admits_strict(next_event, cost), Ok(()));
        let cost = by_copy(vcpu, 891_400 * US).expect("fits");
        assert_eq!(cost, (89 * 50_000 + 1_400 + 40_000) * US);
        assert_eq!(admits_strict(next_event, cost), Err(cost - next_event));
        let cost = by_copy(vcpu, 26_400 * US).expect("fits");
        assert_eq!(
            admits_strict(next_event, cost),
            Err((146_400 - 79_800) * US)
        );
    }

    #[test]
    fn clocks_are_compared() {
        assert_eq!(clock_adjustment(1_000, 900, 10, 30), 50);
        assert_eq!(clock_adjustment(900, 1_000, 10, 30), -150);
    }
}
