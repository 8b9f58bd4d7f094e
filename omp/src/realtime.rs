//! The workers' scheduling policy.

#![expect(unsafe_code, reason = "passes a request through the region's argument")]

use crate::backend::{Backend, Policy, System, SystemError};
use crate::region;
use crate::worker::Worker;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicI32, Ordering};

/// Settings that a region passes to its threads.
struct Request {
    policy: Cell<Policy>,
    error: AtomicI32,
}

extern "C" fn apply(request: *mut c_void) {
    // SAFETY: `set_policy` passes its own request, alive until the region has ended.
    let Some(request) = (unsafe { request.cast::<Request>().as_ref() }) else {
        return;
    };
    if let Err(error) = System::set_policy(request.policy.get()) {
        request.error.store(error.0, Ordering::Relaxed);
    }
}

/// Sets the policy of every thread of the team that the caller would lead, itself included.
pub fn set_policy(policy: Policy) -> Result<(), SystemError> {
    let request = Request {
        policy: Cell::new(policy),
        error: AtomicI32::new(0),
    };
    let threads = Worker::current_here().current().icv().threads.get();
    region::run(apply, ptr::from_ref(&request).cast_mut().cast(), threads, 0);
    match request.error.load(Ordering::Relaxed) {
        0 => Ok(()),
        error => Err(SystemError(error)),
    }
}
