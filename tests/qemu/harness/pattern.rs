//! Pattern of a line: a text that it contains, or a regular expression `/…/`

use regex::Regex;
use serde::Deserialize;
use std::fmt;

/// A pattern for a line.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Pattern {
    written: String,
    regex: Regex,
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        let expression = written
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        let regex = match expression {
            Some(expression) => Regex::new(expression),
            None => Regex::new(&regex::escape(&written)),
        };
        let regex = regex.map_err(|error| error.to_string())?;
        Ok(Self { written, regex })
    }
}

impl Pattern {
    /// Returns whether the line matches.
    pub(crate) fn is_in(&self, line: &str) -> bool {
        self.regex.is_match(line)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.written.fmt(f)
    }
}
