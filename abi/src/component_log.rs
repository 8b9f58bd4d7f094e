//! Faults of components, as the kernel of their partition records them
//!
//! One region per partition that runs components ([`crate::guest::GuestPage::component_log`]), outside of what the kernel gives
//! out: no component can change it. It outlives restarts of the partition. Each component has places of its own, so that
//! none displaces the records of another. The host tool reads it in the emulator's memory.

use crate::PAGE_SIZE;
use crate::kernel::MAX_COMPONENTS;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Records kept of each component; older ones are overwritten.
pub const RECORDS: usize = 16;
/// Components by the identities of their address spaces; the last place is that of all greater identities.
pub const PLACES: usize = MAX_COMPONENTS + 2;
/// Bytes of the region.
pub const SIZE: u64 = (size_of::<ComponentLog>() as u64).next_multiple_of(PAGE_SIZE);

/// No syndrome: the component stays stopped.
pub const ENDED: u64 = u64::MAX;

/// A fault of a component's thread.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct ComponentFault {
    /// Number of the record among the component's, from 1; 0 in an unused place. Written last.
    pub sequence: u64,
    /// Counter value (CNTVCT).
    pub ticks: u64,
    /// ESR_EL1, or [`ENDED`].
    pub syndrome: u64,
    /// FAR_EL1.
    pub address: u64,
    /// Program counter.
    pub pc: u64,
    /// Identity of the component in bits 31-0, index of the thread in its scheduler in bits 63-32.
    pub component_thread: u64,
}

/// The region.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ComponentLog {
    /// Faults so far, by identity.
    pub faults: [u64; PLACES],
    /// By identity; record `n` is at `(n - 1) % RECORDS`.
    pub records: [[ComponentFault; RECORDS]; PLACES],
}

/// Place of the component of an identity.
#[must_use]
pub const fn place(identity: u64) -> usize {
    if identity < PLACES as u64 {
        identity as usize
    } else {
        PLACES - 1
    }
}
