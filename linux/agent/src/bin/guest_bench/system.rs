//! System calls that the standard library does not offer
//!
//! Each is the bare call of the C library or, where that hides it, of the kernel: what is measured
//! is the kernel's path, not a wrapper's.
#![expect(unsafe_code, reason = "calls of the C library and the kernel")]

use nix::libc;
use std::cell::UnsafeCell;
use std::io::{Error, Result};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU32;

fn checked(result: i64) -> Result<i64> {
    if result < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Gives the calling thread a `SCHED_FIFO` priority, 1 to 99.
pub(crate) fn set_priority(priority: i32) -> Result<()> {
    let policy = if priority == 0 {
        libc::SCHED_OTHER
    } else {
        libc::SCHED_FIFO
    };
    // The kernel's parameters are one number; the C library's have fields that it does not read.
    // SAFETY: the number lives as long as the call.
    checked(unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority)
    })?;
    Ok(())
}

/// Binds the calling thread, and the threads it creates, to the core with the highest number.
pub(crate) fn stay_on_last_core() -> Result<()> {
    // SAFETY: no memory is passed.
    let cores = checked(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) })?;
    // SAFETY: bits only.
    let mut mask: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: a mask has room for 1024 cores.
    unsafe { libc::CPU_SET(cores.unsigned_abs() as usize - 1, &mut mask) };
    // SAFETY: the mask has the stated length.
    let set = unsafe { libc::sched_setaffinity(0, size_of_val(&mask), &raw const mask) };
    checked(i64::from(set))?;
    Ok(())
}

/// Locks the process's pages, so that none is loaded during a measurement.
pub(crate) fn lock_memory() -> Result<()> {
    // SAFETY: no memory is passed.
    let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    checked(i64::from(locked))?;
    Ok(())
}

pub(crate) fn parent() {
    // SAFETY: no arguments, no failure.
    std::hint::black_box(unsafe { libc::getppid() });
}

pub(crate) fn yield_now() {
    // SAFETY: no arguments, no failure.
    unsafe { libc::sched_yield() };
}

/// Waits while the word is `value`, perhaps less long.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let no_end = null_mut::<libc::timespec>();
    // SAFETY: the word outlives the call; that it has changed, or a signal, is no failure here.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_end) };
}

/// Wakes one waiting thread.
pub(crate) fn futex_wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
}

/// As [`futex_wait`], for a word that processes share.
pub(crate) fn futex_wait_shared(word: &AtomicU32, value: u32) {
    let no_end = null_mut::<libc::timespec>();
    // SAFETY: the word outlives the call; that it has changed, or a signal, is no failure here.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            no_end,
        )
    };
}

/// As [`futex_wake`], for a word that processes share.
pub(crate) fn futex_wake_shared(word: &AtomicU32) {
    // SAFETY: the word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// Memory that processes share, for the rest of the program's life.
pub(crate) struct SharedWords {
    file: i32,
    words: &'static [AtomicU32],
}

impl SharedWords {
    /// Creates so many words, which are zero. A child process inherits the file.
    pub(crate) fn create(count: usize) -> Result<Self> {
        // SAFETY: a name without flags; the file stays open at exec.
        let file = checked(i64::from(unsafe {
            libc::memfd_create(c"bench".as_ptr(), 0)
        }))? as i32;
        let bytes = (count * size_of::<AtomicU32>()) as i64;
        // SAFETY: numbers only.
        checked(i64::from(unsafe { libc::ftruncate(file, bytes) }))?;
        Self::open(file, count)
    }

    /// Maps so many words of an inherited file.
    pub(crate) fn open(file: i32, count: usize) -> Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = count * size_of::<AtomicU32>();
        // SAFETY: a fresh mapping; the file has so many bytes.
        let address = unsafe { libc::mmap(null_mut(), bytes, access, libc::MAP_SHARED, file, 0) };
        if address == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        // SAFETY: mapped for good, aligned to a page, and accessed by atomics only.
        let words = unsafe { std::slice::from_raw_parts(address.cast(), count) };
        Ok(Self { file, words })
    }

    pub(crate) const fn file(&self) -> i32 {
        self.file
    }

    pub(crate) fn word(&self, index: usize) -> &'static AtomicU32 {
        &self.words[index]
    }
}

