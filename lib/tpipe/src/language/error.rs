//! Syntax errors: place, problem, and what is expected there

use crate::language::syntax::{DEPTH, NAME, Span};
use core::fmt;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Place; empty at the end of the text.
    pub span: Span,
    /// The problem.
    pub fault: Fault,
}

/// Kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Something else should stand there.
    Expected(Expected),
    /// A parenthesis or bracket, at the place, is never closed.
    NeverClosed,
    /// A parenthesis closes nothing.
    NothingToClose,
    /// Parentheses are nested deeper than [`DEPTH`].
    TooDeep,
    /// There are more stages than there is room for.
    TooManyStages {
        /// The room.
        room: usize,
    },
    /// A name is longer than [`NAME`].
    NameTooLong,
    /// A number with two points, without digits, or with more digits than count.
    BadNumber,
    /// A number too large for what it counts.
    TooLarge,
    /// Nothing per second, or no time at all.
    Zero,
    /// A loss of everything or more.
    LosesAll,
    /// A unit that is none here.
    UnknownUnit(Expected),
    /// A delay without a unit.
    NoUnit,
    /// A loss where buffers are lossless.
    LossOfFifo,
    /// A throughput where buffers are four-slot.
    ThroughputOfFourSlot,
}

/// Expected text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The start of a stage.
    Item,
    /// Text that may follow a stage.
    AfterItem,
    /// Text that may follow a stage in parentheses.
    AfterItemInside,
    /// A loss.
    Loss,
    /// A throughput.
    Throughput,
    /// A delay.
    Delay,
    /// The comma in a requirement.
    Comma,
    /// The end of a requirement.
    Bracket,
    /// The end of the text.
    End,
}

impl fmt::Display for Expected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Item => "the name of a function or `(`",
            Self::AfterItem => "`|`, `,`, a requirement `[...]` or the end",
            Self::AfterItemInside => "`|`, `,` or `)`",
            Self::Loss => "a loss such as `20 %` or `0.2`",
            Self::Throughput => "a throughput such as `100/s` or `0.1/ms`",
            Self::Delay => "a delay such as `10 ms`, in ns, us, ms or s",
            Self::Comma => "`,` and a delay",
            Self::Bracket => "`]`",
            Self::End => "the end",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected(expected) => write!(out, "expected {expected}"),
            Self::NeverClosed => out.write_str("this is never closed"),
            Self::NothingToClose => out.write_str("this closes nothing"),
            Self::TooDeep => write!(out, "parentheses are nested deeper than {DEPTH}"),
            Self::TooManyStages { room } => write!(out, "there are more than {room} stages"),
            Self::NameTooLong => write!(out, "a name has at most {NAME} characters"),
            Self::BadNumber => out.write_str(
                "this is no number that counts exactly: digits, at most one point, and no digit \
                 smaller than a nanosecond, a millionth of a loss or of a message per second",
            ),
            Self::TooLarge => out.write_str("this number is too large"),
            Self::Zero => out.write_str("nothing can keep a requirement of zero"),
            Self::LosesAll => out.write_str("a loss is less than 100 %"),
            Self::UnknownUnit(expected) => write!(out, "this is no unit here; expected {expected}"),
            Self::NoUnit => out.write_str("the unit is missing: ns, us, ms or s"),
            Self::LossOfFifo => out.write_str(
                "a lossless pipeline has a throughput here, no loss: `100/s`, or drop the `*`",
            ),
            Self::ThroughputOfFourSlot => out.write_str(
                "a four-slot pipeline has a loss here, no throughput: `20 %`, or start with `*`",
            ),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "byte {}: {}", self.span.start, self.fault)
    }
}

impl core::error::Error for SyntaxError {}
