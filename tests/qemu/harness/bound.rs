//! Bounds of a figure: `3`, `"2.."`, `"..5"`, `"2..5"`, both ends included

use serde::Deserialize;
use std::fmt;

/// Allowed values of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Bound {
    least: u64,
    most: u64,
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
                    most: value,
                });
            }
            Written::Range(text) => text,
        };
        let number = |part: &str, absent| match part {
            "" => Ok(absent),
            digits => digits.replace('_', "").parse(),
        };
        let bound = text.split_once("..").and_then(|(least, most)| {
            Some(Self {
                least: number(least, 0).ok()?,
                most: number(most, u64::MAX).ok()?,
            })
        });
        bound.ok_or_else(|| format!("`{text}` is no bound such as `3`, `\"2..\"` or `\"..5\"`"))
    }
}

impl Bound {
    /// The largest value within.
    pub(crate) const fn most(self) -> u64 {
        self.most
    }

    /// Returns whether `value` is allowed.
    pub(crate) const fn holds(self, value: u64) -> bool {
        self.least <= value && value <= self.most
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (least, most) if least == most => write!(f, "{least}"),
            (0, most) => write!(f, "at most {most}"),
            (least, u64::MAX) => write!(f, "at least {least}"),
            (least, most) => write!(f, "{least} to {most}"),
        }
    }
}
