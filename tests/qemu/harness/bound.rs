//! Bounds of a figure: `3`, `"2.."`, `"..5"`, `"2..5"`, both ends included
//!
//! The upper end may be a sum, and a term of it the name of another figure: what the tool computed for the run,
//! as in `"..path.control.log.sample-emit.bound-ns+1_000"`.

use crate::figures::Figures;
use serde::Deserialize;
use std::fmt;

/// Allowed values of a figure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Bound {
    least: u64,
    /// No upper end: `None`.
    most: Option<Sum>,
}

/// A number and figures that are added to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    number: u64,
    figures: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Exactly(u64),
    Range(String),
}

impl TryFrom<Written> for Bound {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let text = match written {
            Written::Exactly(value) => {
                return Ok(Self {
                    least: value,
                    most: Some(Sum {
                        number: value,
                        figures: Vec::new(),
                    }),
                });
            }
            Written::Range(text) => text,
        };
        let bound = text.split_once("..").and_then(|(least, most)| {
            let least = if least.is_empty() {
                Some(0)
            } else {
                number(least)
            };
            Some(Self {
                least: least?,
                most: if most.is_empty() {
                    None
                } else {
                    Some(Sum::read(most)?)
                },
            })
        });
        bound.ok_or_else(|| format!("`{text}` is no bound such as `3`, `\"2..\"` or `\"..5\"`"))
    }
}

fn number(digits: &str) -> Option<u64> {
    digits.replace('_', "").parse().ok()
}

impl Sum {
    fn read(text: &str) -> Option<Self> {
        let mut sum = Self::default();
        for term in text.split('+') {
            match number(term) {
                Some(value) => sum.number = sum.number.checked_add(value)?,
                // A name has parts, so that a mistyped number is none.
                None if term.contains('.') => sum.figures.push(term.to_owned()),
                None => return None,
            }
        }
        Some(sum)
    }

    /// The value in a run, or the name of a figure that the run has not.
    fn value(&self, figures: &Figures) -> Result<u64, &str> {
        let mut value = self.number;
        for name in &self.figures {
            value = value.saturating_add(*figures.get(name).ok_or(name.as_str())?);
        }
        Ok(value)
    }
}

impl Bound {
    /// The largest allowed value in a run.
    pub(crate) fn most(&self, figures: &Figures) -> Result<u64, &str> {
        self.most
            .as_ref()
            .map_or(Ok(u64::MAX), |sum| sum.value(figures))
    }

    /// Returns whether `value` is allowed in a run with these figures, or the name of a figure that the run has not.
    pub(crate) fn holds(&self, value: u64, figures: &Figures) -> Result<bool, &str> {
        Ok(self.least <= value && value <= self.most(figures)?)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, &self.most) {
            (least, Some(most))
                if *most
                    == Sum {
                        number: least,
                        ..Sum::default()
                    } =>
            {
                write!(f, "{least}")
            }
            (0, Some(most)) => write!(f, "at most {most}"),
            (least, None) => write!(f, "at least {least}"),
            (least, Some(most)) => write!(f, "{least} to {most}"),
        }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = (self.number > 0 || self.figures.is_empty()).then(|| self.number.to_string());
        let terms: Vec<_> = self.figures.iter().cloned().chain(number).collect();
        f.write_str(&terms.join(" + "))
    }
}
