//! Peers that hand over between host threads of one core

use super::Subject;
use std::ptr::null;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Keeps the calling host thread on the core where it is, with those that it starts.
fn stay() {
    // SAFETY: no arguments.
    let core = unsafe { libc::sched_getcpu() };
    // SAFETY: all-zero is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: a core that there is.
    unsafe { libc::CPU_SET(core.max(0) as usize, &mut set) };
    // SAFETY: a valid set; where it is refused, the two threads run where they may.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
}

fn wait(word: &AtomicU32, while_it_is: u32) {
    while word.load(Acquire) == while_it_is {
        // SAFETY: a word that lives.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                while_it_is,
                null::<libc::timespec>(),
            )
        };
    }
}

fn wake(word: &AtomicU32, value: u32) {
    word.store(value, Release);
    // SAFETY: a word that lives.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1,
        )
    };
}

/// One word: 0 is this thread's turn, 1 the other one's.
pub(crate) fn futex() -> Subject {
    stay();
    let turn = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&turn);
    std::thread::spawn(move || {
        loop {
            wait(&other, 0);
            wake(&other, 0);
        }
    });
    Subject {
        name: "futex hand-over, one core",
        rounds: 20,
        round_trips: Box::new(move |rounds| {
            for _ in 0..rounds {
                wake(&turn, 1);
                wait(&turn, 1);
            }
        }),
    }
}

/// A byte through a pipe, and one back through another.
pub(crate) fn pipe() -> Subject {
    stay();
    let ([here_in, there_out], [there_in, here_out]) = (new_pipe(), new_pipe());
    std::thread::spawn(move || {
        loop {
            read(there_in);
            write(there_out);
        }
    });
    Subject {
        name: "pipe hand-over, one core",
        rounds: 20,
        round_trips: Box::new(move |rounds| {
            for _ in 0..rounds {
                write(here_out);
                read(here_in);
            }
        }),
    }
}

fn new_pipe() -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: room for both ends.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0, "pipe");
    ends
}

fn read(end: i32) {
    let mut byte = 0u8;
    // SAFETY: room for a byte.
    let got = unsafe { libc::read(end, (&raw mut byte).cast(), 1) };
    assert_eq!(got, 1, "read");
}

fn write(end: i32) {
    // SAFETY: a byte.
    let put = unsafe { libc::write(end, (&raw const end).cast(), 1) };
    assert_eq!(put, 1, "write");
}
