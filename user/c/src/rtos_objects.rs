//! Mutexes with attributes, condition variables, reader-writer locks, pools, queues of any size, streams, values of threads

use crate::threads::{LOCAL_KEYS, LOCALS};
use crate::{
    DELETED, FULL, NO_MEMORY, NOT_OWNER, OK, REFUSED, THREADS, TIMED_OUT, WaitError, answer,
};
use bulkhead_sched::policy::Priority;
use bulkhead_slite::{
    AttributeMutex, Attributes, BlockPool, ConditionVariable, Events, Framing, Link, MessageQueue,
    Mutex, ReadWriteLock, Semaphore, StreamBuffer, StreamError,
};
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

// The sizes in the header; all zero is what `new` makes of condition variables and reader-writer locks.
const _: () = assert!(size_of::<AttributeMutex>() <= 64 && align_of::<AttributeMutex>() <= 16);
const _: () = assert!(size_of::<ConditionVariable>() <= 16);
const _: () = assert!(size_of::<ReadWriteLock>() <= 64 && align_of::<ReadWriteLock>() <= 16);
const _: () = assert!(size_of::<BlockPool>() <= 64 && align_of::<BlockPool>() <= 16);
const _: () = assert!(size_of::<MessageQueue>() <= 80 && align_of::<MessageQueue>() <= 16);
const _: () = assert!(size_of::<StreamBuffer>() <= 96 && align_of::<StreamBuffer>() <= 16);
const _: () = assert!(size_of::<Link>() == 4);

/// Defines functions of C on an object of the program.
macro_rules! object_functions {
    ($($(#[$attribute:meta])* fn $name:ident($object:ident: $type:ty $(, $argument:ident: $argument_type:ty)*) $(-> $answer:ty)? $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($object: *const $type $(, $argument: $argument_type)*) $(-> $answer)? {
                // SAFETY: an object of that type, by the header.
                let $object = unsafe { &*$object };
                $body
            }
        )*
    };
}

/// Flags of `slite_attribute_mutex_init`, as in the header.
const RECURSIVE: i32 = 1;
const ROBUST: i32 = 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_attribute_mutex_init(
    place: *mut AttributeMutex,
    flags: i32,
    ceiling: i32,
) -> i32 {
    let ceiling = match ceiling {
        ..0 => None,
        0..64 => Some(Priority(ceiling as u8)),
        _ => return REFUSED,
    };
    let attributes = Attributes {
        recursive: flags & RECURSIVE != 0,
        robust: flags & ROBUST != 0,
        ceiling,
    };
    // SAFETY: the caller's own.
    unsafe { place.write(AttributeMutex::new(attributes)) };
    OK
}

