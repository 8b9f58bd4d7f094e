//! The pipeline language (003 §3.1.3)
//!
//! ```text
//! pipeline = [ "*" ] series [ "[" ( loss | throughput ) "," delay "]" ]
//! series   = parallel { "|" parallel }
//! parallel = item { "," item }
//! item     = NAME | "(" series ")"
//! ```
//!
//! The comma binds tighter than the bar, as in the paper's example: in `(A | B), C | D` the outputs
//! of B and C feed D. `*` (also written `[*]`) asks for lossless first-in first-out buffers,
//! otherwise all buffers are four-slot. A loss is `20 %` or `0.2`, a throughput `100/s` or
//! `0.1/ms`, a delay `10 ms`; a bare throughput is per second and a bare delay in microseconds, as
//! in the paper.
//!
//! A text of this language is a two-terminal series-parallel graph, with stages as its edges: each
//! stage leads from one [`Stage::from`] junction to one [`Stage::to`] junction, and every stage
//! into a junction feeds every stage out of it. So nothing is ever unconnected, there are no
//! cycles, and all stages into a junction stand in the text before those out of it.

mod error;
mod parser;
mod quantity;
mod scanner;
mod syntax;

pub use error::{Expected, Fault, SyntaxError};
pub use syntax::{
    Buffering, DEPTH, Flow, Joint, Loss, MILLION, NAME, Requirement, SOURCE, Span, Stage,
    Throughput,
};

use core::fmt;

/// A pipeline of at most `N` stages.
#[derive(Clone, Debug)]
pub struct Pipeline<'t, const N: usize> {
    /// Of all its buffers.
    pub buffering: Buffering,
    /// Absent = best effort.
    pub requirement: Option<Requirement>,
    /// Place of the requirement, or an empty place at the end.
    pub requirement_span: Span,
    stages: [Stage<'t>; N],
    len: usize,
}

impl<'t, const N: usize> Pipeline<'t, N> {
    /// Reads a text.
    ///
    /// # Errors
    /// The first mistake, its place and what should stand there.
    pub fn parse(text: &'t str) -> Result<Self, SyntaxError> {
        parser::parse(text)
    }

    /// Its stages, in an order in which data flow.
    #[must_use]
    pub fn stages(&self) -> &[Stage<'t>] {
        &self.stages[..self.len]
    }

    /// A stage that is fed, directly or through others, by one of the same function.
    #[must_use]
    pub fn fed_by_itself(&self) -> Option<&Stage<'t>> {
        let stages = self.stages();
        stages.iter().enumerate().find_map(|(index, first)| {
            // Junctions that what leaves it can reach; stages stand in the order of the data.
            let mut reached = [false; N];
            let reach = |reached: &mut [bool; N], stage: &Stage<'_>| {
                if let Some(place) = reached.get_mut(usize::from(stage.to).wrapping_sub(1)) {
                    *place = true;
                }
            };
            reach(&mut reached, first);
            stages.iter().skip(index + 1).find(|stage| {
                let junction = usize::from(stage.from).wrapping_sub(1);
                let fed = reached.get(junction).copied().unwrap_or(false);
                if fed {
                    reach(&mut reached, stage);
                }
                fed && stage.name == first.name
            })
        })
    }

    /// The output junction of the pipe, to which the last stage and all others without a consumer
    /// lead.
    #[must_use]
    pub fn sink(&self) -> u16 {
        self.stages().last().map_or(SOURCE, |stage| stage.to)
    }
}

impl<const N: usize> PartialEq for Pipeline<'_, N> {
    /// Returns whether both say the same, however it is laid out.
    fn eq(&self, other: &Self) -> bool {
        self.buffering == other.buffering
            && self.requirement == other.requirement
            && self.stages() == other.stages()
    }
}

impl<const N: usize> fmt::Display for Pipeline<'_, N> {
    /// The text in its usual form; parentheses stay where they were.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.buffering == Buffering::Fifo {
            out.write_str("* ")?;
        }
        for stage in self.stages() {
            out.write_str(match stage.joint {
                Joint::Start => "",
                Joint::Series => " | ",
                Joint::Parallel => ", ",
            })?;
            (0..stage.opens).try_for_each(|_| out.write_str("("))?;
            out.write_str(stage.name)?;
            (0..stage.closes).try_for_each(|_| out.write_str(")"))?;
        }
        match self.requirement {
            Some(requirement) => write!(out, " {requirement}"),
            None => Ok(()),
        }
    }
}
