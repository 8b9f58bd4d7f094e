//! Schedules of systems that name no band and no slot, as they were before there were any
//!
//! `golden/traces.txt` has, of each of a number of random systems, a digest of its schedule, and
//! the beginning of the example's schedule in full. It was recorded before time partitions and EDF
//! bands existed; `BLESS=1` records it anew.

use crate::random::{US, system};
use bulkhead_model::timing::Timing;
use bulkhead_sched::harness::Random;
use bulkhead_sim::{Observer, Options, Stretch, simulate};
use std::fmt::Write;
use std::path::Path;

const SYSTEMS: u64 = 200;
/// Of the example's schedule, nanoseconds.
const SHOWN: u64 = 50_000 * US;

/// FNV-1a (Fowler, Noll, Vo) over what ran when.
struct Digest(u64);

impl Observer for Digest {
    fn ran(&mut self, stretch: Stretch) {
        let words = [
            stretch.task as u64,
            stretch.core as u64,
            stretch.from,
            stretch.until,
        ];
        for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

struct Lines(String);

impl Observer for Lines {
    fn ran(
        &mut self,
        Stretch {
            task, from, until, ..
        }: Stretch,
    ) {
        let _ = writeln!(self.0, "{task} {from} {until}");
    }
}

fn digest(timing: &Timing, seed: u64) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for background in [false, true] {
        let options = Options {
            for_ns: 100_000 * US,
            seed,
            critical: background,
            background,
        };
        simulate(timing, options, &mut digest).expect("few enough");
    }
    digest.0
}

#[test]
fn without_a_band_schedules_are_what_they_were() {
    let mut text = String::new();
    for seed in 1..=SYSTEMS {
        let timing = system(&mut Random::new(seed));
        let _ = writeln!(text, "{seed} {:016x}", digest(&timing, seed));
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let (system, _) = bulkhead_model::load(&root.join("systems/vcpus"), &root, &Default::default())
        .expect("the example is sound");
    let options = Options {
        for_ns: SHOWN,
        seed: 7,
        critical: true,
        background: false,
    };
    let mut lines = Lines(text);
    simulate(&system.partitions[0].timing, options, &mut lines).expect("few enough");
    let golden = here.join("tests/golden/traces.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &lines.0).expect("writable");
    }
    let expected = std::fs::read_to_string(&golden).expect("recorded");
    assert!(
        expected == lines.0,
        "{} is not as recorded",
        golden.display()
    );
}
