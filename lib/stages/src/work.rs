//! The job of a stage: takes inputs, computes, returns the output

use crate::functions::{Function, Job, State};
use crate::link::Input;
use crate::message::{Content, Entry, HEADS, Message, Received};

/// Maximum number of inputs, and of outputs, of a stage.
pub const ENDS: usize = 4;

/// The job state of a stage, without its runtime.
pub struct Work {
    function: Function,
    state: State,
    inputs: [Option<Input>; ENDS],
    /// Messages that were taken out of rings for the next job.
    pending: [Option<Received>; ENDS],
    /// Index of the first stage.
    head: usize,
    /// Number of messages that entered here.
    entered: u64,
    /// Inputs on which the end of the task has come, by bit.
    ended: u64,
    /// The latest tick at which one of these ends was sent.
    ended_at: u64,
    /// State of inputs from other partitions, if there are any.
    remote_inputs: Option<RemoteInputs>,
    /// For a first stage that reads a buffer: the last tick at which it was empty.
    empty: Option<u64>,
}

/// Inputs from other partitions, and the fallback.
struct RemoteInputs {
    /// Tick of the last message on each of these inputs.
    received_at: [Option<u64>; ENDS],
    /// The last messages.
    last: [Option<Received>; ENDS],
    /// The fallback, and the age in ticks from which on it runs; `None`: never.
    fallback: Option<(u64, Function)>,
    state: State,
    /// Tick at which the task began, if all first stages of the pipe are here.
    begun: Option<u64>,
}

impl RemoteInputs {
    /// Returns whether a message entered before the task began, so that its sender had it from a
    /// former start.
    fn is_former(&self, input: usize, message: &Message) -> bool {
        let is_across = self.received_at.get(input).is_some_and(Option::is_some);
        let mut entered = message.entries.iter().filter(|entry| entry.at != 0);
        let before = |entry: &Entry| self.begun.is_some_and(|begun| entry.at < begun);
        is_across && !message.is_end() && entered.all(before)
    }
}

/// Takes a message of an input that was not read before.
fn fresh(
    remote_inputs: Option<&RemoteInputs>,
    number: usize,
    input: &mut Input,
) -> Option<Received> {
    loop {
        let message = input.fresh()?;
        if !remote_inputs.is_some_and(|remote_inputs| remote_inputs.is_former(number, &message)) {
            return Some(message);
        }
    }
}

/// The last messages, each with its content if the reader still holds it.
fn last(
    last: &[Option<Received>; ENDS],
    inputs: &[Option<Input>; ENDS],
) -> [Option<Received>; ENDS] {
    core::array::from_fn(|number| {
        let (received, input) = (last[number]?, inputs[number].as_ref()?);
        Some(input.held(received))
    })
}

/// Input of a job.
pub struct Taken {
    /// The message to be sent, without its data.
    pub message: Message,
    inputs: [Option<Received>; ENDS],
    source: Option<[u64; 2]>,
    age: u64,
    /// True if the fallback runs.
    instead: bool,
}

impl Taken {
    /// Ticks since the last message from another partition, if this is why the fallback runs.
    #[must_use]
    pub fn fell_back(&self) -> Option<u64> {
        self.instead.then_some(self.age)
    }
}

impl Work {
    /// A stage that has not run yet: the `head`-th first stage, if it is one; `seed` is that of its
    /// random numbers.
    #[must_use]
    pub fn new(function: Function, inputs: [Option<Input>; ENDS], head: usize, seed: u64) -> Self {
        Self {
            function,
            state: State::new(seed),
            inputs,
            pending: [const { None }; ENDS],
            head,
            entered: 0,
            ended: 0,
            ended_at: 0,
            remote_inputs: None,
            empty: None,
        }
    }

    /// Adds inputs from other partitions, by bit, supervised from tick `now` on: after so many
    /// ticks without a message the fallback runs.
    #[must_use]
    pub fn remote_inputs(
        mut self,
        inputs: u64,
        now: u64,
        fallback: Option<(u64, Function)>,
    ) -> Self {
        self.remote_inputs = Some(RemoteInputs {
            received_at: core::array::from_fn(|input| (inputs >> input & 1 != 0).then_some(now)),
            last: [const { None }; ENDS],
            fallback,
            state: State::new(0),
            begun: None,
        });
        self
    }

    /// Restricts it to a task that begins at a tick, in a pipe with all first stages here: messages
    /// from other partitions that entered earlier are dropped, because they would be late answers
    /// to a former start.
    #[must_use]
    pub const fn begun_here(mut self, now: u64) -> Self {
        if let Some(remote_inputs) = &mut self.remote_inputs {
            remote_inputs.begun = Some(now);
        }
        self
    }

