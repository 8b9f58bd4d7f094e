//! Cost on Linux of the operations that `bulkhead bench prims` measures of the kernel
//!
//! One core; all processes run under `SCHED_FIFO`. Prints lines `bench NAME ROUNDS AVERAGE WORST`,
//! ticks of the machine's counter, the average in hundredths, without the cost of reading the
//! counter.

use crate::system::{self, Mutex, Queue, futex_wait, futex_wake, set_priority};
use bulkhead_linux::{frequency_hz, ticks};
use nix::libc::{PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_NONE};
use std::io::{Read, Result, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread;

const LOW: i32 = 50;
const HIGH: i32 = 60;
const MESSAGE: system::Message = [7; 32];
/// Argument that makes the program the other end of the pipes.
pub(crate) const ECHO: &str = "echo";
/// Interval between two time-outs.
const PERIOD_NS: i64 = 197_000;

/// Prints all lines but the last.
pub(crate) fn measure(rounds: u64) -> Result<()> {
    set_priority(LOW)?;
    let meter = Meter::calibrated(rounds);
    meter.print("null-call", 1, || timed(system::parent));
    switches(&meter)?;
    futex_round_trips(&meter)?;
    pipe_round_trips(&meter)?;
    wakes(&meter)?;
    messages(&meter)?;
    for (name, protocol) in [
        ("mutex", PTHREAD_PRIO_NONE),
        ("mutex-pi", PTHREAD_PRIO_INHERIT),
    ] {
        let mutex = Mutex::new(protocol)?;
        meter.print(name, 1, || {
            timed(|| {
                mutex.lock();
                mutex.unlock();
            })
        });
    }
    contended(&meter)?;
    time_outs(&meter)
}

fn timed(act: impl FnOnce()) -> u64 {
    let start = ticks();
    act();
    ticks() - start
}

/// Repeats a measurement and prints its line.
struct Meter {
    rounds: u64,
    /// Difference of two successive readings of the counter, hundredths of ticks.
    reading: u64,
}

impl Meter {
    fn calibrated(rounds: u64) -> Self {
        let sum: u64 = (0..rounds).map(|_| timed(|| ())).sum();
        let reading = sum * 100 / rounds;
        Self { rounds, reading }
    }

    /// Runs rounds after a warm-up. Each takes `act()` ticks and consists of `parts` operations.
    fn print(&self, name: &str, parts: u64, mut act: impl FnMut() -> u64) {
        (0..self.rounds / 10).for_each(|_| {
            act();
        });
        let (mut sum, mut worst) = (0, 0);
        for _ in 0..self.rounds {
            let round = act();
            sum += round;
            worst = worst.max(round);
        }
        let average = (sum * 100 / self.rounds).saturating_sub(self.reading) / parts;
        let worst = worst.saturating_sub(self.reading / 100) / parts;
        println!("bench {name} {} {average} {worst}", self.rounds);
    }
}

/// Measures beside a helper thread of the same priority, which acts until it is stopped.
fn helped(
    priority: i32,
    mut help: impl FnMut() + Send,
    release: impl Fn(),
    measure: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let (ready, over) = (Signal::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let helper = scope.spawn(|| {
            let set = set_priority(priority);
            ready.send();
            set?;
            while !over.load(Acquire) {
                help();
            }
            Ok(())
        });
        ready.receive();
        let measured = measure();
        over.store(true, Release);
        release();
        helper.join().unwrap_or(Ok(())).and(measured)
    })
}

/// Two threads of one priority yield to each other: two switches a round.
fn switches(meter: &Meter) -> Result<()> {
    helped(
        LOW,
        system::yield_now,
        || (),
        || {
            meter.print("switch", 2, || timed(system::yield_now));
            Ok(())
        },
    )
}

/// A word that one thread sets and another waits for.
#[derive(Default)]
struct Signal(AtomicU32);

impl Signal {
    fn send(&self) {
        self.0.store(1, Release);
        futex_wake(&self.0);
    }

