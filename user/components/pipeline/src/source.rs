//! The source of messages, and the report about them
//!
//! Each message has passed all stages before the source continues, because every stage has a higher
//! priority.

use crate::THREADS;
use crate::stages::{enter, is_nested, word};
use bulkhead_abi::component::stages::{
    EVENTS, HOPS_BITS, LENGTHS, LINE, PERIOD_US, REFUSED, STAGES, SUM, WARM_UP, WORST, WRONG,
};
use bulkhead_component::figure::Figure;
use bulkhead_component::{clock, println};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Messages per line of output.
const REPORT: u64 = 200;
/// Number of measured messages for each length; 0: the pipeline runs without a measurement.
static MEASURED: AtomicU64 = AtomicU64::new(0);

/// Sets the number of measured messages for each length.
pub(crate) fn events(number: u64) {
    MEASURED.store(number, Relaxed);
    if number != 0 {
        word(STAGES).store(LENGTHS[0], Relaxed);
    }
}

pub(crate) extern "C" fn run(_: u64) -> ! {
    let period = word(PERIOD_US).load(Relaxed) * clock::frequency() / 1_000_000;
    // On the grid of the parent's notifications, if there is one; the period in which the pipeline
    // started does not count.
    let mut release = clock::now().next_multiple_of(period) + period;
    for message in 1_u64.. {
        THREADS.sleep_until(release);
        enter(1, release << HOPS_BITS);
        release += period;
        match MEASURED.load(Relaxed) {
            _ if is_nested() => {}
            0 if message.is_multiple_of(REPORT) => tell(message),
            0 => {}
            measured => measure(message - 1, measured),
        }
    }
    unreachable!("numbers do not end")
}

fn tell(messages: u64) {
    let of = |number: usize| word(number).load(Relaxed);
    println!(
        "{LINE}: {messages} messages, {} stages, through {}, refused {}, wrong {}, worst {} us",
        of(STAGES),
        of(EVENTS),
        of(REFUSED),
        of(WRONG),
        clock::micros(of(WORST)),
    );
}

/// Measures one length after the other, each after a warm-up.
fn measure(message: u64, measured: u64) {
    let (length, within) = (
        message / (WARM_UP + measured),
        message % (WARM_UP + measured),
    );
    let Some(length) = LENGTHS.get(length as usize) else {
        return;
    };
    if within == WARM_UP - 1 {
        for number in [EVENTS, SUM, WORST] {
            word(number).store(0, Relaxed);
        }
    }
    if within != WARM_UP + measured - 1 {
        return;
    }
    let of = |number: usize| word(number).load(Relaxed);
    Figure::of(of(EVENTS), of(SUM), of(WORST)).print(format_args!("{LINE}-{length}"));
    match LENGTHS.iter().find(|next| *next > length) {
        Some(next) => word(STAGES).store(*next, Relaxed),
        None => println!(
            "bench wrong {} refused {}; bench done",
            of(WRONG),
            of(REFUSED)
        ),
    }
}
