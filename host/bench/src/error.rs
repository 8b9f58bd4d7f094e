//! Why an experiment could not be run

use bulkhead_model::Diagnostic as Finding;
use bulkhead_run::RunError;
use miette::Diagnostic;
use std::path::PathBuf;
use thiserror::Error;

/// Why an experiment could not be run.
#[derive(Debug, Error, Diagnostic)]
pub enum BenchError {
    /// Its system's description is refused.
    #[error(
        "the description of the experiment is refused:\n{}",
        messages(findings)
    )]
    #[diagnostic(code(bench::refused), help("`bulkhead check` shows the places"))]
    Refused {
        /// The fact.
        findings: Vec<Finding>,
    },
    /// Its system could not be built.
    #[error("{}{}", .0.message, .0.detail.as_ref().map_or_else(String::new, |text| format!("\n{text}")))]
    #[diagnostic(code(bench::build), help("{}", .0.help))]
    Build(Box<bulkhead_image::BuildError>),
    /// Its system could not be run.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Run(#[from] RunError),
    /// Its program could not be run.
    #[error("{program}: {message}")]
    #[diagnostic(
        code(bench::program),
        help("`make setup` installs what experiments need")
    )]
    Program {
        /// The program.
        program: String,
        /// Its failure.
        message: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    #[diagnostic(
        code(bench::file),
        help("see that the file's folder exists, has space and may be written by you")
    )]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The guest did not print what was to be measured.
    #[error("the guest did not measure `{what}`")]
    #[diagnostic(
        code(bench::incomplete),
        help("its console is beside the report, in {}", folder.display())
    )]
    Incomplete {
        /// The missing line.
        what: String,
        /// Run folder.
        folder: PathBuf,
    },
}

impl BenchError {
    /// For `map_err` on files.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

fn messages(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|finding| format!("  {}\n", finding.message))
        .collect()
}
