//! The plan of the pipes to be run, also in a text form
//!
//! A plan is `PIPE+PIPE…`, a pipe `newest/STAGE/STAGE…` or `each/STAGE…`, a stage
//! `FUNCTION,C,T,FROM,TO,MESSAGES,PLACES[,IDENTIFIER]`: C and T in nanoseconds; junctions, of which
//! 0 is the input of the pipe; jobs per budget; capacity of each buffer before it; the identifier,
//! hexadecimal, that a first stage reads and a last one writes. Overruns are only counted.

use bulkhead_abi::pipe::OnOverrun;
use std::str::FromStr;
use thiserror::Error;

/// The pipes to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Pipes in the order of the description.
    pub pipes: Vec<Pipe>,
}

/// A pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipe {
    /// Name; empty in the text form.
    pub name: String,
    /// True if buffers are lossless.
    pub each: bool,
    /// Stages in an order in which data flow.
    pub stages: Vec<Stage>,
    /// Edges between stages here and in other partitions.
    pub crossings: Vec<Crossing>,
}

/// An edge between partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The channel that is the buffer.
    pub channel: String,
    /// Index of the writing stage.
    pub from: usize,
    /// Index of the reading stage.
    pub to: usize,
}

/// Processor on which a stage runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Any core that Linux chooses.
    Anywhere,
    /// This core.
    Core(usize),
    /// Another partition.
    Elsewhere,
}

/// Source of a stage's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The buffers of the stages before it.
    Stages,
    /// A timer with this interval in nanoseconds.
    Timer(u64),
    /// Frames of a CAN controller.
    Can(End),
    /// The bridge to other machines.
    Bridge,
}

/// A CAN controller that a stage reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Address of the controller on the PCI bus; none: the program's interface.
    pub place: Option<String>,
    /// Identifier of the frames; none: all of them, or each its own.
    pub identifier: Option<u16>,
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Name of the function.
    pub function: String,
    /// Budget C, nanoseconds.
    pub runtime_ns: u64,
    /// Period T, nanoseconds.
    pub period_ns: u64,
    /// Junction from which it reads; 0 is the input of the pipe.
    pub from: u32,
    /// Junction to which it writes.
    pub to: u32,
    /// Jobs per budget, m.
    pub messages: u32,
    /// Capacity of each buffer before it.
    pub places: u32,
    /// Source of its messages.
    pub source: Source,
    /// Processor on which it runs.
    pub place: Placement,
    /// The device to which it writes.
    pub writes: Option<End>,
    /// True if messages that leave it are recorded.
    pub traced: bool,
    /// True if messages that leave it are kept in a file.
    pub filed: bool,
    /// True if messages that leave it go to other machines.
    pub bridged: bool,
    /// The fallback function, and after how many nanoseconds without a message of another
    /// partition it runs.
    pub fallback: Option<(u64, String)>,
    /// Bytes of the messages that it reads from other stages and that it writes.
    pub message_bytes: [u32; 2],
    /// Reaction to a job that needs more than its budget.
    pub on_overrun: OnOverrun,
}

/// Error in the text form.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// A pipe begins neither with `newest` nor with `each`.
    #[error("`{0}` is neither `newest` nor `each`")]
    Kind(String),
    /// A stage with missing or wrong fields.
    #[error("`{0}` is no stage: FUNCTION,C,T,FROM,TO,MESSAGES,PLACES[,IDENTIFIER]")]
    Stage(String),
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let pipes = text.split('+').map(pipe).collect::<Result<_, _>>()?;
        Ok(Self { pipes })
    }
}

fn pipe(text: &str) -> Result<Pipe, PlanError> {
    let mut parts = text.split('/');
    let each = match parts.next() {
        Some("newest") => false,
        Some("each") => true,
        other => return Err(PlanError::Kind(other.unwrap_or_default().into())),
    };
    let stage = |text: &str| stage(text).ok_or_else(|| PlanError::Stage(text.into()));
    let stages = parts.map(stage).collect::<Result<_, _>>()?;
    Ok(Pipe {
        name: String::new(),
        each,
        stages,
        crossings: Vec::new(),
    })
}

fn stage(text: &str) -> Option<Stage> {
    let mut words = text.split(',');
    let function = words.next()?.to_owned();
    let mut number = || words.next()?.parse::<u64>().ok();
    let [runtime_ns, period_ns] = [number()?, number()?];
    let mut small = || u32::try_from(number()?).ok();
    let [from, to, messages, places] = [small()?, small()?, small()?, small()?];
    let identifier = match words.next() {
        Some(word) => Some(u16::from_str_radix(word, 16).ok()?),
        None => None,
    };
    let end = End {
        place: None,
        identifier,
    };
    words.next().is_none().then_some(Stage {
        function,
        runtime_ns,
        period_ns,
        from,
        to,
        messages,
        places,
        writes: (from != 0 && identifier.is_some()).then(|| end.clone()),
        source: match from {
            0 => Source::Can(end),
            _ => Source::Stages,
        },
        place: Placement::Anywhere,
        traced: false,
        filed: false,
        bridged: false,
        fallback: None,
        message_bytes: [0; 2],
        on_overrun: OnOverrun::Report,
    })
}

impl Pipe {
    /// Returns whether a stage is a last one.
    #[must_use]
    pub fn is_last(&self, stage: &Stage) -> bool {
        self.stages.iter().all(|other| other.from != stage.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_says_all_of_a_plan() {
        let text = "each/can-read,100000,4000000,0,1,1,1,140/can-write,100000,4000000,1,2,1,2,141";
        let plan: Plan = format!("{text}+newest/sample,1,2,0,1,1,1")
            .parse()
            .expect("a plan");
        let [first, second] = &plan.pipes[..] else {
            panic!("{plan:?}")
        };
        assert!(first.each && !second.each);
        let end = |identifier| End {
            place: None,
            identifier,
        };
        assert_eq!(first.stages[0].source, Source::Can(end(Some(0x140))));
        assert_eq!(first.stages[1].writes, Some(end(Some(0x141))));
        assert_eq!(
            (first.stages[1].period_ns, first.stages[1].places),
            (4_000_000, 2)
        );
        assert!(first.is_last(&first.stages[1]) && !first.is_last(&first.stages[0]));
        assert_eq!(second.stages[0].source, Source::Can(end(None)));
        assert_eq!(second.stages[0].writes, None);
    }

    #[test]
    fn what_is_no_plan_is_named() {
        let wrong = |text: &str| text.parse::<Plan>().expect_err(text);
        assert_eq!(wrong("all/x"), PlanError::Kind("all".into()));
        assert_eq!(wrong("each/x,1"), PlanError::Stage("x,1".into()));
        assert_eq!(
            wrong("each/x,1,2,0,1,1,1,xyz"),
            PlanError::Stage("x,1,2,0,1,1,1,xyz".into())
        );
    }
}
