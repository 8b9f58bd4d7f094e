//! Message queues

use super::pool::{NO_MEMORY_GIVEN, Places};
use super::{
    Block, Kind, MemoryAttributes, OK, PARAMETER, attributes, may_wait, refused, status, until,
};
use crate::THREADS;
use bulkhead_slite::{Link, MessageQueue};
use core::ffi::c_char;
use core::ptr;

impl Kind for MessageQueue {
    const MARK: u32 = u32::from_be_bytes(*b"queu");
}

type Queue = Block<MessageQueue>;

#[unsafe(no_mangle)]
unsafe extern "C" fn osMessageQueueNew(
    count: u32,
    size: u32,
    given: *const MemoryAttributes,
) -> *mut Queue {
    // SAFETY: attributes, by the header.
    let given = unsafe { attributes(given, NO_MEMORY_GIVEN) };
    let capacity = match u16::try_from(count) {
        Ok(capacity @ 1..=MessageQueue::MOST) => capacity,
        _ => return ptr::null_mut(),
    };
    let links = usize::from(capacity) * size_of::<Link>();
    let Some(places) = Places::find(&given, [count, size], links) else {
        return ptr::null_mut();
    };
    let links = places.administration.cast();
    // SAFETY: memory for the queue alone.
    let queue = unsafe { MessageQueue::new(places.elements, links, size as usize, capacity) };
    Block::make(&given.object, Some(places.heap_block), queue)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMessageQueueGetName(queue: *const Queue) -> *const c_char {
    // SAFETY: memory of the program.
    unsafe { Block::name(queue) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMessageQueuePut(
    queue: *const Queue,
    message: *const u8,
    priority: u8,
    timeout: u32,
) -> i32 {
    // SAFETY: memory of the program.
    status(unsafe { Block::of(queue) }.and_then(|queue| {
        if message.is_null() {
            return Err(PARAMETER);
        }
        may_wait(timeout)?;
        // SAFETY: a message of the queue's size, by the header.
        let put = unsafe {
            queue
                .object
                .put(&THREADS, message, priority, until(timeout))
        };
        put.map_err(|error| refused(error, timeout))
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMessageQueueGet(
    queue: *const Queue,
    place: *mut u8,
    priority: *mut u8,
    timeout: u32,
) -> i32 {
    // SAFETY: memory of the program.
    status(unsafe { Block::of(queue) }.and_then(|queue| {
        if place.is_null() {
            return Err(PARAMETER);
        }
        may_wait(timeout)?;
        // SAFETY: room for a message of the queue's size, by the header.
        let got = unsafe { queue.object.get(&THREADS, place, until(timeout)) };
        let found = got.map_err(|error| refused(error, timeout))?;
        if !priority.is_null() {
            // SAFETY: the caller's place.
            unsafe { priority.write(found) };
        }
        Ok(())
    }))
}

/// A number of a queue, or 0.
macro_rules! numbers {
    ($($name:ident = |$queue:ident| $number:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(queue: *const Queue) -> u32 {
                // SAFETY: memory of the program.
                unsafe { Block::of(queue) }.map_or(0, |block| {
                    let $queue = &block.object;
                    $number
                })
            }
        )*
    };
}

numbers! {
    osMessageQueueGetCapacity = |queue| queue.capacity().into();
    osMessageQueueGetMsgSize = |queue| queue.message_size() as u32;
    osMessageQueueGetCount = |queue| queue.count().into();
    osMessageQueueGetSpace = |queue| (queue.capacity() - queue.count()).into();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMessageQueueReset(queue: *const Queue) -> i32 {
    // SAFETY: memory of the program.
    match unsafe { Block::of(queue) } {
        Ok(queue) => {
            queue.object.reset(&THREADS);
            OK
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMessageQueueDelete(queue: *mut Queue) -> i32 {
    // SAFETY: memory of the program.
    unsafe { Block::delete(queue, |queue| queue.delete(&THREADS)) }
}
