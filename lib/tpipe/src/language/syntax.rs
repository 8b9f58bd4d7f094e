//! Words of the language: stages, joints, requirements

/// Deepest nesting of parentheses.
pub const DEPTH: usize = 64;

/// Longest name of a function, bytes.
pub const NAME: usize = 31;

/// Parts in which a [`Loss`] counts.
pub const MILLION: u64 = 1_000_000;

/// A place in the text: bytes from `start` to before `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

impl Span {
    /// The text at this place.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }
}

/// Buffers between stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffering {
    /// Only the freshest message counts, and no stage waits.
    FourSlot,
    /// All messages, in order.
    Fifo,
}

/// Operator before a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// Nothing: the first stage.
    Start,
    /// `|`.
    Series,
    /// `,`.
    Parallel,
}

/// A stage as written.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'t> {
    /// Its function.
    pub name: &'t str,
    /// Place of the name.
    pub span: Span,
    /// Operator before it.
    pub joint: Joint,
    /// Parentheses that open before the name.
    pub opens: u16,
    /// Parentheses that close after the name.
    pub closes: u16,
    /// Junction it reads from; [`SOURCE`] is the way in.
    pub from: u16,
    /// Junction it writes to.
    pub to: u16,
}

/// The junction through which data come in.
pub const SOURCE: u16 = 0;

impl PartialEq for Stage<'_> {
    /// Compares name and position in the pipeline, but not the place in the text.
    fn eq(&self, other: &Self) -> bool {
        let of = |stage: &Self| (stage.joint, stage.opens, stage.closes, stage.from, stage.to);
        self.name == other.name && of(self) == of(other)
    }
}

/// A fraction of messages, in millionths; less than all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss(pub u32);

/// Messages per 10^6 seconds; not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Throughput(pub u64);

impl Throughput {
    /// Longest distance of messages at this throughput, nanoseconds; rounded down.
    #[must_use]
    pub const fn interval_ns(self) -> u64 {
        1_000_000_000_000_000 / self.0
    }
}

/// Required output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Of a four-slot pipeline: at most this part of the messages is overwritten unread.
    Loss(Loss),
    /// Of a lossless pipeline: at least so many messages per time.
    Throughput(Throughput),
}

/// An end-to-end requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Loss or throughput.
    pub flow: Flow,
    /// Longest time from an input to its output.
    pub delay_ns: u64,
}
