//! What a stage does in a job: takes its inputs, computes, answers

use crate::functions::{Function, Job, State};
use crate::link::Input;
use crate::message::{Entry, HEADS, Message};

/// Inputs, and outputs, of a stage.
pub const ENDS: usize = 4;

/// A stage's part of a pipe, without who runs it.
pub struct Work {
    function: Function,
    state: State,
    inputs: [Option<Input>; ENDS],
    /// Messages that were taken out of rings for the next job.
    pending: [Option<Message>; ENDS],
    /// Which first stage it is.
    head: usize,
    /// Messages that entered here.
    entered: u64,
    /// Inputs on which the end of the task came, by bit.
    ended: u64,
    /// The latest tick at which one of these ends was put in.
    ended_at: u64,
    /// What becomes of it without messages from another partition.
    across: Option<Across>,
    /// Of a first stage that reads a buffer: the tick at which that was last seen to hold nothing new.
    empty: Option<u64>,
}

/// What comes from another partition, and what is done where nothing does.
struct Across {
    /// Tick at which something came last on each of these inputs.
    came: [Option<u64>; ENDS],
    /// What came last.
    last: [Option<Message>; ENDS],
    /// From this age on, ticks, the function takes its place; never where there is none.
    fallback: Option<(u64, Function)>,
    state: State,
    /// Tick at which the task began, where all of the pipe's first stages are here.
    begun: Option<u64>,
}

impl Across {
    /// Whether a message came there that entered before the task began: who sent it on had it from a former start.
    fn is_former(&self, input: usize, message: &Message) -> bool {
        let is_across = self.came.get(input).is_some_and(Option::is_some);
        let mut entered = message.entries.iter().filter(|entry| entry.at != 0);
        let before = |entry: &Entry| self.begun.is_some_and(|begun| entry.at < begun);
        is_across && !message.is_end() && entered.all(before)
    }
}

/// A message of an input that was not read before.
fn fresh(across: Option<&Across>, number: usize, input: &mut Input) -> Option<Message> {
    loop {
        let message = input.fresh()?;
        if !across.is_some_and(|across| across.is_former(number, &message)) {
            return Some(message);
        }
    }
}

/// What a job works on.
pub struct Taken {
    /// What leaves, but for its data.
    pub message: Message,
    inputs: [Option<Message>; ENDS],
    source: Option<[u64; 2]>,
    age: u64,
    /// The fallback's job.
    instead: bool,
}

impl Taken {
    /// Ticks since something last came from another partition, where that is why the stage falls back.
    #[must_use]
    pub fn fell_back(&self) -> Option<u64> {
        self.instead.then_some(self.age)
    }
}

