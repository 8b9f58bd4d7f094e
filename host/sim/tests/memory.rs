//! Ten thousand VCPUs on 128 cores, in bounded memory: a program of its own, so that the memory is
//! its own

use bulkhead_model::timing::{Place, Task, Timing, Vcpu, VcpuKind};
use bulkhead_sim::{Options, simulate};

const US: u64 = 1_000;
/// Most resident memory, KiB: a kibibyte and a half for the statistics of a task, as much again
/// for what describes it, and the program itself.
const MOST_KIB: u64 = 48 << 10;

fn ten_thousand() -> Timing {
    let mut timing = Timing::default();
    for number in 0..10_000 {
        let period_ns = (10_000 + number as u64) * US;
        let kind = VcpuKind::Main {
            capacity_ns: period_ns / 120,
            period_ns,
        };
        timing.vcpus.push(Vcpu {
            name: format!("v{number}"),
            span: 0..0,
            kind,
            place: Place::default(),
            core: number % 128,
        });
        timing.tasks.push(Task {
            name: format!("t{number}"),
            span: 0..0,
            vcpu: number,
            after: None,
            burst: 1,
            is_stage: false,
            cause: number,
            wcet_ns: period_ns / 130,
            period_ns,
            deadline_ns: period_ns,
        });
    }
    timing
}

/// The most that was resident so far, KiB; nothing where the system does not tell.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[test]
fn ten_thousand_vcpus() {
    let timing = ten_thousand();
    let mut jobs = Vec::new();
    for milliseconds in [50, 500] {
        let options = Options {
            for_ns: milliseconds * 1_000 * US,
            seed: 7,
            critical: true,
            background: false,
        };
        let outcome = simulate(&timing, options, &mut ()).expect("fits");
        assert!(outcome.tasks.iter().all(|task| task.late == 0));
        jobs.push(outcome.tasks.iter().map(|task| task.jobs).sum::<u64>());
    }
    assert!(jobs[0] >= 20_000 && jobs[1] >= 8 * jobs[0], "{jobs:?} jobs");
    if let Some(peak) = peak_kib() {
        println!("{peak} KiB at most, for {} jobs", jobs[1]);
        assert!(peak <= MOST_KIB, "{peak} KiB resident");
    }
}
