//! Cost of everyday operations on Linux, for `bulkhead bench guest-overhead`, `prims`,
//! `pipeline-isolation` and `pipe-isolated`
//!
//! Without arguments it prints lines `bench NAME ITERATIONS TICKS`: ticks of the machine's counter
//! for all iterations together, after a warm-up. The program runs unchanged in a partition and on
//! the bare machine. `primitives ROUNDS` measures the operations by which real-time systems are
//! compared, `pipelines EVENTS` processes in series, `messages EVENTS` messages of several sizes between two processes.

mod messages;
mod pipelines;
mod primitives;
mod system;

use bulkhead_linux::ticks;
use nix::unistd::getppid;
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::panic;
use std::process::{Command, exit};

const PAGE: usize = 4096;

/// Name, number of iterations, and the operation.
type Measure = (&'static str, usize, fn(usize));

const MEASURES: [Measure; 4] = [
    ("fork-exec-wait", 200, fork_exec_wait),
    ("page-fault", 20_000, page_fault),
    ("system-call", 200_000, system_call),
    ("cpu-loop", 20_000_000, cpu_loop),
];

fn main() -> std::io::Result<()> {
    // Otherwise the other threads would wait for ever for one that cannot continue.
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |what| {
        report(what);
        exit(1);
    }));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [primitives::ECHO] => return primitives::echo(),
        [pipelines::STAGE, number, count, priority] => {
            return pipelines::stage([number, count, priority]);
        }
        [messages::READER, way, memory, bytes] => return messages::reader([way, memory, bytes]),
        ["messages", events] => messages::measure(events.parse().unwrap_or(100))?,
        ["pipelines", events] => pipelines::measure(events.parse().unwrap_or(100))?,
        ["primitives", rounds] => primitives::measure(rounds.parse().unwrap_or(1000))?,
        _ => everyday(),
    }
    println!("bench done");
    Ok(())
}

fn everyday() {
    for (name, iterations, act) in MEASURES {
        act(iterations / 10);
        let begin = ticks();
        act(iterations);
        println!("bench {name} {iterations} {}", ticks() - begin);
    }
}

/// With a user id set, the library forks instead of spawning.
fn fork_exec_wait(iterations: usize) {
    for _ in 0..iterations {
        let status = Command::new("/bin/busybox").arg("true").uid(0).status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "/bin/busybox true does not run"
        );
    }
}

fn page_fault(iterations: usize) {
    let mut memory = vec![0_u8; iterations * PAGE];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    black_box(&memory);
}

fn system_call(iterations: usize) {
    (0..iterations).for_each(|_| {
        black_box(getppid());
    });
}

fn cpu_loop(iterations: usize) {
    let mut state = black_box(1_u64);
    for _ in 0..iterations {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}
