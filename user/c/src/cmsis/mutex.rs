//! Mutexes

use super::{
    Attributes as Given, Block, DEFAULTS, Kind, RESOURCE, TIMEOUT, attributes, may_wait, status,
    until,
};
use crate::THREADS;
use bulkhead_slite::{AttributeMutex, Attributes, LockError};
use core::ffi::{c_char, c_void};
use core::ptr;

/// `attr_bits`. Priority inheritance, 2, is always there.
const RECURSIVE: u32 = 1;
const ROBUST: u32 = 8;
const ALL: u32 = RECURSIVE | 2 | ROBUST;

impl Kind for AttributeMutex {
    const MARK: u32 = u32::from_be_bytes(*b"mutx");
}

type Mutex = Block<AttributeMutex>;

#[unsafe(no_mangle)]
unsafe extern "C" fn osMutexNew(given: *const Given) -> *mut Mutex {
    // SAFETY: attributes, by the header.
    let given = unsafe { attributes(given, DEFAULTS) };
    if given.bits & !ALL != 0 {
        return ptr::null_mut();
    }
    let attributes = Attributes {
        recursive: given.bits & RECURSIVE != 0,
        robust: given.bits & ROBUST != 0,
        ceiling: None,
    };
    Block::make(&given, None, AttributeMutex::new(attributes))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMutexGetName(mutex: *const Mutex) -> *const c_char {
    // SAFETY: memory of the program.
    unsafe { Block::name(mutex) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMutexAcquire(mutex: *const Mutex, timeout: u32) -> i32 {
    // SAFETY: memory of the program.
    status(unsafe { Block::of(mutex) }.and_then(|mutex| {
        if mutex.object.owner() != Some(THREADS.current()) {
            may_wait(timeout)?;
        }
        let taken = mutex.object.acquire(&THREADS, until(timeout));
        taken.map_err(|error| match error {
            LockError::TimedOut if timeout != 0 => TIMEOUT,
            LockError::TimedOut | LockError::Deadlock | LockError::Deleted => RESOURCE,
        })
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMutexRelease(mutex: *const Mutex) -> i32 {
    // SAFETY: memory of the program.
    status(unsafe { Block::of(mutex) }.and_then(|mutex| {
        let released = mutex.object.release(&THREADS);
        released.then_some(()).ok_or(RESOURCE)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMutexGetOwner(mutex: *const Mutex) -> *mut c_void {
    // SAFETY: memory of the program.
    let owner = unsafe { Block::of(mutex) }
        .ok()
        .and_then(|mutex| mutex.object.owner());
    owner.map_or(ptr::null_mut(), super::thread::name_of)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMutexDelete(mutex: *mut Mutex) -> i32 {
    // SAFETY: memory of the program.
    unsafe { Block::delete(mutex, |mutex| mutex.delete(&THREADS)) }
}
