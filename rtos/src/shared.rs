//! Memory that the monitor mapped for this partition
//!
//! Addresses come from the guest information page, which the host tool planned; they are checked
//! for plausibility and mapped by [`crate::mmu`] before anything is made of them.
#![expect(unsafe_code, reason = "planned addresses become memory")]

use crate::mmu;
use bulkhead_abi::guest::GuestPage;
use bulkhead_buffers::{AttachError, Region};
use core::sync::atomic::AtomicU64;

/// The region `[address, bytes]`, mapped for reading and writing.
pub(crate) fn region([address, bytes]: [u64; 2]) -> Result<Region<'static>, AttachError> {
    mmu::map_data(address, bytes);
    let base = core::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: mapped above as normal cacheable memory for the life of the partition; the program
    // reaches channel memory through such regions alone.
    unsafe { Region::from_raw(base, bytes as usize) }
}

/// The 64-bit word at `address`, in a page of the window.
pub(crate) fn word(address: u64) -> &'static AtomicU64 {
    mmu::map_data(address, 8);
    let pointer = core::ptr::with_exposed_provenance_mut(address as usize & !7);
    // SAFETY: mapped above, aligned, and other parties write it as one word.
    unsafe { AtomicU64::from_ptr(pointer) }
}

/// A copy of the guest page at `address`.
pub(crate) fn guest_page(address: u64) -> GuestPage {
    mmu::map_data(address, size_of::<GuestPage>() as u64);
    let pointer: *const GuestPage = core::ptr::with_exposed_provenance(address as usize);
    // SAFETY: mapped above and page-aligned; every bit pattern is a value of the type; only the
    // monitor writes the page, and not while the partition runs.
    unsafe { pointer.read() }
}
