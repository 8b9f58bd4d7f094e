//! CMSIS-RTOS v2, as `include/cmsis_os2.h` declares it
//!
//! A thin layer: threads and objects are those of `slite.h`. Control blocks come from the heap or from the program; each
//! begins with the mark of its kind, which its deletion clears.
//!
//! Source: Arm, *CMSIS-RTOS2* (API reference, version 2.3).

mod flags;
mod kernel;
mod mutex;
mod pool;
mod queue;
mod semaphore;
mod thread;
mod timer;

use crate::heap::Heap;
use crate::{THREADS, guard};
use bulkhead_component::clock;
use bulkhead_libc::Heap as _;
use bulkhead_slite::{NEVER, Time, WaitError};
use core::cell::Cell;
use core::ffi::{c_char, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering::Relaxed;

// `osStatus_t`.
const OK: i32 = 0;
const ERROR: i32 = -1;
const TIMEOUT: i32 = -2;
const RESOURCE: i32 = -3;
const PARAMETER: i32 = -4;

/// `osWaitForever`.
const FOREVER: u32 = u32::MAX;
/// Ticks of the RTOS per second.
const TICK_FREQUENCY: u64 = 1000;

/// Clock ticks of so many ticks of the RTOS.
fn clock_ticks(ticks: u64) -> Time {
    ticks.saturating_mul(clock::frequency() / TICK_FREQUENCY)
}

/// The instant at which a wait of so many ticks is given up.
fn until(timeout: u32) -> Time {
    match timeout {
        0 => 0,
        FOREVER => NEVER,
        ticks => clock::now().saturating_add(clock_ticks(ticks.into())),
    }
}

/// Error of a call that would wait where it must not: before the kernel runs, or while it is locked.
fn may_wait(timeout: u32) -> Result<(), i32> {
    match timeout {
        0 => Ok(()),
        _ if THREADS.current() == 0 => Err(ERROR),
        _ if guard::LOCKED.load(Relaxed) => Err(RESOURCE),
        _ => Ok(()),
    }
}

/// Status of a wait that ended with an error: one that was to last no time found nothing.
const fn refused(error: WaitError, timeout: u32) -> i32 {
    match error {
        WaitError::TimedOut if timeout != 0 => TIMEOUT,
        WaitError::TimedOut | WaitError::Deleted => RESOURCE,
    }
}

fn status(result: Result<(), i32>) -> i32 {
    result.map_or_else(|error| error, |()| OK)
}

/// Attributes of an object other than a thread: the first words of all such structures of the header.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    name: *const c_char,
    bits: u32,
    block: *mut c_void,
    block_size: u32,
}

const DEFAULTS: Attributes = Attributes {
    name: ptr::null(),
    bits: 0,
    block: ptr::null_mut(),
    block_size: 0,
};

/// Attributes of an object that uses memory, too.
#[repr(C)]
#[derive(Clone, Copy)]
struct MemoryAttributes {
    object: Attributes,
    memory: *mut u8,
    memory_size: u32,
}

/// Attributes of the program, or `defaults`.
///
/// # Safety
/// `given` is null or points to attributes.
unsafe fn attributes<T: Copy>(given: *const T, defaults: T) -> T {
    match given.is_null() {
        true => defaults,
        // SAFETY: the caller's promise.
        false => unsafe { given.read() },
    }
}

/// A kind of object.
trait Kind {
    /// First word of its control blocks.
    const MARK: u32;
}

/// A control block.
#[repr(C, align(16))]
struct Block<T> {
    mark: Cell<u32>,
    is_own: bool,
    /// Memory of the object from the heap.
    memory: Option<NonNull<u8>>,
    name: *const c_char,
    object: T,
}

impl<T: Kind> Block<T> {
    /// Makes a control block where the attributes say. Returns null if there is no room; `memory` is given back then.
    fn make(attributes: &Attributes, memory: Option<NonNull<u8>>, object: T) -> *mut Self {
        let given = attributes.block.cast::<Self>();
        let is_own = given.is_null();
        let fits = attributes.block_size as usize >= size_of::<Self>() && given.is_aligned();
        let place = match is_own {
            true => Heap::allocate(size_of::<Self>(), align_of::<Self>()).map(NonNull::cast),
            false => NonNull::new(given).filter(|_| fits),
        };
        let Some(place) = place else {
            release(memory);
            return ptr::null_mut();
        };
        let block = Self {
            mark: Cell::new(T::MARK),
            is_own,
            memory,
            name: attributes.name,
            object,
        };
        // SAFETY: a fresh block, or the program's for it.
        unsafe { place.write(block) };
        place.as_ptr()
    }

    /// The control block of that name, if it is one of this kind that was not deleted.
    ///
    /// # Safety
    /// `block` is null, or points to memory of the program.
    unsafe fn of<'b>(block: *const Self) -> Result<&'b Self, i32> {
        if !block.is_aligned() {
            return Err(PARAMETER);
        }
        // SAFETY: the caller's promise.
        let block = unsafe { block.as_ref() }.ok_or(PARAMETER)?;
        (block.mark.get() == T::MARK)
            .then_some(block)
            .ok_or(PARAMETER)
    }

    /// Gives up a control block; `end_waits` lets the threads that wait for the object continue.
    ///
    /// # Safety
    /// As for [`Self::of`].
    unsafe fn delete(block: *mut Self, end_waits: impl FnOnce(&T)) -> i32 {
        // SAFETY: the caller's promise.
        let found = match unsafe { Self::of(block) } {
            Ok(found) => found,
            Err(error) => return error,
        };
        let (is_own, memory) = (found.is_own, found.memory);
        // Threads that find the mark begin no wait any more.
        guard::exclusive(|| {
            found.mark.set(0);
            end_waits(&found.object);
        });
        release(memory);
        if is_own {
            release(NonNull::new(block).map(NonNull::cast));
        }
        OK
    }

    /// Name of an object.
    ///
    /// # Safety
    /// As for [`Self::of`].
    unsafe fn name(block: *const Self) -> *const c_char {
        // SAFETY: the caller's promise.
        unsafe { Self::of(block) }.map_or(ptr::null(), |block| block.name)
    }
}

// The size in the header.
const BLOCK_BYTES: usize = 144;
const _: () = assert!(size_of::<Block<bulkhead_slite::MessageQueue>>() <= BLOCK_BYTES);
const _: () = assert!(size_of::<Block<bulkhead_slite::BlockPool>>() <= BLOCK_BYTES);
const _: () = assert!(size_of::<Block<bulkhead_slite::AttributeMutex>>() <= BLOCK_BYTES);

fn release(memory: Option<NonNull<u8>>) {
    if let Some(memory) = memory {
        // SAFETY: of this heap, and no longer used.
        unsafe { Heap::release(memory) };
    }
}
