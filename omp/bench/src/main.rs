//! `omp-bench`: the runtime beside GCC's and LLVM's, in one run.
//!
//! Every program is compiled once by `gcc -fopenmp`; what differs is the `libgomp.so.1` that it
//! finds. Runs of the runtimes alternate, so that whatever else the machine does hits all alike.
//! Figures are of the kind *host*: times and cycles of this machine.

mod apps;
mod bots;
mod conserve;
mod micro;
mod report;
mod runtime;
mod trace;
mod turns;

use clap::{Parser, ValueEnum};
use report::Report;
use runtime::{Bench, Trouble};
use std::path::PathBuf;
use std::process::ExitCode;

/// Which table to make.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Table {
    /// Regions, tasks and barriers: average and worst.
    #[value(name = "omp-micro")]
    Micro,
    /// Task-parallel kernels: time and memory.
    #[value(name = "omp-bots")]
    Bots,
    /// Mini-applications: time.
    #[value(name = "omp-apps")]
    Apps,
    /// Constructs in the manner of EPCC's benchmarks.
    #[value(name = "omp-constructs")]
    Constructs,
    /// Work conservation: the ideal time, every time.
    #[value(name = "omp-conserve")]
    Conserve,
}

/// Runs a benchmark; ends well only if every promise in it holds.
#[derive(Debug, Parser)]
struct Options {
    /// Which tables (all without).
    tables: Vec<Table>,
    /// Prints JSON, one object per table.
    #[arg(long)]
    json: bool,
    /// Fewer repetitions: for a look, not for a verdict.
    #[arg(long)]
    quick: bool,
    /// Only rows with this in their name, for applications and constructs.
    #[arg(long, default_value = "")]
    only: String,
    /// Folder with this runtime as libgomp.so.1.
    #[arg(long, default_value = "omp/build")]
    runtime: PathBuf,
    /// Folder with the runtime built to trace itself, as libgomp.so.1.
    #[arg(long, default_value = "omp/build/trace")]
    traced: PathBuf,
    /// Folder with the kernels' sources.
    #[arg(long, default_value = "omp/bench/kernels")]
    kernels: PathBuf,
    /// Folder for compiled kernels.
    #[arg(long, default_value = "omp/build/kernels")]
    out: PathBuf,
}

fn run(table: Table, bench: &Bench) -> Result<Report, Trouble> {
    match table {
        Table::Micro => micro::run(bench),
        Table::Bots => bots::run(bench),
        Table::Apps => apps::applications(bench),
        Table::Constructs => apps::constructs(bench),
        Table::Conserve => conserve::run(bench),
    }
}

fn run_all(options: &Options) -> Result<bool, Trouble> {
    let bench = Bench::new(
        &options.runtime,
        &options.traced,
        &options.kernels,
        &options.out,
        options.quick,
        &options.only,
    )?;
    let all = [
        Table::Micro,
        Table::Bots,
        Table::Apps,
        Table::Constructs,
        Table::Conserve,
    ];
    let tables = if options.tables.is_empty() {
        &all[..]
    } else {
        &options.tables
    };
    let mut good = true;
    for table in tables {
        let report = run(*table, &bench)?;
        report.print(options.json);
        good &= report.holds();
    }
    Ok(good)
}

fn main() -> ExitCode {
    match run_all(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            eprintln!("omp-bench: {trouble}");
            ExitCode::from(2)
        }
    }
}
