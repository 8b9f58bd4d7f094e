//! Queues, mutexes, semaphores, events

use bulkhead_slite::{Events, Mutex, Queue, Semaphore, Wish};

use crate::{MESSAGE_WORDS, NOT_OWNER, OK, QUEUE_MESSAGES, REFUSED, THREADS, TIMED_OUT, answer};

type Message = [u64; MESSAGE_WORDS];
type Messages = Queue<Message, QUEUE_MESSAGES>;
type Lock = Mutex<()>;

// The sizes in the header; all zero is what `new` makes but of a semaphore.
const _: () = assert!(size_of::<Messages>() <= 576 && align_of::<Messages>() <= 16);
const _: () = assert!(size_of::<Lock>() <= 32 && align_of::<Lock>() <= 16);
const _: () = assert!(size_of::<Semaphore>() <= 32 && align_of::<Semaphore>() <= 16);
const _: () = assert!(size_of::<Events>() <= 32 && align_of::<Events>() <= 16);

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_queue_send(
    queue: *const Messages,
    message: *const Message,
    until: u64,
) -> i32 {
    // SAFETY: the caller's.
    let message = unsafe { message.read_unaligned() };
    // SAFETY: a queue, by the header.
    let queue = unsafe { &*queue };
    if until == 0 {
        answer(queue.send(&THREADS, &message))
    } else {
        answer(queue.send_until(&THREADS, &message, until))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_queue_receive(
    queue: *const Messages,
    place: *mut Message,
    until: u64,
) -> i32 {
    // SAFETY: a queue, by the header.
    let queue = unsafe { &*queue };
    match queue.receive_until(&THREADS, until) {
        Ok(message) => {
            // SAFETY: the caller's.
            unsafe { place.write_unaligned(message) };
            OK
        }
        Err(_) => TIMED_OUT,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_mutex_lock(mutex: *const Lock, until: u64) -> i32 {
    // SAFETY: a mutex, by the header.
    answer(unsafe { &*mutex }.acquire(&THREADS, until))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_mutex_unlock(mutex: *const Lock) -> i32 {
    // SAFETY: a mutex, by the header.
    if unsafe { &*mutex }.release(&THREADS) {
        OK
    } else {
        NOT_OWNER
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_semaphore_init(place: *mut Semaphore, count: u32, maximum: u32) -> i32 {
    if count > maximum {
        return REFUSED;
    }
    // SAFETY: the caller's own.
    unsafe { place.write(Semaphore::new(count, maximum)) };
    OK
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_semaphore_take(semaphore: *const Semaphore, until: u64) -> i32 {
    // SAFETY: a semaphore, by the header.
    answer(unsafe { &*semaphore }.wait(&THREADS, until))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_semaphore_give(semaphore: *const Semaphore) -> i32 {
    // SAFETY: a semaphore, by the header.
    answer(unsafe { &*semaphore }.give(&THREADS))
}

/// Bits of a wish, as in the header.
const ALL: i32 = 1;
const KEEP: i32 = 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_events_wait(
    events: *const Events,
    flags: u32,
    wish: i32,
    until: u64,
    found: *mut u32,
) -> i32 {
    let wish = Wish {
        flags,
        all: wish & ALL != 0,
        clear: wish & KEEP == 0,
    };
    // SAFETY: events, by the header.
    match unsafe { &*events }.wait(&THREADS, wish, until) {
        Ok(_) if found.is_null() => OK,
        Ok(flags) => {
            // SAFETY: the caller's.
            unsafe { found.write(flags) };
            OK
        }
        Err(_) => TIMED_OUT,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_events_set(events: *const Events, flags: u32) {
    // SAFETY: events, by the header.
    unsafe { &*events }.set(&THREADS, flags);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_events_clear(events: *const Events, flags: u32) -> u32 {
    // SAFETY: events, by the header.
    unsafe { &*events }.clear(&THREADS, flags)
}
