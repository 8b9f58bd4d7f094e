//! Findings of a run, and the verdict that they give

use serde::{Deserialize, Serialize};
use std::fmt::Write;

use crate::figures::Kind;

/// Silence after which a partition hangs, if the description names no heartbeat; seconds.
const SILENCE_S: f64 = 0.5;

/// Silence after which a partition or a task has stopped by the clock of the host, which can halt an emulated core for a second.
pub(super) const HOST_SILENCE_S: f64 = 5.0;

/// Time that a partition without a heartbeat may take to start again, if it announces that it is up: Linux boots in about a second.
pub(super) const START_S: f64 = 4.0;

/// Pass or fail, and the reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// No promise was broken.
    pub pass: bool,
    /// Times were those of the host's clock, so that deadlines, bounds and rates were not judged.
    #[serde(default)]
    pub is_untimed: bool,
    /// Broken promises that decide.
    pub broken: Vec<Finding>,
    /// Broken promises that the description waives, or that follow from a requested fault.
    pub waived: Vec<Finding>,
}

/// A promise that was broken, or could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of the subject, as `run.waive` names it.
    pub subject: String,
    /// The broken promise, in words.
    pub what: String,
    /// A requested fault caused it.
    #[serde(skip)]
    pub(super) is_injected: bool,
}

impl Finding {
    pub(super) fn injected(self, is_injected: bool) -> Self {
        Self {
            is_injected,
            ..self
        }
    }
}

impl Verdict {
    /// One line for the verdict, one for each broken promise.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = match self.broken.len() {
            0 if self.is_untimed => {
                "PASS: every promise was kept, times aside, which the host's clock cannot judge\n"
                    .to_owned()
            }
            0 => "PASS: every promise was kept\n".to_owned(),
            1 => "FAIL: 1 promise was broken\n".to_owned(),
            count => format!("FAIL: {count} promises were broken\n"),
        };
        let lines = self.broken.iter().map(|one| ("", one));
        let waived = self.waived.iter().map(|one| ("does not count: ", one));
        for (mark, Finding { subject, what, .. }) in lines.chain(waived) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {mark}{subject}: {what}");
        }
        text
    }
}

/// Returns a finding that no requested fault caused.
pub(super) fn finding(subject: &str, what: impl Into<String>) -> Finding {
    Finding {
        subject: subject.into(),
        what: what.into(),
        is_injected: false,
    }
}

/// Returns the silence after which a partition or a task has stopped, seconds.
pub(super) const fn longest_silence(kind: Kind) -> f64 {
    match kind {
        Kind::Emulated => HOST_SILENCE_S,
        _ => SILENCE_S,
    }
}
