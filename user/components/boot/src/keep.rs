//! What the threads that are in the boot component share: who builds
#![expect(unsafe_code, reason = "shared between threads")]

use crate::build::Builder;
use bulkhead_abi::guest::GuestInfo;
use bulkhead_abi::kernel::Status;
use bulkhead_component::First;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

struct Kept(UnsafeCell<Option<Builder>>);

// SAFETY: reached by who has found it free.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept(UnsafeCell::new(None));
static TAKEN: AtomicBool = AtomicBool::new(false);

/// A page, which is too much for the stack.
struct Info(UnsafeCell<MaybeUninit<GuestInfo>>);

// SAFETY: written once, before anybody reads it.
unsafe impl Sync for Info {}

static INFO: Info = Info(UnsafeCell::new(MaybeUninit::zeroed()));

/// The guest page as it is at the start. Called once, before anybody else runs.
///
/// # Errors
/// The kernel's refusal to map it.
pub(crate) fn guest_info(first: &mut First) -> Result<&'static GuestInfo, Status> {
    // SAFETY: nobody else refers to it yet.
    let place = unsafe { &mut *INFO.0.get() };
    // SAFETY: zeros are a value.
    let place = unsafe { place.assume_init_mut() };
    first.copy_guest_info(place)?;
    Ok(place)
}

/// Leaves it to others. Before any of them runs.
pub(crate) fn keep(builder: Builder) {
    let _nobody_runs = with_place(|place| *place = Some(builder));
}

/// Lets one thread at a time have it; nothing where there is none or another one has it.
pub(crate) fn with<R>(act: impl FnOnce(&mut Builder) -> R) -> Option<R> {
    with_place(|place| place.as_mut().map(act)).flatten()
}

fn with_place<R>(act: impl FnOnce(&mut Option<Builder>) -> R) -> Option<R> {
    if TAKEN.swap(true, Ordering::Acquire) {
        return None;
    }
    // SAFETY: whoever else comes finds it taken.
    let result = act(unsafe { &mut *KEPT.0.get() });
    TAKEN.store(false, Ordering::Release);
    Some(result)
}
