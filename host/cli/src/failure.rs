//! Why a command failed, how that is shown, and the exit status

use bulkhead_bench::BenchError;
use bulkhead_model::Diagnostic as Finding;
use bulkhead_model::render::{self, Style};
use bulkhead_run::RunError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use thiserror::Error;

/// Columns of a terminal of unknown width.
const USUAL_WIDTH: u16 = 100;
const REFUSED: u8 = 3;
const BUILD_FAILED: u8 = 4;
const NOT_RUN: u8 = 5;

/// Why a command failed.
#[derive(Debug, Error, Diagnostic)]
pub(crate) enum Failure {
    #[error("this is not a Bulkhead checkout")]
    #[diagnostic(
        code(tool::no_checkout),
        help("change into one, or name it in the environment variable BULKHEAD_ROOT")
    )]
    NoCheckout,
    #[error("there is no system `{name}`")]
    #[diagnostic(
        code(tool::no_system),
        help(
            "name a folder with a system.toml, or one of: {candidates}; `bulkhead new NAME` makes one"
        )
    )]
    NoSystem { name: String, candidates: String },
    #[error("`{text}` gives no partition an argument")]
    #[diagnostic(
        code(tool::bad_argument),
        help("PARTITION=WORDS, e.g. `linux=load=busy`")
    )]
    BadArgument { text: String },
    #[error("there is no fault `{fault}` to make")]
    #[diagnostic(
        code(tool::bad_fault),
        help("{candidates}; see the key `faults` of partitions")
    )]
    BadFault { fault: String, candidates: String },
    #[error("`{topic}` is neither a key of the description nor a rule")]
    #[diagnostic(
        code(tool::unknown_topic),
        help("{}`bulkhead explain all` tells them all", did_you_mean(*nearest))
    )]
    UnknownTopic {
        topic: String,
        nearest: Option<&'static str>,
    },
    #[error("there is no experiment `{id}`")]
    #[diagnostic(code(tool::unknown_bench), help("`bulkhead bench list` lists them"))]
    UnknownBench { id: String },
    #[error("the experiment `{id}` runs on the board of its descriptions only")]
    #[diagnostic(
        code(tool::bench_of_one_board),
        help("traps, footprint, restart, stop-latency and determinism take a board")
    )]
    BenchOfOneBoard { id: String },
    #[error("{} exists already", path.display())]
    #[diagnostic(
        code(tool::exists),
        help("choose another name, or change what is there")
    )]
    Exists { path: PathBuf },
    #[error("`{name}` cannot be the name of a system")]
    #[diagnostic(
        code(tool::bad_name),
        help("at most 15 characters: small letters, digits and dashes, a letter first")
    )]
    BadName { name: String },
    #[error("{}: {source}", path.display())]
    #[diagnostic(
        code(tool::file),
        help("see that the file's folder exists, has space and may be written by you")
    )]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("system `{system}` schedules nothing")]
    #[diagnostic(
        code(tool::nothing_scheduled),
        help("describe VCPUs and tasks of a partition; systems/vcpus is an example")
    )]
    NothingScheduled { system: String },
    #[error("a simulation must end")]
    #[diagnostic(code(tool::endless), help("`--for 10s`, for example"))]
    EndlessSimulation,
    #[error(transparent)]
    #[diagnostic(
        code(tool::simulation),
        help("spread the VCPUs over more cores, or tasks over fewer VCPUs")
    )]
    Simulation(#[from] bulkhead_sim::SetUpError),
    #[error("the description is refused")]
    Refused { findings: Vec<Finding>, json: bool },
    #[error("the build failed")]
    Build {
        finding: Box<Finding>,
        detail: Option<String>,
    },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Bench(#[from] BenchError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Run(#[from] RunError),
}

impl Failure {
    /// Shows it and gives the exit status.
    pub(crate) fn show(&self) -> ExitCode {
        match self {
            Self::Refused {
                findings,
                json: true,
            } => println!(
                "{:#}",
                json!({ "accepted": false, "findings": render::to_json(findings) })
            ),
            Self::Refused {
                findings,
                json: false,
            } => {
                eprint!("{}", render::render(findings, style()));
            }
            Self::Build { finding, detail } => {
                detail.iter().for_each(|text| eprintln!("{text}"));
                eprint!("{}", render::render(std::slice::from_ref(finding), style()));
            }
            other => eprintln!("{}", picture(other)),
        }
        ExitCode::from(self.status())
    }

    const fn status(&self) -> u8 {
        match self {
            Self::Refused { .. } => REFUSED,
            Self::Build { .. } => BUILD_FAILED,
            Self::Run(_)
            | Self::Bench(_)
            | Self::NoSystem { .. }
            | Self::NoCheckout
            | Self::File { .. } => NOT_RUN,
            _ => 2,
        }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

/// How diagnostics look on this terminal.
pub(crate) fn style() -> Style {
    let columns = terminal_size::terminal_size().map_or(USUAL_WIDTH, |(width, _)| width.0);
    Style {
        colour: colourful(),
        width: usize::from(columns).clamp(60, 120),
    }
}

fn colourful() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn picture(failure: &Failure) -> String {
    let theme = if colourful() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(style().width);
    let mut text = String::new();
    match handler.render_report(&mut text, failure) {
        Ok(()) => text,
        Err(std::fmt::Error) => failure.to_string(),
    }
}
