//! Cost of a thread switch on the host, beside its peers
//!
//! Prints the rows of `bulkhead bench switch-host` as JSON. All subjects take turns in short batches, so
//! so load of the host disturbs them alike; the figure is the median batch, one way, in cycles
//! of the time-stamp counter.
#![expect(unsafe_code, reason = "drives switches and reads the TSC")]

mod contexts;
mod handover;

use bulkhead_hosted::Core;
use serde_json::{Value, json};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

/// Batches of each subject.
const BATCHES: usize = 400;
/// Limit for a switch with all checks.
const BOUND: f64 = 25.0;
/// Index of the other thread.
const PARTNER: usize = 1;

/// Something that switches there and back.
struct Subject {
    name: &'static str,
    /// Round trips of a batch: long beside the counter's steps, short beside a scheduler's slice.
    rounds: u64,
    round_trips: Box<dyn FnMut(u64)>,
}

#[inline(always)]
fn switch(core: &Core, caller: usize, next: usize) {
    let epoch = core.scb().epoch.load(Relaxed);
    // SAFETY: `own` runs; `next` is the other thread.
    unsafe { core.switch(caller, next, epoch) };
}

extern "C" fn partner(caller: u64) -> ! {
    let core = Core::here();
    loop {
        switch(core, caller as usize, 0);
    }
}

fn tsc() -> u64 {
    // SAFETY: reads a counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

pub(crate) fn main() {
    let kept = Core::new().expect("a core");
    kept.spawn(PARTNER, partner).expect("a stack");
    let mut subjects = vec![Subject {
        name: "user-level switch, all checks",
        rounds: 1_000,
        round_trips: Box::new(|rounds| {
            let core = Core::here();
            for _ in 0..rounds {
                switch(core, 0, PARTNER);
            }
        }),
    }];
    subjects.push(contexts::swapcontext());
    let boost = contexts::boost();
    let missing = boost.is_none();
    subjects.extend(boost);
    subjects.push(handover::futex());
    subjects.push(handover::pipe());
    let medians = measure(&mut subjects);
    let mut rows: Vec<Value> = subjects
        .iter()
        .zip(medians)
        .enumerate()
        .map(|(place, (subject, cycles))| row(subject.name, cycles, (place == 0).then_some(BOUND)))
        .collect();
    if missing {
        // The name is all that it says: there is no figure.
        rows.push(json!({
            "name": "boost.context: not installed (`make setup` does, or apt-get install libboost-context-dev)",
            "figures": {}, "unit": "TSC cycles", "bound": null, "ok": true,
        }));
    }
    println!("{}", json!({ "rows": rows }));
    // Threads that wait for a hand-over wait for ever.
    std::process::exit(0);
}

/// The median cycles one way of each subject.
fn measure(subjects: &mut [Subject]) -> Vec<f64> {
    let mut batches: Vec<Vec<u64>> = vec![Vec::with_capacity(BATCHES); subjects.len()];
    for _ in 0..BATCHES {
        for (subject, batches) in subjects.iter_mut().zip(&mut batches) {
            // What the subject before it left in caches and predictors is not its own.
            (subject.round_trips)(subject.rounds / 10);
            let start = tsc();
            (subject.round_trips)(subject.rounds);
            batches.push(tsc() - start);
        }
    }
    let median = |(subject, mut batches): (&Subject, Vec<u64>)| {
        let middle = batches.len() / 2;
        *batches.select_nth_unstable(middle).1 as f64 / (2 * subject.rounds) as f64
    };
    subjects.iter().zip(batches).map(median).collect()
}

fn row(name: &str, cycles: f64, bound: Option<f64>) -> Value {
    let cycles = (cycles * 10.0).round() / 10.0;
    json!({
        "name": name,
        "figures": { "median": cycles },
        "unit": "TSC cycles",
        "bound": bound,
        "ok": bound.is_none_or(|bound| cycles <= bound),
    })
}

/// A place that threads of this host thread share.
struct Shared<T>(Cell<T>);

// SAFETY: reached by one host thread.
unsafe impl<T> Sync for Shared<T> {}
