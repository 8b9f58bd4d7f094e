//! The heartbeat of a core, and of the partition
//!
//! The least important thread of each core writes the time into a word of that core; a thread with
//! a higher priority that loops for ever therefore stops it. The component that owns the
//! partition's word writes the oldest time of all cores: as long as it is recent, the threads of
//! every core make progress. A core that has not begun is left out; the partition is not up before
//! all cores work.
#![expect(unsafe_code, reason = "words at addresses that are given")]

use bulkhead_abi::component::COMPONENT_CORES;
use bulkhead_component::{Environment, clock};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Address of the word, or 0.
static WORD: AtomicU64 = AtomicU64::new(0);
/// Ticks between two renewals.
static PAUSE: AtomicU64 = AtomicU64::new(0);
/// Addresses of the words of other cores, or 0.
static OTHERS: [AtomicU64; COMPONENT_CORES] = [const { AtomicU64::new(0) }; COMPONENT_CORES];

/// Finds the words. Returns whether this core has one.
pub fn prepare(env: &Environment) -> bool {
    let Some(word) = env.heartbeat() else {
        return false;
    };
    let address = |word: &'static AtomicU64| core::ptr::from_ref(word).expose_provenance() as u64;
    let period = env.info().guest.heartbeat_period_ticks / 2;
    // Without a period of the description, the verdict of a run takes half a second of silence for a hang.
    let pause = match period {
        0 => clock::frequency() / 4,
        period => period,
    };
    PAUSE.store(pause, Relaxed);
    for (place, other) in OTHERS.iter().zip(env.pulses()) {
        place.store(address(other), Relaxed);
    }
    WORD.store(address(word), Relaxed);
    true
}

/// Renews the word, if there is one. Returns the tick of the next renewal.
pub fn beat() -> u64 {
    let now = clock::now();
    let others = OTHERS.iter().filter_map(word);
    let begun = others
        .map(|other| other.load(Acquire))
        .filter(|beat| *beat != 0);
    let oldest = begun.fold(now, u64::min);
    if let Some(word) = word(&WORD) {
        word.store(oldest, Release);
    }
    now + PAUSE.load(Relaxed)
}

fn word(place: &AtomicU64) -> Option<&'static AtomicU64> {
    let address = place.load(Relaxed) as usize;
    let word: *mut u64 = core::ptr::with_exposed_provenance_mut(address);
    // SAFETY: addresses from `prepare`, mapped for good; all of it is atomic.
    (address != 0).then(|| unsafe { AtomicU64::from_ptr(word) })
}
