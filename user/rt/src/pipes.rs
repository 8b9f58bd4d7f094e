//! Tuned pipes of the partition, created and queried by a component (interface `pipes`)
//!
//! A component with `needs = ["pipes"]` gives the scheduler the commands that the console takes: a flow is solved, admitted beside
//! everything that runs, and started; or refused with the reason. A call returns when the command is done. It takes
//! tens of milliseconds, because flows are solved on time that no other thread uses.
//! The threads of a component take turns.

use crate::Environment;
use crate::invocation::invoke;
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::component::pipes::{
    ANSWER, APPEND, EXECUTE, Figure, LIST, MOST, NAME, QUERY, State, UNKNOWN,
};

/// The command had no effect; [`Pipes::answer`] has the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// State and figures of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeStatus {
    /// Its state.
    pub state: State,
    /// Guaranteed bound of its delay, nanoseconds; 0 = none.
    pub bound_ns: u64,
    /// Number of its stages.
    pub stages: u64,
    /// Messages that left it, over all its paths.
    pub delivered: u64,
    /// Messages lost, over all its paths.
    pub lost: u64,
    /// Longest delay observed, nanoseconds.
    pub longest_ns: u64,
}

/// The right to create, change and query pipes of the partition.
#[derive(Clone, Copy, Debug)]
pub struct Pipes {
    slot: u64,
}

impl Pipes {
    /// The pipes of the partition, if the description gives the component the interface.
    #[must_use]
    pub fn open(env: &Environment) -> Option<Self> {
        let slot = env.interface(NAME)?;
        Some(Self { slot })
    }

    /// Solves a flow, admits it beside all that runs, and starts it as a new pipe.
    ///
    /// # Errors
    /// [`Refused`]: the flow is none, it does not fit or cannot meet its requirement, or the name is taken.
    pub fn create(&self, name: &str, flow: &str) -> Result<(), Refused> {
        self.execute(&["pipe add ", name, " ", flow])
    }

    /// Solves a flow and starts it in place of the pipe of that name, which ends in order.
    ///
    /// # Errors
    /// As for [`Self::create`]; there is no such pipe. The former pipe runs on then.
    pub fn replace(&self, name: &str, flow: &str) -> Result<(), Refused> {
        self.execute(&["pipe replace ", name, " ", flow])
    }

    /// Ends a pipe in order and removes it.
    ///
    /// # Errors
    /// [`Refused`]: there is no such pipe, or it belongs to another partition.
    pub fn remove(&self, name: &str) -> Result<(), Refused> {
        self.execute(&["pipe remove ", name])
    }

    /// Stops a pipe: it rests once the end of its task has passed through.
    ///
    /// # Errors
    /// [`Refused`]: there is no such pipe, or it belongs to another partition.
    pub fn stop(&self, name: &str) -> Result<(), Refused> {
        self.execute(&["pipe stop ", name])
    }

    /// Starts a pipe that rests.
    ///
    /// # Errors
    /// [`Refused`]: there is no such pipe, or it does not rest yet.
    pub fn start(&self, name: &str) -> Result<(), Refused> {
        self.execute(&["pipe start ", name])
    }

    /// The pipe of that name.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<PipeStatus> {
        let figure = |figure: Figure| {
            self.append(name);
            let value = self.ask(QUERY, [figure as u64, 0, 0, 0]);
            (value != UNKNOWN).then_some(value)
        };
        let state = figure(Figure::State)?;
        Some(PipeStatus {
            state: *State::ALL.get(state as usize)?,
            bound_ns: figure(Figure::Bound)?,
            stages: figure(Figure::Stages)?,
            delivered: figure(Figure::Delivered)?,
            lost: figure(Figure::Lost)?,
            longest_ns: figure(Figure::Longest)?,
        })
    }

    /// Names of all pipes.
    pub fn list(&self) -> impl Iterator<Item = [u8; NAME_LEN]> + use<> {
        let pipes = *self;
        (0..MOST).filter_map(move |number| {
            let [first, second] = [0, 8].map(|from| pipes.ask(LIST, [number, from, 0, 0]));
            let mut name = [0; NAME_LEN];
            let bytes = [first, second].into_iter().flat_map(u64::to_le_bytes);
            name.iter_mut()
                .zip(bytes)
                .for_each(|(place, byte)| *place = byte);
            (first != 0).then_some(name)
        })
    }

    /// Copies what the scheduler printed about the last command, and returns it as text.
    pub fn answer<'b>(&self, buffer: &'b mut [u8]) -> &'b str {
        let mut length = 0;
        for (place, chunk) in (0..).step_by(8).zip(buffer.chunks_mut(8)) {
            let bytes = self.ask(ANSWER, [place, 0, 0, 0]).to_le_bytes();
            for (place, byte) in chunk.iter_mut().zip(bytes) {
                *place = byte;
                length += usize::from(byte != 0);
            }
            if bytes.contains(&0) {
                break;
            }
        }
        let text = buffer.get(..length).unwrap_or_default();
        match core::str::from_utf8(text) {
            Ok(text) => text,
            // A long answer may end in the middle of a character.
            Err(error) => core::str::from_utf8(text.get(..error.valid_up_to()).unwrap_or_default())
                .unwrap_or_default(),
        }
    }

    fn ask(&self, what: u64, [a, b, c, d]: [u64; 4]) -> u64 {
        let reply = invoke(self.slot, [what, a, b, c, d]);
        match reply.status {
            0 => reply.value,
            _ => UNKNOWN,
        }
    }

    fn append(&self, text: &str) {
        for part in text.as_bytes().chunks(32) {
            let mut bytes = [0; 32];
            bytes
                .iter_mut()
                .zip(part)
                .for_each(|(place, byte)| *place = *byte);
            let mut words = [0; 4];
            let parts = bytes.as_chunks::<8>().0;
            words
                .iter_mut()
                .zip(parts)
                .for_each(|(word, part)| *word = u64::from_le_bytes(*part));
            let _kept = self.ask(APPEND, words);
        }
    }

    fn execute(&self, parts: &[&str]) -> Result<(), Refused> {
        parts.iter().for_each(|part| self.append(part));
        match self.ask(EXECUTE, [0; 4]) {
            0 => Ok(()),
            _ => Err(Refused),
        }
    }
}
