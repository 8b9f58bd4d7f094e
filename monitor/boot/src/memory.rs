//! Physical memory while translation is off
//!
//! Accesses go past the caches. A line that firmware left dirty would overwrite what is written here, and a
//! line left clean would hide it later: ranges are cleaned and forgotten before and after writing.
#![expect(unsafe_code, reason = "physical memory")]

use bulkhead_arch::{barrier, cache};
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use core::slice::from_raw_parts;

const LINE: u64 = 64;

/// Bytes of the boot image.
pub(crate) fn bytes(pa: u64, size: usize) -> &'static [u8] {
    // SAFETY: part of the boot image, which is never written.
    unsafe { from_raw_parts(with_exposed_provenance(pa as usize), size) }
}

/// Words of the boot image; `pa` is a multiple of 8.
pub(crate) fn words(pa: u64, size: usize) -> &'static [u64] {
    // SAFETY: as above, and aligned.
    unsafe { from_raw_parts(with_exposed_provenance(pa as usize & !7), size / 8) }
}

/// Leaves no copy of a range in any cache.
pub(crate) fn clean(pa: u64, size: u64) {
    let mut line = pa & !(LINE - 1);
    while line < pa + size {
        // SAFETY: translation is off.
        unsafe { cache::dc_civac(line) };
        line += LINE;
    }
    barrier::dsb_sy();
}

/// Fills a range of whole lines with zeros.
pub(crate) fn clear(pa: u64, size: u64) {
    clean(pa, size);
    let start = with_exposed_provenance_mut::<u64>(pa as usize);
    for word in 0..size as usize / 8 {
        let place = start.wrapping_add(word);
        // SAFETY: the configuration gives the range to be cleared, and no guest runs yet.
        unsafe { place.write_volatile(0) };
    }
    clean(pa, size);
}

/// Puts a value at a place, for good.
pub(crate) fn place<T>(pa: u64, value: T) -> &'static T {
    clean(pa, size_of::<T>() as u64);
    let place = with_exposed_provenance_mut::<T>(pa as usize);
    // SAFETY: the configuration gives aligned memory for this value alone.
    unsafe { place.write(value) };
    clean(pa, size_of::<T>() as u64);
    // SAFETY: just written, and it stays.
    unsafe { &*place }
}

/// Returns a reference to a value before [`place`] writes it, for states that refer to each other.
pub(crate) fn forward_reference<T>(pa: u64) -> &'static T {
    // SAFETY: not read before the state is placed, which happens before any core uses it.
    unsafe { &*with_exposed_provenance::<T>(pa as usize) }
}

/// Returns a reference to a list of values before they are written.
pub(crate) fn forward_list<T>(pa: u64, count: usize) -> &'static [T] {
    // SAFETY: as above; the elements have been placed one after the other.
    unsafe { from_raw_parts(with_exposed_provenance(pa as usize), count) }
}
