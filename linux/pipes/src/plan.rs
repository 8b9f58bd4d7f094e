//! What is to run, also as a word
//!
//! `PIPE+PIPE…`, a pipe `newest/STAGE/STAGE…` or `each/STAGE…`, a stage
//! `FUNCTION,C,T,FROM,TO,MESSAGES,PLACES[,IDENTIFIER]`: nanoseconds; junctions, 0 the way in; jobs in a budget; places in each
//! buffer before it; the identifier, hexadecimal, of what a first stage reads and a last one writes. Overruns are counted, nothing more.

use bulkhead_abi::pipe::OnOverrun;
use std::str::FromStr;
use thiserror::Error;

/// All pipes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In their order.
    pub pipes: Vec<Pipe>,
}

/// A pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipe {
    /// Its name; nothing in a word.
    pub name: String,
    /// Buffers are lossless.
    pub each: bool,
    /// In an order in which data flow.
    pub stages: Vec<Stage>,
    /// Edges between stages here and in other partitions.
    pub crossings: Vec<Crossing>,
}

/// An edge between partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The channel that is the buffer.
    pub channel: String,
    /// The stage that writes, by its place.
    pub from: usize,
    /// The stage that reads.
    pub to: usize,
}

/// Where a stage runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Wherever Linux likes.
    Anywhere,
    /// On this core.
    Core(usize),
    /// In another partition.
    Elsewhere,
}

/// Where a stage's messages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The stages before.
    Stages,
    /// The clock, every so many nanoseconds.
    Timer(u64),
    /// Frames of a CAN controller.
    Can(End),
    /// What comes from beyond the machine.
    Bridge,
}

/// An end of a stage at a CAN controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The controller's place on the PCI bus; nothing: the interface that the program was told of.
    pub place: Option<String>,
    /// Of the frames that are read or written; nothing: all, or each as it is.
    pub identifier: Option<u16>,
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// By its name.
    pub function: String,
    /// C, nanoseconds.
    pub runtime_ns: u64,
    /// T, nanoseconds.
    pub period_ns: u64,
    /// Junction it reads from; 0 is the way in.
    pub from: u32,
    /// Junction it writes to.
    pub to: u32,
    /// m: jobs in a budget.
    pub messages: u32,
    /// Places in each buffer before it.
    pub places: u32,
    /// What it reads.
    pub source: Source,
    /// Where it runs.
    pub place: Place,
    /// The device that it writes.
    pub writes: Option<End>,
    /// What leaves it is recorded.
    pub traced: bool,
    /// What leaves it is in a file.
    pub filed: bool,
    /// What leaves it goes to other machines.
    pub bridged: bool,
    /// What takes its place where nothing comes from another partition for so many nanoseconds.
    pub fallback: Option<(u64, String)>,
    /// What is done about a job that needs more than its budget.
    pub on_overrun: OnOverrun,
}

/// What is wrong with the word.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// Neither `newest` nor `each`.
    #[error("`{0}` is neither `newest` nor `each`")]
    Kind(String),
    /// A stage that is none.
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
        place: Place::Anywhere,
        traced: false,
        filed: false,
        bridged: false,
        fallback: None,
        on_overrun: OnOverrun::Report,
    })
}

impl Pipe {
    /// Whether a stage is a last one.
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
