//! Semaphores

use super::{
    Attributes, Block, DEFAULTS, Kind, RESOURCE, attributes, may_wait, refused, status, until,
};
use crate::THREADS;
use bulkhead_slite::Semaphore;
use core::ffi::c_char;
use core::ptr;

impl Kind for Semaphore {
    const MARK: u32 = u32::from_be_bytes(*b"sema");
}

type Tokens = Block<Semaphore>;

#[unsafe(no_mangle)]
unsafe extern "C" fn osSemaphoreNew(
    maximum: u32,
    count: u32,
    given: *const Attributes,
) -> *mut Tokens {
    if maximum == 0 || count > maximum {
        return ptr::null_mut();
    }
    // SAFETY: attributes, by the header.
    let given = unsafe { attributes(given, DEFAULTS) };
    Block::make(&given, None, Semaphore::new(count, maximum))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osSemaphoreGetName(semaphore: *const Tokens) -> *const c_char {
    // SAFETY: memory of the program.
    unsafe { Block::name(semaphore) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osSemaphoreAcquire(semaphore: *const Tokens, timeout: u32) -> i32 {
    // SAFETY: memory of the program.
    status(unsafe { Block::of(semaphore) }.and_then(|semaphore| {
        may_wait(timeout)?;
        let taken = semaphore.object.wait(&THREADS, until(timeout));
        taken.map_err(|error| refused(error, timeout))
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osSemaphoreRelease(semaphore: *const Tokens) -> i32 {
    // SAFETY: memory of the program.
    status(
        unsafe { Block::of(semaphore) }
            .and_then(|semaphore| semaphore.object.give(&THREADS).map_err(|_| RESOURCE)),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osSemaphoreGetCount(semaphore: *const Tokens) -> u32 {
    // SAFETY: memory of the program.
    unsafe { Block::of(semaphore) }.map_or(0, |semaphore| semaphore.object.count())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osSemaphoreDelete(semaphore: *mut Tokens) -> i32 {
    // SAFETY: memory of the program.
    unsafe { Block::delete(semaphore, |semaphore| semaphore.delete(&THREADS)) }
}
