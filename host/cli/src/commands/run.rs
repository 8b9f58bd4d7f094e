//! `bulkhead run`

use bulkhead_model::system::{Clock, System};
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::{RunFolder, Timing};
use bulkhead_run::report::{Report, report_text};
use bulkhead_run::{Ended, RunOptions};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::typing;
use crate::arguments::{Length, Run};
use crate::checkout::Checkout;
use crate::display::Display;
use crate::failure::Failure;

const BROKEN: u8 = 1;
const INTERRUPTED: u8 = 130;
/// Shortest heartbeat in real time, nanoseconds.
const PATIENT_NS: u64 = 5_000_000_000;
/// In a run this long a fault has come, Linux's boot before it included; nanoseconds.
const FAULT_BY_NS: u64 = 8_000_000_000;

pub(super) fn execute(arguments: &Run) -> Result<ExitCode, Failure> {
    let checkout = Checkout::find()?;
    let quiet = arguments.json || arguments.headless;
    let system = arguments.system.as_deref();
    let (mut system, remarks) = super::load(&checkout, system, &arguments.changes, arguments.json)?;
    super::show_remarks(&remarks, false);
    let real = arguments.real || system.run.clock == Clock::Real;
    if real {
        be_patient(&mut system);
    }
    let out = checkout.out(&system.name);
    let manifest = super::build::build(&checkout, &system, &arguments.changes, quiet)?.manifest;
    let options = options(arguments, real, RunOptions::of_manifest(&manifest))?;
    warn_of_short(arguments.changes.fault.as_deref(), options.for_ns);
    let names: Vec<_> = manifest.partitions.iter().map(|p| p.name.clone()).collect();
    let mut display = Display::new(&names, !quiet);
    let interrupted = interruption()?;
    if real && !quiet {
        typing::forward(&system, &manifest, RunFolder::new(&out, &system.name));
    }
    let report = bulkhead_run::run(&manifest, &out, &options, &mut display, &interrupted);
    display.finish();
    let report = report?;
    show(&report, arguments.json);
    Ok(status(&report))
}

/// An emulator stops cores for longer than any sensible heartbeat whenever its host is busy.
fn be_patient(system: &mut System) {
    for partition in &mut system.partitions {
        if let Some(ns) = partition.heartbeat_ns.filter(|&ns| ns < PATIENT_NS) {
            partition.heartbeat_ns = Some(PATIENT_NS);
            eprintln!(
                "bulkhead: in real time the heartbeat of `{}` is {} s instead of {} ms",
                partition.name,
                PATIENT_NS / 1_000_000_000,
                ns / 1_000_000,
            );
        }
    }
}

/// Says that a fault asked for may not come within the run.
fn warn_of_short(fault: Option<&str>, for_ns: Option<u64>) {
    let short = for_ns.filter(|&ns| ns < FAULT_BY_NS);
    if let (Some(fault), Some(ns)) = (fault, short) {
        eprintln!(
            "bulkhead: `{fault}` strikes some five seconds after its partition is up; a run of {} s may end before it",
            ns as f64 / 1e9,
        );
    }
}

fn options(arguments: &Run, real: bool, usual: RunOptions) -> Result<RunOptions, Failure> {
    let timing = match usual.timing {
        _ if real => Timing::Real,
        Timing::Virtual { .. } => Timing::Virtual {
            shift: arguments.shift,
            slice_us: arguments.slice,
        },
        Timing::Real => Timing::Real,
    };
    let for_ns = match arguments.length {
        None => usual.for_ns,
        Some(Length::Forever) => None,
        Some(Length::Ns(ns)) => Some(ns),
    };
    let absolute = |path: &std::path::PathBuf| {
        std::path::absolute(path).map_err(|source| Failure::File {
            path: path.clone(),
            source,
        })
    };
    let interrupt_log = arguments
        .log_interrupts
        .as_ref()
        .map(absolute)
        .transpose()?;
    Ok(RunOptions {
        timing,
        for_ns,
        interrupt_log,
        ..usual
    })
}

/// Becomes true at the first Ctrl-C; the second ends the tool, and with it the emulator.
fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let exit =
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&flag));
        let set = flag::register(signal, Arc::clone(&flag));
        exit.and(set).map_err(|source| Failure::File {
            path: "signals".into(),
            source,
        })?;
    }
    Ok(flag)
}

fn show(report: &Report, as_json: bool) {
    if as_json {
        println!("{:#}", json!(report));
        return;
    }
    println!();
    print!("{}", report_text(report));
    if report.kind == Kind::Emulated {
        println!(
            "\nThese times are those of an emulator on a busy host: they prove nothing, and the verdict does not judge them."
        );
    }
}

/// Returns the exit status of the verdict.
pub(super) fn status(report: &Report) -> ExitCode {
    let interrupted = report.ended == Ended::Interrupted.sentence() && report.for_s.is_some();
    match report.verdict.pass {
        true => ExitCode::SUCCESS,
        false if interrupted => ExitCode::from(INTERRUPTED),
        false => ExitCode::from(BROKEN),
    }
}