    /// Makes it a first stage that reads buffers: messages enter when it takes them out of its
    /// inputs, which are empty at this tick.
    #[must_use]
    pub const fn entering(mut self, now: u64) -> Self {
        self.empty = Some(now);
        self
    }

    /// Takes entering messages out of all inputs, or of rings only, for the next job. Only first
    /// stages that read buffers call this, so that the jobs of others do not pay for it.
    #[cold]
    fn draw_in(&mut self, empty: u64, only_rings: bool) {
        for number in 0..ENDS {
            let Some(input) = self.inputs.get_mut(number).and_then(Option::as_mut) else {
                continue;
            };
            let is_drawn = !only_rings || !input.is_four_slot();
            if !is_drawn || self.pending.get(number).is_some_and(Option::is_some) {
                continue;
            }
            let entering = input.fresh_of();
            let entered = entering.map(|(received, written)| Received {
                message: self.enter(received.message, written, empty),
                ..received
            });
            if let Some(place) = self.pending.get_mut(number) {
                *place = entered;
            }
        }
    }

    /// Numbers a message, and those that it overwrote. Its time of entry is that of writing, but
    /// not before the last poll that did not find it, because the writer may have been preempted
    /// between reading the clock and writing.
    fn enter(&mut self, mut message: Message, written: u64, empty: u64) -> Message {
        self.entered += written;
        message.entries = [Entry::default(); HEADS];
        if let Some(entry) = message.entries.get_mut(self.head) {
            *entry = Entry {
                number: self.entered,
                at: message.put.max(empty),
            };
        }
        message
    }

    /// Stores that a ring before a first stage was empty at that tick.
    pub fn found_nothing(&mut self, at: u64) {
        if !self.is_four_slot() {
            self.empty = self.empty.map(|_| at);
        }
    }

    /// As [`Work::take`], for a stage that polls by its clock; `now` is the time.
    pub fn look(&mut self, now: u64) -> Option<Taken> {
        let taken = self.take(None);
        // Everything in the four-slot buffers was taken.
        if self.empty.is_some() && (taken.is_none() || self.is_four_slot()) {
            self.empty = Some(now);
        }
        let Some(remote_inputs) = &mut self.remote_inputs else {
            return taken;
        };
        if let Some(taken) = &taken {
            let inputs = remote_inputs
                .received_at
                .iter_mut()
                .zip(&mut remote_inputs.last);
            for ((received_at, last), input) in inputs.zip(&taken.inputs) {
                if input.is_some() {
                    (*received_at, *last) = (received_at.map(|_| now), *input);
                }
            }
        }
        let since = remote_inputs.received_at.iter().flatten();
        let age = since
            .map(|received_at| now.saturating_sub(*received_at))
            .max();
        let age = age.unwrap_or(0);
        let stale = remote_inputs.fallback.is_some_and(|(most, _)| age > most);
        match taken {
            _ if stale => Some(Taken {
                message: Message::instead(now),
                inputs: last(&remote_inputs.last, &self.inputs),
                source: None,
                age,
                instead: true,
            }),
            taken => taken.map(|taken| Taken { age, ..taken }),
        }
    }

    /// Number of messages that entered here.
    #[must_use]
    pub const fn entered(&self) -> u64 {
        self.entered
    }

    /// Counts a message that entered here and was overwritten before a job took it.
    pub const fn pass_over(&mut self) {
        self.entered += 1;
    }

