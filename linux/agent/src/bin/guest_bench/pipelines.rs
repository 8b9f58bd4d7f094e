//! Processes in series, joined by pipes, for `bulkhead bench pipeline-isolation`
//!
//! Cost of stages with an address space each on Linux, under the best conditions: all on one
//! otherwise idle core, under `SCHED_FIFO`, memory locked. The end of a sleep starts each message
//! (on PREEMPT_RT a file of `timerfd_create` is signalled later); the last stage takes the time as
//! soon as it has the message. Two orders are measured: later stages have higher priority, so that
//! each runs as soon as it has a message; or all have the same, so that each first reaches its next
//! wait.
//! Prints lines `bench ORDER-STAGES EVENTS AVERAGE WORST`, nanoseconds, the average in hundredths.

use crate::system::{self, now_ns, sleep_until};
use bulkhead_abi::component::stages::{HOPS_BITS, LENGTHS, WARM_UP, counted, hops};
use std::fs::File;
use std::io::{Error, Read, Result, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Argument that makes the program a stage.
pub(crate) const STAGE: &str = "stage";
/// Priority of the source; stages are above it.
const PRIORITY: i32 = 10;
const PERIOD_NS: i64 = 5_000_000;
/// Difference in priority between a stage and the one before it.
const ORDERS: [(&str, i32); 2] = [("rising", 1), ("level", 0)];

/// Prints all lines but the last.
pub(crate) fn measure(events: u64) -> Result<()> {
    system::stay_on_last_core()?;
    system::set_priority(PRIORITY)?;
    for (name, rise) in ORDERS {
        for stages in LENGTHS {
            let responses = Pipeline::start(stages, rise)?.responses(events)?;
            let sum: u64 = responses.iter().sum();
            let worst = responses.iter().max().copied().unwrap_or(0);
            println!(
                "bench {name}-{stages} {events} {} {worst}",
                sum * 100 / events
            );
        }
    }
    Ok(())
}

struct Pipeline {
    stages: Vec<Child>,
    begin: ChildStdin,
    /// File in which the last stage reports the delay of each message.
    end: ChildStdout,
}

impl Pipeline {
    fn start(count: u64, rise: i32) -> Result<Self> {
        let mut stages: Vec<Child> = Vec::new();
        for (stage, steps) in (1..=count).zip(1..) {
            let before = stages.last_mut().and_then(|child| child.stdout.take());
            let priority = PRIORITY + 1 + rise * steps;
            let child = Command::new("/proc/self/exe")
                .arg(STAGE)
                .args([stage.to_string(), count.to_string(), priority.to_string()])
                .stdin(before.map_or_else(Stdio::piped, Stdio::from))
                .stdout(Stdio::piped())
                .spawn()?;
            stages.push(child);
        }
        let begin = stages.first_mut().and_then(|child| child.stdin.take());
        let end = stages.last_mut().and_then(|child| child.stdout.take());
        match (begin, end) {
            (Some(begin), Some(end)) => Ok(Self { stages, begin, end }),
            _ => Err(Error::other("no pipes")),
        }
    }

    /// Delay of each message after the timer's expiry, nanoseconds, after a warm-up.
    fn responses(mut self, events: u64) -> Result<Vec<u64>> {
        let mut release = now_ns();
        let mut responses = Vec::new();
        for message in 0..WARM_UP + events {
            release = now_ns().max(release) / PERIOD_NS * PERIOD_NS + PERIOD_NS;
            sleep_until(release);
            let word = release.unsigned_abs() << HOPS_BITS;
            self.begin.write_all(&word.to_le_bytes())?;
            let response = read_word(&mut self.end)?;
            if message >= WARM_UP {
                responses.push(response);
            }
        }
        drop(self.begin);
        for mut stage in self.stages {
            stage.wait()?;
        }
        Ok(responses)
    }
}

fn read_word(from: &mut impl Read) -> Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// One stage of `count`, until no message comes any more.
pub(crate) fn stage([number_text, count, priority]: [&str; 3]) -> Result<()> {
    let number = |text: &str| text.parse::<u64>().map_err(Error::other);
    let (number_text, count) = (number(number_text)?, number(count)?);
    system::lock_memory()?;
    system::set_priority(priority.parse().map_err(Error::other)?)?;
    // Bypasses the buffers of the standard streams.
    let mut from = File::from(stdin().as_fd().try_clone_to_owned()?);
    let mut to = File::from(stdout().as_fd().try_clone_to_owned()?);
    while let Ok(word) = read_word(&mut from) {
        let now = now_ns();
        let word = counted(word);
        let passed = if number_text < count {
            word
        } else if hops(word) == count {
            now.unsigned_abs() - (word >> HOPS_BITS)
        } else {
            return Err(Error::other("a stage was left out"));
        };
        to.write_all(&passed.to_le_bytes())?;
    }
    Ok(())
}
