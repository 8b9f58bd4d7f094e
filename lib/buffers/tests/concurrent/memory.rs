//! Shared memory for the tests, between inaccessible pages
#![expect(unsafe_code, reason = "mappings come from the operating system")]

use bulkhead_buffers::{AtomicU64, Region, View};
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect};
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;

/// `bytes` bytes that end where the guard page begins, as far as alignment to a line allows, and
/// are shared with processes forked later. Never unmapped.
fn map(bytes: usize) -> NonNull<u8> {
    let inner = bytes.next_multiple_of(PAGE_BYTES);
    let all = NonZeroUsize::new(inner + 2 * PAGE_BYTES).expect("not zero");
    let (access, flags) = (
        ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
        MapFlags::MAP_SHARED,
    );
    // SAFETY: a fresh anonymous mapping, which nothing else refers to.
    let base = unsafe { mmap_anonymous(None, all, access, flags) }.expect("memory");
    guard(base);
    // SAFETY: the offset of the upper guard page is inside the mapping.
    let upper = unsafe { base.byte_add(PAGE_BYTES + inner) };
    guard(upper);
    let slack = (inner - bytes) & !63;
    // SAFETY: `slack` is less than a page: the sum is inside the mapping.
    unsafe { base.byte_add(PAGE_BYTES + slack) }.cast()
}

fn guard(page: NonNull<c_void>) {
    // SAFETY: the page belongs to the mapping just made, to which no reference exists yet.
    unsafe { mprotect(page, PAGE_BYTES, ProtFlags::PROT_NONE) }.expect("guard page");
}

/// Zeroed shared memory of `bytes` bytes between guard pages.
pub(crate) fn guarded(bytes: usize) -> Region<'static> {
    let base = map(bytes);
    // SAFETY: mapped for the life of the process and touched through regions only.
    unsafe { Region::from_raw(base.as_ptr(), bytes) }.expect("aligned")
}

/// Returns such memory and its words, for a peer that violates the interface.
pub(crate) fn guarded_words(bytes: usize) -> (Region<'static>, &'static [AtomicU64]) {
    let base = map(bytes).cast();
    // SAFETY: mapped for the life of the process, aligned, and touched as atomics only.
    let words = unsafe { std::slice::from_raw_parts(base.as_ptr(), bytes / 8) };
    (Region::from_words(words), words)
}

/// Memory that `fill` has written and where any store faults from then on.
pub(crate) fn read_only_copy(bytes: usize, fill: impl FnOnce(Region<'static>)) -> View<'static> {
    let base = map(bytes);
    // SAFETY: as in `guarded`.
    fill(unsafe { Region::from_raw(base.as_ptr(), bytes) }.expect("aligned"));
    let page = base.map_addr(|at| NonZeroUsize::new(at.get() & !(PAGE_BYTES - 1)).expect("mapped"));
    let span = bytes.next_multiple_of(PAGE_BYTES);
    // SAFETY: the pages of the mapping just made; the region that wrote them is gone.
    unsafe { mprotect(page.cast(), span, ProtFlags::PROT_READ) }.expect("read-only");
    // SAFETY: mapped for the life of the process, read-only.
    unsafe { View::from_raw(base.as_ptr(), bytes) }.expect("aligned")
}
