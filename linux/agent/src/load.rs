//! Cores kept busy in user and kernel space
//!
//! For measurements of a busy steady state: processes, page faults, files, system calls and
//! arithmetic in turn, without a pause, clock or random numbers. In addition the background load of
//! "Tuned Pipes" §4: five copies of files, five network transfers, here over the loopback, and a
//! periodic task that takes a fifth of a core.

use crate::console::say;
use bulkhead_linux::Error;
use nix::unistd::getppid;
use std::fs;
use std::hint::black_box;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

const PAGE: usize = 4096;
const FILE: &str = "/tmp/busy";

/// Never returns.
pub(crate) fn keep_busy() -> ! {
    loop {
        processes(4);
        page_faults(4 << 20);
        files(256 << 10);
        system_calls(2000);
        arithmetic(200_000);
    }
}

/// Background tasks of each kind, and the work of each per period.
const TASKS: usize = 5;
const TASK_PERIOD: Duration = Duration::from_millis(50);
const COPIED: usize = 896 << 10;
const PACKETS: usize = 70;
const PACKET: usize = 1400;
const TELLING: Duration = Duration::from_millis(500);
/// A fifth of a core.
const PERIODIC: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(2)];

/// Total since the start: bytes of files, packets that arrived.
static COPIED_BYTES: AtomicU64 = AtomicU64::new(0);
static ARRIVED: AtomicU64 = AtomicU64::new(0);

/// Prints totals twice a second. Returns only with an error.
pub(crate) fn traffic() -> Result<(), Error> {
    for number in 0..TASKS {
        copy_files(number)?;
        send_packets()?;
    }
    let [period, share] = PERIODIC;
    let mut last_report = Instant::now();
    every(period, || {
        let start = Instant::now();
        while start.elapsed() < share {
            arithmetic(1000);
        }
        if last_report.elapsed() >= TELLING {
            last_report += TELLING;
            tell();
        }
    });
    Ok(())
}

fn tell() {
    let [copied, packets] = [&COPIED_BYTES, &ARRIVED].map(|count| count.load(Relaxed));
    let idle = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let idle = idle
        .split_whitespace()
        .nth(1)
        .and_then(|seconds| seconds.parse().ok());
    let idle = (idle.unwrap_or(0.0_f64) * 1000.0) as u64;
    say(format_args!(
        "traffic: copied={copied} packets={packets} idle-ms={idle}"
    ));
}

fn copy_files(number: usize) -> Result<(), Error> {
    let (from, to) = (format!("/tmp/from-{number}"), format!("/tmp/to-{number}"));
    let written = fs::write(&from, vec![number as u8; COPIED]);
    written.map_err(failed(&from))?;
    thread::spawn(move || {
        every(TASK_PERIOD, || {
            let bytes = fs::copy(&from, &to).unwrap_or(0);
            COPIED_BYTES.fetch_add(bytes, Relaxed);
        });
    });
    Ok(())
}

fn send_packets() -> Result<(), Error> {
    let socket = || UdpSocket::bind("127.0.0.1:0").map_err(failed("loopback"));
    let (receiver, sender) = (socket()?, socket()?);
    let whither = receiver.local_addr().map_err(failed("loopback"))?;
    thread::spawn(move || {
        let mut bytes = [0; PACKET];
        while receiver.recv(&mut bytes).is_ok() {
            ARRIVED.fetch_add(1, Relaxed);
        }
    });
    thread::spawn(move || {
        every(TASK_PERIOD, || {
            for _ in 0..PACKETS {
                let _lost_if_full = sender.send_to(&[0x5a; PACKET], whither);
            }
        });
    });
    Ok(())
}

fn failed(path: &str) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.into();
    move |source| Error::File { path, source }
}

/// Runs `act` once per period, immediately if it is late.
fn every(period: Duration, mut act: impl FnMut()) {
    let mut next = Instant::now();
    loop {
        act();
        next += period;
        thread::sleep(next.saturating_duration_since(Instant::now()));
        next = next.max(Instant::now() - period);
    }
}

fn processes(count: usize) {
    for _ in 0..count {
        let _ = Command::new("/bin/busybox")
            .arg("true")
            .stdin(Stdio::null())
            .status();
    }
}

/// Allocates memory, touches each page, and frees it.
fn page_faults(bytes: usize) {
    let mut memory = vec![0_u8; bytes];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    black_box(&memory);
}

fn files(bytes: usize) {
    let content = vec![0x5a; bytes];
    if fs::write(FILE, &content).is_ok() {
        let _ = black_box(fs::read(FILE));
        let _ = fs::remove_file(FILE);
    }
}

fn system_calls(count: usize) {
    (0..count).for_each(|_| {
        black_box(getppid());
    });
}

fn arithmetic(rounds: u64) {
    let mut state = black_box(1_u64);
    for _ in 0..rounds {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}
