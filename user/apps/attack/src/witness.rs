//! The good guest: says whether it is left alone
//!
//! A 1 kHz job that compares its memory and image with their state at the start, counts interrupts
//! without a legitimate sender, sends and checks messages, and measures its release jitter.

use crate::guard::Guard;
use crate::traffic::Traffic;
use bulkhead_rtos::interrupt::{self, Interrupt};
use bulkhead_rtos::{Job, Period, System, println};
use core::convert::Infallible;
use core::ops::ControlFlow;

/// Jobs from one report to the next, and for comparing everything once.
const REPORT_EVERY: u64 = 100;
/// Software-generated interrupts, which a partition of one core never sends to itself.
const SGIS: usize = 16;

/// Reason for an end, which never happens.
pub(crate) type Ended = &'static str;

/// State of the witness.
pub(crate) struct Witness {
    life: u32,
    guard: Guard,
    sgis: [Option<Interrupt>; SGIS],
    traffic: Traffic,
    latest: u64,
    skipped: u64,
}

impl Witness {
    /// Takes note of everything and announces the partition.
    pub(crate) fn start(system: &System, life: u32) -> Self {
        let witness = Self {
            life,
            guard: Guard::new(REPORT_EVERY),
            sgis: core::array::from_fn(|intid| interrupt::enable(intid as u32, None)),
            traffic: Traffic::open(system),
            latest: 0,
            skipped: 0,
        };
        println!("witness: life={life} image={:#x}", witness.guard.image);
        let _counted_from_here = system.announce_up();
        witness
    }

    /// Reports for ever.
    pub(crate) fn serve(mut self, system: &System) -> Result<Infallible, Ended> {
        system.run_periodic("witness", Period::from_micros(1000), |job| {
            self.look(job);
            if job.number % REPORT_EVERY == REPORT_EVERY - 1 {
                self.report(system, job);
            }
            ControlFlow::Continue(())
        })
    }

    fn look(&mut self, job: &Job) {
        self.latest = self.latest.max(job.start - job.release);
        self.skipped += job.skipped;
        self.guard.step();
        self.traffic.flow();
    }

    fn report(&self, system: &System, job: &Job) {
        let [memory, image] = self.guard.verdicts();
        let sgis: u64 = self.sgis.iter().flatten().map(Interrupt::count).sum();
        println!(
            "witness: life={} jobs={} late={} skipped={} sgis={sgis} unexpected={} traps={} memory={memory} image={image}",
            self.life,
            job.number + 1,
            self.latest,
            self.skipped,
            interrupt::unexpected(),
            system.traps_since_up(0),
        );
        println!("traffic: {}", self.traffic);
    }
}
