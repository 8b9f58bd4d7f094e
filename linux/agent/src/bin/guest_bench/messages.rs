//! Messages of several sizes between two processes, for `bulkhead bench pipe-isolated`
//!
//! Both processes are on one otherwise idle core, under `SCHED_FIFO`, memory locked; the reader has the higher priority. The end of a sleep
//! starts each message, and the reader takes the time as soon as it has it: all of it from a pipe, or its first word in memory that both
//! share, where a futex wakes the reader.
//! Prints lines `bench WAY-BYTES EVENTS AVERAGE WORST`, nanoseconds, the average in hundredths.

use crate::system::{self, SharedWords, now_ns, sleep_until};
use std::io::{Error, Read, Result, Write, stdin};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Argument that makes the program the reader.
pub(crate) const READER: &str = "message-reader";
const WAYS: [&str; 2] = ["pipe", "shared"];
const SIZES: [usize; 5] = [16, 256, 4 << 10, 64 << 10, 1 << 20];
/// Messages before those that are measured.
const WARM_UP: u64 = 5;
const PRIORITY: i32 = 10;
const PERIOD_NS: i64 = 20_000_000;
/// Words of the shared memory: number of the message, whether the reader is ready, nanoseconds from release to reception (low, high),
/// release (low, high); the message is behind them.
const NUMBER: usize = 0;
const READY: usize = 1;
const RESPONSE: usize = 2;
const RELEASE: usize = 4;
const MESSAGE: usize = 16;

/// Prints all lines but the last.
pub(crate) fn measure(events: u64) -> Result<()> {
    system::stay_on_last_core()?;
    system::set_priority(PRIORITY)?;
    for way in WAYS {
        for bytes in SIZES {
            let responses = Pair::start(way, bytes)?.responses(events)?;
            let sum: u64 = responses.iter().sum();
            let worst = responses.iter().max().copied().unwrap_or(0);
            println!(
                "bench {way}-{bytes} {events} {} {worst}",
                sum * 100 / events
            );
        }
    }
    Ok(())
}

/// The writer, with its reader.
struct Pair {
    reader: Child,
    memory: SharedWords,
    /// The message that goes into a pipe; nothing where memory is shared.
    message: Option<Vec<u8>>,
}

impl Pair {
    fn start(way: &str, bytes: usize) -> Result<Self> {
        let memory = SharedWords::create(MESSAGE + bytes.div_ceil(4))?;
        let reader = Command::new("/proc/self/exe")
            .args([READER, way, &memory.file().to_string(), &bytes.to_string()])
            .stdin(Stdio::piped())
            .spawn()?;
        while memory.word(READY).load(Acquire) == 0 {
            system::futex_wait_shared(memory.word(READY), 0);
        }
        let message = (way == WAYS[0]).then(|| vec![0; bytes]);
        Ok(Self {
            reader,
            memory,
            message,
        })
    }

    /// Delay of each message after the timer's expiry, nanoseconds.
    fn responses(mut self, events: u64) -> Result<Vec<u64>> {
        let mut release = now_ns();
        let mut responses = Vec::new();
        for number in 1..=WARM_UP + events {
            release = now_ns().max(release) / PERIOD_NS * PERIOD_NS + PERIOD_NS;
            store(&self.memory, RELEASE, release.unsigned_abs());
            sleep_until(release);
            match (&self.message, &mut self.reader.stdin) {
                (Some(message), Some(pipe)) => pipe.write_all(message)?,
                _ => {
                    self.memory.word(MESSAGE).store(number as u32, Relaxed);
                    self.memory.word(NUMBER).store(number as u32, Release);
                    system::futex_wake_shared(self.memory.word(NUMBER));
                }
            }
            if number > WARM_UP {
                responses.push(load(&self.memory, RESPONSE));
            }
        }
        self.memory.word(NUMBER).store(u32::MAX, Release);
        system::futex_wake_shared(self.memory.word(NUMBER));
        drop(self.reader.stdin.take());
        self.reader.wait()?;
        Ok(responses)
    }
}

fn store(memory: &SharedWords, index: usize, value: u64) {
    memory.word(index).store(value as u32, Relaxed);
    memory.word(index + 1).store((value >> 32) as u32, Release);
}

fn load(memory: &SharedWords, index: usize) -> u64 {
    let halves = [index + 1, index].map(|word| u64::from(memory.word(word).load(Acquire)));
    halves[0] << 32 | halves[1]
}

/// The reader, until no message comes any more.
pub(crate) fn reader([way, file, bytes]: [&str; 3]) -> Result<()> {
    let bytes: usize = bytes.parse().map_err(Error::other)?;
    let memory = SharedWords::open(
        file.parse().map_err(Error::other)?,
        MESSAGE + bytes.div_ceil(4),
    )?;
    system::lock_memory()?;
    system::set_priority(PRIORITY + 1)?;
    memory.word(READY).store(1, Release);
    system::futex_wake_shared(memory.word(READY));
    let mut message = vec![0; bytes];
    let mut pipe = stdin().lock();
    let mut number = 0;
    loop {
        if way == WAYS[0] {
            if pipe.read_exact(&mut message).is_err() {
                return Ok(());
            }
        } else {
            number = next(memory.word(NUMBER), number);
            if number == u32::MAX {
                return Ok(());
            }
            if memory.word(MESSAGE).load(Relaxed) != number {
                return Err(Error::other("another message"));
            }
        }
        let response = now_ns().unsigned_abs() - load(&memory, RELEASE);
        store(&memory, RESPONSE, response);
    }
}

/// Waits for the message behind the one of that number.
fn next(word: &AtomicU32, number: u32) -> u32 {
    loop {
        match word.load(Acquire) {
            found if found != number => return found,
            _ => system::futex_wait_shared(word, number),
        }
    }
}
