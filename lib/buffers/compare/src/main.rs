//! The buffers of Bulkhead beside well-known crates
//!
//! One message put in and taken out again by one thread: the price of the operations themselves.
//! All subjects take turns in short batches, so that whatever disturbs the host disturbs them
//! alike; the figure is the median batch. Prints the rows of `bulkhead bench buffers-host` as JSON;
//! cycles are those of the processor's time-stamp counter.

mod subjects;

use iceoryx2::prelude::{LogLevel, set_log_level};
use quanta::Clock;
use serde_json::{Value, json};
use subjects::Subject;

/// Exchanges in a batch: long beside the clock's resolution, short beside a scheduler's slice.
const BATCH: u32 = 1_000;
/// Batches of each subject.
const BATCHES: usize = 3_000;
/// Limit for writing and reading a message of one line, in cycles of the x86-64 counter.
const FOUR_SLOT: Option<f64> = if cfg!(target_arch = "x86_64") {
    Some(45.0)
} else {
    None
};
/// Equal but for the clock's noise: what two runs of one subject differ by at most.
const TIE: f64 = 1.02;

fn main() {
    set_log_level(LogLevel::Error);
    let mut rows = Vec::new();
    size::<64>(FOUR_SLOT, &mut rows);
    size::<4096>(None, &mut rows);
    println!("{}", json!({ "rows": rows }));
}

/// The rows for messages of `BYTES` bytes; `bound` is that of the four-slot.
fn size<const BYTES: usize>(bound: Option<f64>, rows: &mut Vec<Value>) {
    let mut four_slot = subjects::four_slot::<BYTES>();
    let mut ring = subjects::ring::<BYTES>();
    let mut peers = subjects::peers::<BYTES>();
    let mut all: Vec<&mut Subject> = vec![&mut four_slot, &mut ring];
    all.extend(&mut peers);
    let medians = measure(&mut all);
    let [four_slot, ring, others @ ..] = medians.as_slice() else {
        return;
    };
    rows.push(row(
        &format!("four-slot write + read, {BYTES} B"),
        &[("bulkhead", *four_slot)],
        bound,
    ));
    let fastest = others.iter().copied().fold(f64::INFINITY, f64::min);
    let mut figures = vec![("bulkhead", *ring)];
    figures.extend(
        peers
            .iter()
            .map(|peer| peer.name)
            .zip(others.iter().copied()),
    );
    rows.push(row(
        &format!("ring push + pop, {BYTES} B"),
        &figures,
        Some(fastest * TIE),
    ));
}

/// The median cycles per exchange of each subject.
fn measure(subjects: &mut [&mut Subject]) -> Vec<f64> {
    let clock = Clock::new();
    let mut batches = vec![Vec::with_capacity(BATCHES); subjects.len()];
    for _ in 0..BATCHES {
        for (subject, batches) in subjects.iter_mut().zip(&mut batches) {
            let start = clock.raw();
            (subject.exchange)(BATCH);
            batches.push(clock.raw() - start);
        }
    }
    batches.iter_mut().map(|batches| median(batches)).collect()
}

fn median(batches: &mut [u64]) -> f64 {
    let middle = batches.len() / 2;
    *batches.select_nth_unstable(middle).1 as f64 / f64::from(BATCH)
}

fn row(name: &str, figures: &[(&str, f64)], bound: Option<f64>) -> Value {
    let first = figures.first().map_or(f64::NAN, |(_, cycles)| *cycles);
    let figures: serde_json::Map<String, Value> = figures
        .iter()
        .map(|(name, cycles)| ((*name).to_owned(), json!((cycles * 10.0).round() / 10.0)))
        .collect();
    json!({
        "name": name,
        "figures": figures,
        "unit": "TSC cycles",
        "bound": bound.map(|bound| (bound * 10.0).round() / 10.0),
        "ok": bound.is_none_or(|bound| first <= bound),
    })
}
