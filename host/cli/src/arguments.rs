//! The command line

use bulkhead_run::machine::{DEFAULT_SHIFT, DEFAULT_SLICE_US};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;

const EXIT_STATUS: &str = "\
Exit status:
    0  done
    1  a promise was broken, or a run did not reach its length
    2  the command line is wrong
    3  the description is refused
    4  the build failed
    5  the system could not be run or found
  130  interrupted

SYSTEM is a folder with a system.toml, such a file, or the name of a folder in systems/;
left out, it is the current folder if there is a system.toml, else `drive`.";

/// Builds and runs mixed-criticality systems from one description.
#[derive(Debug, Parser)]
#[command(name = "bulkhead", version, after_help = EXIT_STATUS)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Checks a description and shows all that is wrong with it.
    Check(Check),
    /// Builds the boot image and prints the memory map, the owner of each resource, and the monitor's size.
    Build(Build),
    /// Builds and runs a system, shows all consoles, and reports.
    Run(Run),
    /// Shows one partition's console and types into it.
    Console(Console),
    /// Types a line into a partition's console.
    Send(Send),
    /// Types a line into Linux of the showcase, e.g. `bulkhead drive set 90`.
    Drive(Drive),
    /// Tells what a key of the description or a rule means; `all` tells everything.
    Explain(Explain),
    /// Shows the faults of the running or the last system, with registers.
    Log(Shown),
    /// Shows entries to EL2, doorbells, faults and restarts of the running or the last system.
    Counters(Shown),
    /// Shows the report of the last run again.
    Report(Shown),
    /// Runs an experiment; `list` lists them, `all` runs them and makes an HTML report.
    Bench(Bench),
    /// Simulates the schedule of a system's VCPUs in virtual time, beside the bounds of the analysis.
    Sim(Sim),
    /// Measures the pipe functions of a system, and writes what they need into the file that its description names.
    Profile(Profile),
    /// Works with pipelines of tuned pipes.
    #[command(subcommand)]
    Pipe(Pipe),
    /// Makes a folder to start from: a commented description, or an application that runs at once.
    New(New),
    /// Ends a running system in an orderly way; its report is still made.
    Stop(Stop),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The system.
    pub(crate) system: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// Also notes: what is given up by a choice.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Also how the bounds of VCPUs and tasks are computed, and where the formulas are from.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Messages as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Sim {
    /// The system.
    pub(crate) system: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// How long, in simulated time, e.g. `10s`.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<Length>,
    /// Of phases and execution times; the same seed gives the same schedule.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The critical instant: all tasks start together, and each job needs its WCET.
    #[arg(long)]
    pub(crate) critical: bool,
    /// VCPUs without budget run if no other VCPU would.
    #[arg(long)]
    pub(crate) background: bool,
    /// Draws the beginning of the schedule.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Writes the beginning of the schedule as a trace for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// How long that beginning is.
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    window: Length,
    /// The result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Sim {
    /// Nanoseconds of the beginning that is drawn.
    pub(crate) const fn window(&self) -> u64 {
        match self.window {
            Length::Ns(ns) => ns,
            Length::Forever => u64::MAX,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Pipe {
    /// Computes budget, period and buffers of each stage, or says why nothing keeps the requirement.
    Solve(PipeSolve),
}

#[derive(Debug, Args)]
pub(crate) struct Profile {
    /// The system.
    pub(crate) system: Option<PathBuf>,
    /// Jobs of each function.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) jobs: u64,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// The result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PipeSolve {
    /// The pipeline, e.g. `* (a | b), c | d | e, f [100/s, 10 ms]`.
    pub(crate) pipeline: String,
    /// The system that has its functions; it is solved beside the system's own pipes, as if it were described there.
    #[arg(long)]
    pub(crate) system: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// In place of a system: a file of functions, and of what they run on.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["system", "set"])]
    pub(crate) functions: Option<PathBuf>,
    /// Also how the bounds are computed, and where the formulas are from.
    #[arg(long)]
    pub(crate) explain: bool,
    /// The result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Build {
    /// The system.
    pub(crate) system: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// The manifest as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Changes to a description for once.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Changes {
    /// Changes a key of the description for once, e.g. `partition.linux.cores=2`; `+=` appends.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Gives a partition argument words for once, e.g. `linux=load=busy`.
    #[arg(long = "argument", value_name = "PARTITION=WORDS")]
    pub(crate) arguments: Vec<String>,
    /// Makes a fault happen, e.g. `linux-panic`: one of those that a partition lists as its `faults`.
    #[arg(long, value_name = "NAME")]
    pub(crate) fault: Option<String>,
}

/// The word for a run without a length.
const FOREVER: &str = "forever";

/// A length of time, of the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Nanoseconds.
    Ns(u64),
    /// Until interrupted.
    Forever,
}

impl FromStr for Length {
    type Err = String;

    /// A number and a unit such as `20s`, `1.5 s`, `500ms`, `2min`; a bare number is seconds.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == FOREVER {
            return Ok(Self::Forever);
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
        let factor = match unit.trim() {
            "ms" => 1e6,
            "s" | "" => 1e9,
            "min" | "m" => 60e9,
            "h" => 3600e9,
            _ => f64::NAN,
        };
        let ns = number.parse().unwrap_or(f64::NAN) * factor;
        // A day is longer than any observed run and far from where the conversion would saturate.
        if (1.0..=86_400e9).contains(&ns) {
            Ok(Self::Ns(ns as u64))
        } else {
            Err("a number and a unit, e.g. `20s`, `500ms`, at most a day; or `forever`".into())
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The system.
    pub(crate) system: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// How long, in the machine's time, e.g. `20s`; `forever` = until Ctrl-C.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<Length>,
    /// By the wall clock, for interactive use, instead of virtual time.
    #[arg(long)]
    pub(crate) real: bool,
    /// Virtual time: nanoseconds of an instruction, as a power of two.
    #[arg(long, default_value_t = DEFAULT_SHIFT, value_parser = clap::value_parser!(u8).range(0..=10))]
    pub(crate) shift: u8,
    /// Virtual time: longest turn of a core, microseconds.
    #[arg(long, default_value_t = DEFAULT_SLICE_US, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) slice: u32,
    /// Logs each exception as the emulator sees it; large.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_interrupts: Option<PathBuf>,
    /// Shows no consoles, only the report.
    #[arg(long)]
    pub(crate) headless: bool,
    /// Shows no consoles; the report is JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Console {
    /// The partition.
    pub(crate) partition: String,
    /// The system.
    #[arg(short, long)]
    pub(crate) system: Option<PathBuf>,
    /// Types this line and shows nothing.
    #[arg(long, value_name = "TEXT")]
    pub(crate) send: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The partition.
    pub(crate) partition: String,
    /// The line.
    #[arg(required = true)]
    pub(crate) text: Vec<String>,
    /// The system.
    #[arg(short, long)]
    pub(crate) system: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Drive {
    /// Command of the agent: `set SPEED`, `profile`, `status`, `stop`, `help`.
    #[arg(required = true)]
    pub(crate) text: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A key such as `partition.heartbeat`, a rule such as `core-given-twice`, or `all`.
    pub(crate) topic: String,
}

#[derive(Debug, Args)]
pub(crate) struct Shown {
    /// The system.
    pub(crate) system: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// An experiment, `list` or `all`.
    pub(crate) id: String,
    /// One JSON object instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// The long version where there is one.
    #[arg(long)]
    pub(crate) long: bool,
    /// Another board than that of the experiment's descriptions.
    #[arg(long)]
    pub(crate) board: Option<String>,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("program").args(["app", "pipe"])))]
pub(crate) struct New {
    /// Name of the system and of its folder, made in the current one.
    pub(crate) name: String,
    /// Makes an application on SliteOS and a system that runs it.
    #[arg(long)]
    pub(crate) app: bool,
    /// Makes pipe functions and a system with a tuned pipe of them.
    #[arg(long)]
    pub(crate) pipe: bool,
    /// The language of either.
    #[arg(long, requires = "program", default_value = "rust", value_enum)]
    pub(crate) lang: Language,
}

/// Languages of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// C, against `slite.h` or `pipe.h`.
    C,
    /// Rust, against `bulkhead_slite` or `bulkhead_pipes_runtime`.
    Rust,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The system.
    pub(crate) system: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn lengths_of_time() {
        let cases = [
            ("20s", 20_000_000_000),
            ("20", 20_000_000_000),
            ("1.5 s", 1_500_000_000),
            ("500ms", 500_000_000),
            ("2min", 120_000_000_000),
        ];
        for (text, ns) in cases {
            assert_eq!(text.parse(), Ok(Length::Ns(ns)), "{text}");
        }
        assert_eq!("forever".parse(), Ok(Length::Forever));
        for text in ["", "s", "-1s", "1x", "0", "1e9s", "9999999999999h", "1..2s"] {
            assert!(text.parse::<Length>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_ways_people_type_it() {
        for line in [
            "bulkhead run",
            "bulkhead run systems/drive --for 20s --set partition.linux.cores=2 --fault linux-panic",
            "bulkhead drive set 90",
            "bulkhead send control hello there",
            "bulkhead console linux --send ls",
            "bulkhead bench traps --json",
        ] {
            assert!(Arguments::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
        assert!(Arguments::try_parse_from(["bulkhead", "run", "--shift", "99"]).is_err());
    }
}