object_functions! {
    fn slite_attribute_mutex_lock(mutex: AttributeMutex, until: u64) -> i32 {
        answer(mutex.acquire(&THREADS, until))
    }
    fn slite_attribute_mutex_unlock(mutex: AttributeMutex) -> i32 {
        if mutex.release(&THREADS) { OK } else { NOT_OWNER }
    }
    fn slite_attribute_mutex_owner(mutex: AttributeMutex) -> i32 {
        mutex.owner().map_or(REFUSED, |owner| owner as i32)
    }
    fn slite_attribute_mutex_delete(mutex: AttributeMutex) {
        mutex.delete(&THREADS);
    }

    fn slite_condition_signal(condition: ConditionVariable) {
        condition.signal(&THREADS);
    }
    fn slite_condition_broadcast(condition: ConditionVariable) {
        condition.broadcast(&THREADS);
    }
    fn slite_condition_delete(condition: ConditionVariable) {
        condition.delete(&THREADS);
    }

    fn slite_rwlock_read(lock: ReadWriteLock, until: u64) -> i32 {
        answer(lock.read(&THREADS, until))
    }
    fn slite_rwlock_write(lock: ReadWriteLock, until: u64) -> i32 {
        answer(lock.write(&THREADS, until))
    }
    fn slite_rwlock_unlock(lock: ReadWriteLock) -> i32 {
        if lock.release(&THREADS) { OK } else { NOT_OWNER }
    }
    fn slite_rwlock_delete(lock: ReadWriteLock) {
        lock.delete(&THREADS);
    }

    fn slite_semaphore_delete(semaphore: Semaphore) {
        semaphore.delete(&THREADS);
    }
    fn slite_events_delete(events: Events) {
        events.delete(&THREADS);
    }

    fn slite_pool_take(pool: BlockPool, until: u64) -> *mut c_void {
        let block = pool.allocate(&THREADS, until);
        block.map_or(ptr::null_mut(), |block| block.as_ptr().cast())
    }
    fn slite_pool_give(pool: BlockPool, block: *mut c_void) -> i32 {
        pool.free(&THREADS, block.cast()).map_or(REFUSED, |()| OK)
    }
    fn slite_pool_taken(pool: BlockPool) -> u32 {
        pool.count()
    }
    fn slite_pool_delete(pool: BlockPool) {
        pool.delete(&THREADS);
    }

    fn slite_message_queue_count(queue: MessageQueue) -> u32 {
        queue.count().into()
    }
    fn slite_message_queue_reset(queue: MessageQueue) {
        queue.reset(&THREADS);
    }
    fn slite_message_queue_delete(queue: MessageQueue) {
        queue.delete(&THREADS);
    }

    fn slite_stream_length(stream: StreamBuffer) -> usize {
        stream.length()
    }
    fn slite_stream_reset(stream: StreamBuffer) {
        stream.reset(&THREADS);
    }
    fn slite_stream_delete(stream: StreamBuffer) {
        stream.delete(&THREADS);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_condition_wait(
    condition: *const ConditionVariable,
    mutex: *const Mutex<()>,
    until: u64,
) -> i32 {
    // SAFETY: a condition variable, by the header.
    let condition = unsafe { &*condition };
    // SAFETY: a mutex, by the header.
    answer(condition.wait(&THREADS, unsafe { &*mutex }, until))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_pool_init(
    place: *mut BlockPool,
    memory: *mut u8,
    size: usize,
    count: u32,
    map: *mut u32,
) -> i32 {
    let (Some(memory), Some(map)) = (NonNull::new(memory), NonNull::new(map)) else {
        return REFUSED;
    };
    if size == 0 || count == 0 {
        return REFUSED;
    }
    // SAFETY: the caller gives it, of so many words by the header.
    unsafe { map.write_bytes(0, BlockPool::map_words(count)) };
    // SAFETY: the caller gives the memory and the map.
    let pool = unsafe { BlockPool::new(memory, size, count, map) };
    // SAFETY: the caller's own.
    unsafe { place.write(pool) };
    OK
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_message_queue_init(
    place: *mut MessageQueue,
    memory: *mut u8,
    size: usize,
    count: u32,
    links: *mut Link,
) -> i32 {
    let (Some(memory), Some(links)) = (NonNull::new(memory), NonNull::new(links)) else {
        return REFUSED;
    };
    let count = match u16::try_from(count) {
        Ok(count @ 1..=MessageQueue::MOST) => count,
        _ => return REFUSED,
    };
    if size == 0 {
        return REFUSED;
    }
    // SAFETY: the caller gives the memory and the links.
    let queue = unsafe { MessageQueue::new(memory, links, size, count) };
    // SAFETY: the caller's own.
    unsafe { place.write(queue) };
    OK
}

/// The number of a refused wait: one that was to last no time found no room.
const fn refused(error: WaitError, until: u64, at_once: i32) -> i32 {
    match error {
        WaitError::TimedOut if until == 0 => at_once,
        WaitError::TimedOut => TIMED_OUT,
        WaitError::Deleted => DELETED,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_message_queue_put(
    queue: *const MessageQueue,
    message: *const u8,
    priority: u8,
    until: u64,
) -> i32 {
    // SAFETY: a queue, by the header.
    let queue = unsafe { &*queue };
    // SAFETY: a message of the queue's size, by the header.
    let put = unsafe { queue.put(&THREADS, message, priority, until) };
    put.map_or_else(|error| refused(error, until, FULL), |()| OK)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_message_queue_get(
    queue: *const MessageQueue,
    place: *mut u8,
    priority: *mut u8,
    until: u64,
) -> i32 {
    // SAFETY: a queue, by the header.
    let queue = unsafe { &*queue };
    // SAFETY: room for a message of the queue's size, by the header.
    match unsafe { queue.get(&THREADS, place, until) } {
        Ok(found) => {
            if !priority.is_null() {
                // SAFETY: the caller's place.
                unsafe { priority.write(found) };
            }
            OK
        }
        Err(error) => refused(error, until, TIMED_OUT),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_stream_init(
    place: *mut StreamBuffer,
    memory: *mut u8,
    size: usize,
    trigger: usize,
) -> i32 {
    let Some(memory) = NonNull::new(memory).filter(|_| size > 0 && trigger <= size) else {
        return REFUSED;
    };
    let framing = match trigger {
        0 => Framing::Messages,
        trigger => Framing::Stream { trigger },
    };
    // SAFETY: the caller gives the memory.
    let stream = unsafe { StreamBuffer::new(memory, size, framing) };
    // SAFETY: the caller's own.
    unsafe { place.write(stream) };
    OK
}

fn moved(result: Result<usize, StreamError>) -> i64 {
    let error = match result {
        Ok(count) => return count as i64,
        Err(StreamError::TimedOut) => TIMED_OUT,
        Err(StreamError::Deleted) => DELETED,
        Err(StreamError::TooLong) => REFUSED,
    };
    error.into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_stream_send(
    stream: *const StreamBuffer,
    bytes: *const u8,
    count: usize,
    until: u64,
) -> i64 {
    // SAFETY: a stream, by the header.
    let stream = unsafe { &*stream };
    let bytes = match count {
        0 => &[],
        // SAFETY: the caller's bytes.
        _ => unsafe { core::slice::from_raw_parts(bytes, count) },
    };
    moved(stream.send(&THREADS, bytes, until))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_stream_receive(
    stream: *const StreamBuffer,
    place: *mut u8,
    size: usize,
    until: u64,
) -> i64 {
    // SAFETY: a stream, by the header.
    let stream = unsafe { &*stream };
    let place = match size {
        0 => &mut [],
        // SAFETY: the caller's place.
        _ => unsafe { core::slice::from_raw_parts_mut(place, size) },
    };
    moved(stream.receive(&THREADS, place, until))
}

/// Keys that were given out.
static KEYS: AtomicUsize = AtomicUsize::new(0);

#[unsafe(no_mangle)]
extern "C" fn slite_local_key() -> i32 {
    let next = KEYS.fetch_update(Relaxed, Relaxed, |key| {
        (key < LOCAL_KEYS).then_some(key + 1)
    });
    next.map_or(NO_MEMORY, |key| key as i32)
}

/// The calling thread's value under a key.
fn local(key: i32) -> Option<&'static core::sync::atomic::AtomicPtr<c_void>> {
    let key = usize::try_from(key).ok()?;
    let values = LOCALS.get(THREADS.current() as usize)?;
    values.get(key).filter(|_| key < KEYS.load(Relaxed))
}

#[unsafe(no_mangle)]
extern "C" fn slite_local_set(key: i32, value: *mut c_void) -> i32 {
    local(key).map_or(REFUSED, |place| {
        place.store(value, Relaxed);
        OK
    })
}

#[unsafe(no_mangle)]
extern "C" fn slite_local_get(key: i32) -> *mut c_void {
    local(key).map_or(ptr::null_mut(), |place| place.load(Relaxed))
}
