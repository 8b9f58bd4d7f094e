//! Experiments: their name, settings and report

use crate::error::BenchError;
use crate::report::{Report, Row};
use crate::setting::Context;
use bulkhead_run::figures::Kind;

/// An experiment.
pub trait Bench {
    /// Its name on the command line.
    fn id(&self) -> &'static str;
    /// Paper and table or figure.
    fn reproduces(&self) -> &'static str;
    /// Kind of its figures.
    fn kind(&self) -> Kind;
    /// Meaning of its bounds, in one line.
    fn guarantee(&self) -> &'static str;
    /// Returns `true` if it runs on any board, not on that of its descriptions only.
    fn takes_board(&self) -> bool {
        false
    }
    /// Runs it.
    ///
    /// # Errors
    /// The experiment could not be run; a broken promise is no error but a row that is not ok.
    fn run(&self, context: &Context) -> Result<Report, BenchError>;

    /// Its report with these rows.
    fn report(&self, rows: Vec<Row>) -> Report {
        Report {
            id: self.id().into(),
            kind: self.kind(),
            reproduces: self.reproduces().into(),
            guarantee: self.guarantee().into(),
            rows,
        }
    }
}