    fn receive(&self) {
        while self.0.load(Acquire) == 0 {
            futex_wait(&self.0, 0);
        }
        self.0.store(0, Release);
    }
}

fn futex_round_trips(meter: &Meter) -> Result<()> {
    let (there, back) = (Signal::default(), Signal::default());
    let echo = || {
        there.receive();
        back.send();
    };
    helped(
        LOW,
        echo,
        || there.send(),
        || {
            meter.print("futex-round-trip", 1, || {
                timed(|| {
                    there.send();
                    back.receive();
                })
            });
            Ok(())
        },
    )
}

/// Between processes: the second one is this program again.
fn pipe_round_trips(meter: &Meter) -> Result<()> {
    let mut child = Command::new("/proc/self/exe")
        .arg(ECHO)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut there), Some(mut back)) = (child.stdin.take(), child.stdout.take()) else {
        return Ok(());
    };
    let mut failed = Ok(());
    meter.print("pipe-round-trip", 1, || {
        timed(|| {
            let mut byte = [1];
            let round = there
                .write_all(&byte)
                .and_then(|()| back.read_exact(&mut byte));
            failed = std::mem::replace(&mut failed, Ok(())).and(round);
        })
    });
    drop(there);
    child.wait()?;
    failed
}

/// The other end of the pipes: returns each message.
pub(crate) fn echo() -> Result<()> {
    let (mut from, mut to) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut byte = [0];
    while from.read(&mut byte)? > 0 {
        to.write_all(&byte)?;
        to.flush()?;
    }
    Ok(())
}

/// From before a waking call until the thread with higher priority runs.
fn one_way(meter: &Meter, name: &str, wake: impl Fn(), wait: impl Fn() + Sync) -> Result<()> {
    let ended = AtomicU64::new(0);
    let high = || {
        wait();
        ended.store(ticks(), Release);
    };
    helped(HIGH, high, &wake, || {
        meter.print(name, 1, || {
            let start = ticks();
            wake();
            let ended = ended.load(Acquire).checked_sub(start);
            ended.expect("the more important thread runs before the call is over")
        });
        Ok(())
    })
}

fn wakes(meter: &Meter) -> Result<()> {
    let signal = Signal::default();
    one_way(
        meter,
        "wake-low-high",
        || signal.send(),
        || signal.receive(),
    )
}

fn messages(meter: &Meter) -> Result<()> {
    let queue = Queue::new()?;
    let send = || drop(queue.send(&MESSAGE));
    let receive = || drop(queue.receive());
    one_way(meter, "message-low-high", send, receive)?;
    meter.print("message-local", 1, || {
        timed(|| {
            send();
            receive();
        })
    });
    Ok(())
}

/// The thread with higher priority requests a mutex that the other holds: it waits, the other
/// unlocks, it continues.
fn contended(meter: &Meter) -> Result<()> {
    let mutex = Mutex::new(PTHREAD_PRIO_INHERIT)?;
    let (go, took) = (Signal::default(), AtomicU64::new(0));
    let high = || {
        go.receive();
        took.store(timed(|| mutex.lock()), Release);
        mutex.unlock();
    };
    helped(
        HIGH,
        high,
        || go.send(),
        || {
            meter.print("mutex-contended", 1, || {
                mutex.lock();
                go.send();
                mutex.unlock();
                let took = took.swap(0, AcqRel);
                assert_ne!(took, 0, "the more important thread runs as soon as it can");
                took
            });
            Ok(())
        },
    )
}

/// Release latency of a thread on a busy core: from the requested time until it runs.
fn time_outs(meter: &Meter) -> Result<()> {
    let tick_ns = 1_000_000_000 / frequency_hz();
    helped(
        0,
        std::hint::spin_loop,
        || (),
        || {
            let mut time = system::now_ns();
            meter.print("timer-user", 1, || {
                time += PERIOD_NS;
                system::sleep_until(time);
                let late = (system::now_ns() - time).unsigned_abs();
                time += i64::try_from(late).unwrap_or(0);
                late / tick_ns
            });
            Ok(())
        },
    )
}