impl Work {
    /// Of a stage that was not run yet: the `head`-th first stage, where it is one; `seed` is that of its chance.
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
            across: None,
            empty: None,
        }
    }

    /// The same of a stage with inputs from another partition, by bit, looked after from a tick on; without a message for so many
    /// ticks the other function takes its place.
    #[must_use]
    pub fn across(mut self, inputs: u64, now: u64, fallback: Option<(u64, Function)>) -> Self {
        self.across = Some(Across {
            came: core::array::from_fn(|input| (inputs >> input & 1 != 0).then_some(now)),
            last: [const { None }; ENDS],
            fallback,
            state: State::new(0),
            begun: None,
        });
        self
    }

    /// The same of a pipe whose first stages are all here, beginning at a tick: what comes across and entered before then is passed over.
    /// It would be late, and nobody knows any more what it was an answer to.
    #[must_use]
    pub const fn begun_here(mut self, now: u64) -> Self {
        if let Some(across) = &mut self.across {
            across.begun = Some(now);
        }
        self
    }

    /// The same of a first stage: messages enter where it takes them out of its inputs, which hold nothing at a tick.
    #[must_use]
    pub const fn entering(mut self, now: u64) -> Self {
        self.empty = Some(now);
        self
    }

    /// Takes out of the inputs, or of rings alone, what enters, for the next job. Stages between others, and those of an rtos partition, never
    /// come here, and pay for it in no job.
    #[cold]
    fn draw_in(&mut self, empty: u64, only_rings: bool) {
        for number in 0..ENDS {
            let Some(input) = self.inputs.get_mut(number).and_then(Option::as_mut) else {
                continue;
            };
            let is_drawn = !only_rings || matches!(input, Input::Each(_));
            if !is_drawn || self.pending.get(number).is_some_and(Option::is_some) {
                continue;
            }
            let entering = input.fresh_of();
            let entered = entering.map(|(message, written)| self.enter(message, written, empty));
            if let Some(place) = self.pending.get_mut(number) {
                *place = entered;
            }
        }
    }

    /// Numbers a message anew, and those that it overwrote. It entered when it was put: no earlier than the last look that did not
    /// find it, since who put it may have been kept from working between its look at the clock and the buffer.
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

    /// At that tick a ring before a first stage held nothing.
    pub fn found_nothing(&mut self, at: u64) {
        if !self.is_four_slot() {
            self.empty = self.empty.map(|_| at);
        }
    }

    /// As [`Work::take`], of a stage that looks by the clock, which says `now`.
    pub fn look(&mut self, now: u64) -> Option<Taken> {
        let taken = self.take(None);
        // All that four slots show was taken.
        if self.empty.is_some() && (taken.is_none() || self.is_four_slot()) {
            self.empty = Some(now);
        }
        let Some(across) = &mut self.across else {
            return taken;
        };
        if let Some(taken) = &taken {
            let inputs = across.came.iter_mut().zip(&mut across.last);
            for ((came, last), input) in inputs.zip(&taken.inputs) {
                if input.is_some() {
                    (*came, *last) = (came.map(|_| now), *input);
                }
            }
        }
        let since = across.came.iter().flatten();
        let age = since.map(|came| now.saturating_sub(*came)).max();
        let age = age.unwrap_or(0);
        let stale = across.fallback.is_some_and(|(most, _)| age > most);
        match taken {
            _ if stale => Some(Taken {
                message: Message::instead(now),
                inputs: across.last,
                source: None,
                age,
                instead: true,
            }),
            taken => taken.map(|taken| Taken { age, ..taken }),
        }
    }

    /// Messages that entered here so far.
    #[must_use]
    pub const fn entered(&self) -> u64 {
        self.entered
    }

    /// A message that entered here was overwritten by the next before a job took it.
    pub const fn pass_over(&mut self) {
        self.entered += 1;
    }

    /// Whether the end of the task came on all inputs.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let inputs = self.inputs.iter().enumerate();
        let mut inputs = inputs.filter(|(_, input)| input.is_some());
        inputs.all(|(number, _)| self.ended >> number & 1 != 0)
    }

    /// When the last of the first stages put in the end that came, or now where none did. Whoever writes a tick that is still to come has it put in now.
    #[must_use]
    pub fn ended_at(&self, now: u64) -> u64 {
        match self.ended {
            0 => now,
            _ => self.ended_at.min(now),
        }
    }

    /// A new task begins at a tick: what waits over there was sent to a former one, or to who was not there yet. At most so many
    /// messages are taken out of each input: a writer that never stops is not waited for.
    pub fn begin_anew(&mut self, now: u64, most: u32) {
        (self.ended, self.ended_at) = (0, 0);
        let Some(across) = &mut self.across else {
            return;
        };
        across.begun = across.begun.map(|_| now);
        self.empty = self.empty.map(|_| now);
        let inputs = self.inputs.iter_mut().zip(&mut self.pending);
        for (came, (input, pending)) in across.came.iter_mut().zip(inputs) {
            if let (Some(came), Some(input)) = (came, input) {
                *came = now;
                *pending = None;
                let _last = (0..most).map_while(|_| input.fresh()).last();
            }
        }
    }

    /// The end of a task went on, and the next task is begun by whoever begins the pipe: what waits over there came behind the end, and is its.
    pub fn go_on(&mut self, now: u64) {
        (self.ended, self.ended_at) = (0, 0);
        if let Some(across) = &mut self.across {
            across
                .came
                .iter_mut()
                .flatten()
                .for_each(|came| *came = now);
        }
    }

    /// Who looks for the first time passes over what was put in before that tick, at most so many messages of each input: it has waited
    /// for longer than any message does that comes later.
    pub fn pass_over_late(&mut self, before: u64, most: u32) {
        let Some(across) = &self.across else {
            return;
        };
        let inputs = self.inputs.iter_mut().zip(&mut self.pending);
        for (number, (input, pending)) in inputs.enumerate() {
            let reads = across.came.get(number).is_some_and(Option::is_some);
            if let (true, Some(input), None) = (reads, input, &pending) {
                let mut waiting = (0..=most).map_while(|_| fresh(Some(across), number, input));
                *pending = waiting.find(|message| message.is_end() || message.put >= before);
            }
        }
    }

    /// Less than so many, different each time and the same in each run.
    pub fn some(&mut self, below: u64) -> u64 {
        self.state.some(below)
    }

    /// When the oldest message was put into a ring that waits there, from which it is taken out.
    pub fn waiting(&mut self) -> Option<u64> {
        if let Some(empty) = self.empty {
            self.draw_in(empty, true);
        } else {
            let across = self.across.as_ref();
            let inputs = self.pending.iter_mut().zip(&mut self.inputs);
            for (number, (place, input)) in inputs.enumerate() {
                if place.is_none()
                    && let Some(ring @ Input::Each(_)) = input
                {
                    *place = fresh(across, number, ring);
                }
            }
        }
        let waiting = self.pending.iter().flatten();
        waiting.map(|message| message.put).min()
    }

    /// Whether the newest message is all that it reads.
    #[must_use]
    pub fn is_four_slot(&self) -> bool {
        let mut inputs = self.inputs.iter().flatten();
        inputs.clone().next().is_some() && inputs.all(|input| matches!(input, Input::Newest(_)))
    }

    /// Copies the inputs (implicit communication); of a first stage what its device brought, and when. Nothing where it
    /// woke for what another job had taken.
    pub fn take(&mut self, source: Option<([u64; 2], u64)>) -> Option<Taken> {
        if let Some(empty) = self.empty {
            self.draw_in(empty, false);
        }
        let is_drawn = self.empty.is_some();
        let mut inputs = core::mem::take(&mut self.pending);
        let mut message = Message::default();
        let across = self.across.as_ref();
        let places = inputs.iter_mut().zip(&mut self.inputs);
        for (number, (place, input)) in places.enumerate() {
            if let (true, Some(input)) = (place.is_none() && !is_drawn, input) {
                *place = fresh(across, number, input);
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
                // Its task goes on: who was to end it was told to begin again before all did.
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

    /// What is sent, if anything is.
    pub fn compute(&mut self, taken: Taken) -> Option<Message> {
        let (function, state) = match &mut self.across {
            Some(Across {
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
        });
        let mut message = taken.message;
        message.data = answer?;
        Some(message)
    }
}

#[cfg(test)]
mod tests;
