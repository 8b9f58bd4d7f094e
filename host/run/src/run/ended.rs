//! Why a run ended

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run reached its length.
    Length,
    /// The user interrupted the run.
    Interrupted,
    /// The machine's clock stands still.
    Stalled,
    /// The emulator ended by itself.
    Emulator,
}

impl Ended {
    /// For people.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Length => "reached its length",
            Self::Interrupted => "interrupted",
            Self::Stalled => {
                "given up: the machine's clock stood still or nearly, as it does while a core takes exceptions and executes \
                 nothing, or waits for events that are there (`--real` goes by the host's clock); the report shows the last state of each partition"
            }
            Self::Emulator => "the emulator ended by itself; see emulator.log beside the report",
        }
    }
}