/// A queue of messages of 32 bytes.
pub(crate) struct Queue(libc::mqd_t);

pub(crate) type Message = [u8; 32];

impl Queue {
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: integers only.
        let mut attributes: libc::mq_attr = unsafe { zeroed() };
        attributes.mq_maxmsg = 4;
        attributes.mq_msgsize = size_of::<Message>() as i64;
        let name = c"/bench".as_ptr();
        let flags = libc::O_CREAT | libc::O_RDWR;
        // SAFETY: name and attributes outlive the call.
        let queue = unsafe { libc::mq_open(name, flags, 0o600, &raw const attributes) };
        checked(i64::from(queue))?;
        Ok(Self(queue))
    }

    pub(crate) fn send(&self, message: &Message) -> Result<()> {
        // SAFETY: so many bytes can be read there.
        let sent = unsafe { libc::mq_send(self.0, message.as_ptr().cast(), message.len(), 0) };
        checked(i64::from(sent))?;
        Ok(())
    }

    pub(crate) fn receive(&self) -> Result<Message> {
        let mut message = [0; 32];
        let room = message.as_mut_ptr().cast();
        // SAFETY: so many bytes can be written there.
        checked(unsafe { libc::mq_receive(self.0, room, message.len(), null_mut()) } as i64)?;
        Ok(message)
    }
}

/// A mutex of the C library.
pub(crate) struct Mutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: made to be shared; nothing else reaches the object behind it.
unsafe impl Sync for Mutex {}

impl Mutex {
    /// Creates a mutex with `PTHREAD_PRIO_NONE` or `PTHREAD_PRIO_INHERIT`.
    pub(crate) fn new(protocol: i32) -> Result<Self> {
        // SAFETY: integers only.
        let mut attributes: libc::pthread_mutexattr_t = unsafe { zeroed() };
        // SAFETY: a mutex is integers and pointers, all of which may be zero.
        let mutex = Self(Box::new(UnsafeCell::new(unsafe { zeroed() })));
        // SAFETY: no other thread has access to them.
        done(unsafe { libc::pthread_mutexattr_init(&raw mut attributes) })?;
        // SAFETY: initialised.
        done(unsafe { libc::pthread_mutexattr_setprotocol(&raw mut attributes, protocol) })?;
        // SAFETY: no other thread has access to them; the attributes are initialised.
        done(unsafe { libc::pthread_mutex_init(mutex.0.get(), &raw const attributes) })?;
        Ok(mutex)
    }

    pub(crate) fn lock(&self) {
        // SAFETY: initialised, and never moved.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }

    pub(crate) fn unlock(&self) {
        // SAFETY: initialised, never moved; the callers hold it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

/// Converts the result of functions that return an error number.
fn done(number: i32) -> Result<()> {
    if number == 0 {
        Ok(())
    } else {
        Err(Error::from_raw_os_error(number))
    }
}

/// Waits until the monotonic clock reaches this time, nanoseconds.
pub(crate) fn sleep_until(time_ns: i64) {
    let time = time_of(time_ns);
    // SAFETY: the time outlives the call. Signals do not come.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            null_mut(),
        )
    };
}

const fn time_of(ns: i64) -> libc::timespec {
    libc::timespec {
        tv_sec: ns / NANOSECONDS,
        tv_nsec: ns % NANOSECONDS,
    }
}

/// The monotonic clock, nanoseconds.
pub(crate) fn now_ns() -> i64 {
    let mut time = time_of(0);
    // SAFETY: the time outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * NANOSECONDS + time.tv_nsec
}

const NANOSECONDS: i64 = 1_000_000_000;
