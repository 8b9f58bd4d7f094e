//! Stages of tuned pipes in Linux
//!
//! `bulkhead-stages INTERFACE PLAN [ROUNDS]`: brings the CAN interface up, runs the plan
//! (`bulkhead_linux_pipes`) with jobs that compute so many rounds of a loop for each microsecond of
//! their WCET (none), and says once a second what the stages did.
#![forbid(unsafe_code)]

use bulkhead_abi::can::BITS_PER_S;
use bulkhead_linux::Can;
use bulkhead_linux_pipes::{Around, Plan, start as start_stages};
use std::error::Error;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("stages: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [interface, plan, rest @ ..] = arguments else {
        return Err("say INTERFACE PLAN [ROUNDS]".into());
    };
    let plan: Plan = plan.parse()?;
    let rounds = rest.first().map_or(Ok(0), |word| word.parse())?;
    let _stays_up = Can::open(interface, BITS_PER_S)?;
    let around = Around {
        interface: Some(interface),
        rounds,
        ..Around::default()
    };
    let (stages, refused) = start_stages(&plan, &around)?;
    if let Some(error) = refused.into_iter().next() {
        return Err(error.into());
    }
    loop {
        thread::sleep(Duration::from_secs(1));
        for count in stages.counts() {
            let (stage, jobs, dropped) = (count.stage, count.jobs, count.dropped);
            let overruns = count.overruns;
            println!("stage {stage}: jobs={jobs} overruns={overruns} dropped={dropped}");
        }
    }
}
