//! A core kept busy in user and kernel space
//!
//! For measurements of a busy steady state: processes, page faults, files, system calls, arithmetic,
//! in turn and without a pause. No clock, no chance.

use nix::unistd::getppid;
use std::fs;
use std::hint::black_box;
use std::process::{Command, Stdio};

const PAGE: usize = 4096;
const FILE: &str = "/tmp/busy";

/// Never ends.
pub(crate) fn keep_busy() -> ! {
    loop {
        processes(4);
        page_faults(4 << 20);
        files(256 << 10);
        system_calls(2000);
        arithmetic(200_000);
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

/// Fresh memory, each page touched, given back.
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