    /// Returns whether the end of the task has come on all inputs.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let inputs = self.inputs.iter().enumerate();
        let mut inputs = inputs.filter(|(_, input)| input.is_some());
        inputs.all(|(number, _)| self.ended >> number & 1 != 0)
    }

    /// The latest tick at which a first stage sent its end, or now without one. A tick in the
    /// future counts as now.
    #[must_use]
    pub fn ended_at(&self, now: u64) -> u64 {
        match self.ended {
            0 => now,
            _ => self.ended_at.min(now),
        }
    }

    /// Begins a new task at a tick: messages of other partitions that wait belong to a former one,
    /// and are dropped. At most `most` messages are taken out of each input, because a writer may
    /// never stop.
    pub fn begin_anew(&mut self, now: u64, most: u32) {
        (self.ended, self.ended_at) = (0, 0);
        let Some(remote_inputs) = &mut self.remote_inputs else {
            return;
        };
        remote_inputs.begun = remote_inputs.begun.map(|_| now);
        self.empty = self.empty.map(|_| now);
        let inputs = self.inputs.iter_mut().zip(&mut self.pending);
        for (received_at, (input, pending)) in remote_inputs.received_at.iter_mut().zip(inputs) {
            if let (Some(received_at), Some(input)) = (received_at, input) {
                *received_at = now;
                *pending = None;
                let _last = (0..most).map_while(|_| input.fresh()).last();
            }
        }
    }

    /// Resumes with the next task after an end, which the starter of the pipe begins: waiting
    /// messages came behind the end, and belong to it.
    pub fn resume(&mut self, now: u64) {
        (self.ended, self.ended_at) = (0, 0);
        if let Some(remote_inputs) = &mut self.remote_inputs {
            remote_inputs
                .received_at
                .iter_mut()
                .flatten()
                .for_each(|received_at| *received_at = now);
        }
    }

    /// At the first poll, drops messages that were written before a tick, at most so many of each
    /// input: they have waited longer than any later message does.
    pub fn pass_over_late(&mut self, before: u64, most: u32) {
        let Some(remote_inputs) = &self.remote_inputs else {
            return;
        };
        let inputs = self.inputs.iter_mut().zip(&mut self.pending);
        for (number, (input, pending)) in inputs.enumerate() {
            let reads = remote_inputs
                .received_at
                .get(number)
                .is_some_and(Option::is_some);
            if let (true, Some(input), None) = (reads, input, &pending) {
                let mut waiting =
                    (0..=most).map_while(|_| fresh(Some(remote_inputs), number, input));
                *pending = waiting.find(|message| message.is_end() || message.put >= before);
            }
        }
    }

    /// A random number below `below`, the same in each run.
    pub fn random_below(&mut self, below: u64) -> u64 {
        self.state.random_below(below)
    }

    /// Takes the oldest waiting message out of a ring. Returns the time at which it was written.
    pub fn waiting(&mut self) -> Option<u64> {
        if let Some(empty) = self.empty {
            self.draw_in(empty, true);
        } else {
            let remote_inputs = self.remote_inputs.as_ref();
            let inputs = self.pending.iter_mut().zip(&mut self.inputs);
            for (number, (place, input)) in inputs.enumerate() {
                if place.is_none()
                    && let Some(ring) = input
                    && !ring.is_four_slot()
                {
                    *place = fresh(remote_inputs, number, ring);
                }
            }
        }
        let waiting = self.pending.iter().flatten();
        waiting.map(|message| message.put).min()
    }

    /// Returns whether only the newest message of each input counts.
    #[must_use]
    pub fn is_four_slot(&self) -> bool {
        let mut inputs = self.inputs.iter().flatten();
        inputs.clone().next().is_some() && inputs.all(Input::is_four_slot)
    }

    /// Takes the inputs of a job (implicit communication): copies of messages, or `source`, the
    /// message of a first stage's device and its time. Returns nothing if an earlier job took the
    /// message that woke the stage.
    pub fn take(&mut self, source: Option<([u64; 2], u64)>) -> Option<Taken> {
        if let Some(empty) = self.empty {
            self.draw_in(empty, false);
        }
        let is_drawn = self.empty.is_some();
        let mut inputs = core::mem::take(&mut self.pending);
        let mut message = Message::default();
        let remote_inputs = self.remote_inputs.as_ref();
        let places = inputs.iter_mut().zip(&mut self.inputs);
        for (number, (place, input)) in places.enumerate() {
            if let (true, Some(input)) = (place.is_none() && !is_drawn, input) {
                *place = fresh(remote_inputs, number, input);
            }
            if let Some(read) = &*place {
                message.comes_from(read);
            }
        }
        for (number, place) in inputs.iter_mut().enumerate() {
            if let Some(end) = place.take_if(|read| read.is_end()) {
                self.ended |= 1 << number;
                self.ended_at = self.ended_at.max(end.ended_at());
            } else if place.is_some() {
                // The task continues: the producer was started again before all inputs had ended.
                self.ended &= !(1 << number);
            }
        }
        if let Some((_, at)) = source {
            self.entered += 1;
            if let Some(entry) = message.entries.get_mut(self.head) {
                *entry = Entry {
                    number: self.entered,
                    at,
                };
            }
        }
        let source = source.map(|(data, _)| data);
        let nothing = source.is_none() && inputs.iter().all(Option::is_none);
        (!nothing).then_some(Taken {
            message,
            inputs,
            source,
            age: 0,
            instead: false,
        })
    }

    /// Runs the job, which fills `output` if its messages are long. Returns the message to be sent, if any.
    pub fn compute(&mut self, taken: Taken, output: Option<Content>) -> Option<Message> {
        let (function, state) = match &mut self.remote_inputs {
            Some(RemoteInputs {
                fallback: Some((_, fallback)),
                state,
                ..
            }) if taken.instead => (*fallback, state),
            _ => (self.function, &mut self.state),
        };
        let answer = function.job(&mut Job {
            inputs: &taken.inputs,
            source: taken.source,
            age: taken.age,
            state,
            output,
        });
        let mut message = taken.message;
        message.data = answer?;
        Some(message)
    }
}

#[cfg(test)]
mod tests;
