//! The builder, shared by the threads in the boot component
#![expect(unsafe_code, reason = "shared between threads")]

use crate::build::Builder;
use bulkhead_abi::guest::GuestPage;
use bulkhead_abi::kernel::Status;
use bulkhead_component::First;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

struct Kept(UnsafeCell<Option<Builder>>);

// SAFETY: used only by the thread that has set the flag.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept(UnsafeCell::new(None));
static TAKEN: AtomicBool = AtomicBool::new(false);

/// A page, which is too large for the stack.
struct Page(UnsafeCell<MaybeUninit<GuestPage>>);

// SAFETY: written once, before any thread reads it.
unsafe impl Sync for Page {}

static PAGE: Page = Page(UnsafeCell::new(MaybeUninit::zeroed()));

/// Returns the guest page. Called once, before any other thread runs.
///
/// # Errors
/// The kernel's refusal to map it.
pub(crate) fn guest(first: &mut First) -> Result<&'static GuestPage, Status> {
    // SAFETY: no other reference exists yet; zeros are a value.
    let place = unsafe { &mut *PAGE.0.get().cast::<GuestPage>() };
    first.copy_guest(place)?;
    Ok(place)
}

/// Stores the builder. Called before any other thread runs.
pub(crate) fn keep(builder: Builder) {
    let _nobody_runs = with_place(|place| *place = Some(builder));
}

/// Runs `act` with the builder. Returns nothing if there is none or it is in use.
pub(crate) fn with<R>(act: impl FnOnce(&mut Builder) -> R) -> Option<R> {
    with_place(|place| place.as_mut().map(act)).flatten()
}

fn with_place<R>(act: impl FnOnce(&mut Option<Builder>) -> R) -> Option<R> {
    if TAKEN.swap(true, Ordering::Acquire) {
        return None;
    }
    // SAFETY: any other thread finds the flag set.
    let result = act(unsafe { &mut *KEPT.0.get() });
    TAKEN.store(false, Ordering::Release);
    Some(result)
}
