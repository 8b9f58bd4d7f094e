//! Builds the stages of a pipe, and starts it as a whole

mod bridge_buffers;

use crate::budget::{Budget, Halt};
use crate::device::Ends;
use crate::plan::{Crossing, Pipe, Placement, Source};
use crate::reservation::Reserved;
use crate::stage::{Left, Places, Ready, Shared, ticks_of};
use bulkhead_buffers::Region;
use bulkhead_linux::{Channel, Error, Partition, Peer, ticks};
use bulkhead_stages::functions::{self, Function};
use bulkhead_stages::link::{Input, Kind, Output, Shape};
use bulkhead_stages::message::{Content, content_bytes};
use bulkhead_stages::request::{buffer, buffer_number};
use bulkhead_stages::work::{ENDS, Work};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::SyncSender;
use thiserror::Error;

/// Environment of the stages.
#[derive(Clone, Copy, Default)]
pub struct Around<'a> {
    /// The partition with the channels to others.
    pub partition: Option<&'a Partition>,
    /// The CAN interface, which is up.
    pub interface: Option<&'a str>,
    /// Iterations of a loop that a job computes for each microsecond of its budget.
    pub rounds: u64,
    /// The function with overruns in every hundredth job.
    pub overrun: Option<&'a str>,
    /// Folder of the buffers between stages and the bridge, and of the files of last stages.
    pub outward: Option<&'a Path>,
    /// Memory with the buffers of pipes that a client requested.
    pub client: Option<Region<'static>>,
}

/// Reason for which a pipe is not started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The kernel rejects the reservation of a stage.
    #[error("pipe `{pipe}` is not started: stage `{stage}` on {place}: {source}")]
    Refused {
        /// The pipe.
        pipe: String,
        /// The function of its stage.
        stage: String,
        /// Its core.
        place: String,
        /// The kernel's answer.
        source: Box<Error>,
    },
    /// There are too many threads.
    #[error("pipe `{pipe}` is not started: no thread for a stage: {source}")]
    Thread {
        /// The pipe.
        pipe: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A function that this program lacks.
    #[error("pipe `{pipe}`: Linux has no function `{stage}`")]
    Function {
        /// The pipe.
        pipe: String,
        /// The function.
        stage: String,
    },
    /// A buffer differs from the plan.
    #[error("pipe `{pipe}`: there is no buffer `{edge}` as its stages need it")]
    Buffer {
        /// The pipe.
        pipe: String,
        /// The edge.
        edge: String,
    },
    /// A pipe runs, but messages that leave it are not written to its file.
    #[error("pipe `{pipe}`: what leaves it is in no file: {source}")]
    File {
        /// The pipe.
        pipe: String,
        /// The reason.
        source: io::Error,
    },
    /// A channel or the interface cannot be used.
    #[error("pipe `{pipe}`: {source}")]
    Device {
        /// The pipe.
        pipe: String,
        /// The reason.
        source: Box<Error>,
    },
}

/// Counters of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Count<'s> {
    /// Its pipe.
    pub pipe: &'s str,
    /// Its function.
    pub stage: &'s str,
    /// Jobs.
    pub jobs: u64,
    /// Jobs that needed more than their budget.
    pub overruns: u64,
    /// True if its pipe has halted itself.
    pub halted: bool,
    /// Messages that found no room in time.
    pub dropped: u64,
    /// Jobs that ran the fallback.
    pub fallbacks: u64,
    /// State of its devices, if it has any.
    pub device: Option<AtDevice>,
}

/// State of a stage's controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtDevice {
    /// True if all of them are up and on their buses.
    pub on_bus: bool,
    /// Number of failures.
    pub downs: u64,
    /// Longest time from the driver to the waiting stage, ticks.
    pub slowest: u64,
    /// Frames that arrived while the stage's socket was full.
    pub lost: u64,
    /// Frames without data.
    pub passed_over: u64,
}

/// Memory that a pipe keeps for its next start: a program does not return memory.
#[derive(Default)]
pub(crate) struct Kept {
    /// Kept open, so that no other program opens them.
    channels: Vec<Channel>,
    /// Buffers between stages here, in the order of their edges.
    buffers: VecDeque<Region<'static>>,
}

/// Creates the stages of a pipe with their reservations; they wait for the start signal.
pub(crate) fn reserve(
    pipe: &Pipe,
    around: &Around<'_>,
    left: &SyncSender<Left>,
    kept: Kept,
) -> Result<(Reserved, Kept), StartError> {
    let (ready, kept) = Builder::new(pipe, around, kept).build(left)?;
    Ok((Reserved::of(pipe, ready)?, kept))
}

/// Creates the stages of a pipe that run here, with their buffers.
struct Builder<'b> {
    pipe: &'b Pipe,
    around: &'b Around<'b>,
    inputs: Vec<[Option<Input>; ENDS]>,
    outputs: Vec<Vec<(Output, Option<Arc<Shared>>)>>,
    shared: Vec<Arc<Shared>>,
    halt: Halt,
    /// Inputs from other partitions, by bit.
    across: Vec<u64>,
    awaits: Vec<Peer>,
    /// Buffers of ended stages that are not reused yet.
    before: Kept,
    kept: Kept,
}

impl<'b> Builder<'b> {
    fn new(pipe: &'b Pipe, around: &'b Around<'b>, before: Kept) -> Self {
        let count = pipe.stages.len();
        Self {
            pipe,
            around,
            inputs: (0..count).map(|_| [const { None }; ENDS]).collect(),
            outputs: (0..count).map(|_| Vec::new()).collect(),
            shared: (0..count).map(|_| Arc::default()).collect(),
            halt: Halt::default(),
            across: vec![0; count],
            awaits: Vec::new(),
            before,
            kept: Kept::default(),
        }
    }

    fn build(mut self, left: &SyncSender<Left>) -> Result<(Vec<Ready>, Kept), StartError> {
        for (from, to) in self.edges() {
            self.connect(from, to)?;
        }
        for crossing in &self.pipe.crossings {
            self.cross(crossing)?;
        }
        for number in self.here() {
            let stage = &self.pipe.stages[number];
            if stage.source == Source::Bridge {
                self.lead_inward(number)?;
            }
            if stage.bridged {
                self.lead_outward(number)?;
            }
        }
        let awaits = Arc::new(std::mem::take(&mut self.awaits));
        let here = self.here().collect::<Vec<_>>().into_iter();
        let ready = here.map(|number| self.ready(number, &awaits, left));
        let ready = ready.collect::<Result<_, _>>()?;
        Ok((ready, self.kept))
    }

    /// Takes a kept channel of that name.
    fn kept(&mut self, name: &str) -> Option<Channel> {
        let mut all = self.before.channels.iter();
        let place = all.position(|one| one.description().name == name)?;
        Some(self.before.channels.swap_remove(place))
    }

    /// Pairs of stages here: producer and consumer.
    fn edges(&self) -> Vec<(usize, usize)> {
        let stages = &self.pipe.stages;
        let feeds =
            |from: usize, to: usize| stages[to].from != 0 && stages[from].to == stages[to].from;
        let writers = |to| self.here().map(move |from| (from, to));
        let given = |from: usize, to: usize| {
            let mut crossings = self.pipe.crossings.iter();
            crossings.any(|one| (one.from, one.to) == (from, to))
        };
        let all = self.here().flat_map(writers);
        all.filter(|&(from, to)| feeds(from, to) && !given(from, to))
            .collect()
    }

    /// Indices of the stages here.
    fn here(&self) -> impl Iterator<Item = usize> + use<'b> {
        let stages = self.pipe.stages.iter().enumerate();
        let here = stages.filter(|(_, stage)| stage.place != Placement::Elsewhere);
        here.map(|(place, _)| place)
    }

    /// Shape of the buffer before a stage.
    fn shape(&self, to: usize) -> Shape {
        let stage = &self.pipe.stages[to];
        Shape {
            kind: match self.pipe.each {
                true => Kind::Each(stage.places),
                false => Kind::Newest,
            },
            message: stage.message_bytes[0],
        }
    }

    fn connect(&mut self, from: usize, to: usize) -> Result<(), StartError> {
        let shape = self.shape(to);
        let before = self.before.buffers.pop_front();
        before.iter().for_each(|region| region.clear());
        let taken = before.or_else(|| memory(shape.bytes()?));
        let ends = taken.and_then(|region| {
            let input = Input::attach(shape, region)?;
            Some((input, Output::attach(shape, region)?))
        });
        let (input, output) = ends.ok_or_else(|| self.no_buffer(from, to))?;
        self.kept.buffers.extend(taken);
        self.reads(from, to, input)?;
        self.outputs[from].push((output, Some(Arc::clone(&self.shared[to]))));
        Ok(())
    }

    fn reads(&mut self, from: usize, to: usize, input: Input) -> Result<usize, StartError> {
        let free = self.inputs[to].iter().position(Option::is_none);
        let free = free.ok_or_else(|| self.no_buffer(from, to))?;
        self.inputs[to][free] = Some(input);
        Ok(free)
    }

    /// Attaches a buffer of the client: between stages of both partitions, or of this one.
    fn join(&mut self, number: usize, [from, to]: [usize; 2]) -> Result<(), StartError> {
        let none = || self.no_buffer(from, to);
        let region = self.around.client.and_then(|all| buffer(all, number));
        let (region, shape) = (region.ok_or_else(none)?, self.shape(to));
        let is_here = |stage: usize| self.pipe.stages[stage].place != Placement::Elsewhere;
        let (writes, reads) = (is_here(from), is_here(to));
        if reads {
            let input = Input::attach(shape, region).ok_or_else(none)?;
            let place = self.reads(from, to, input)?;
            self.across[to] |= u64::from(!writes) << place;
        }
        if writes {
            let output = Output::attach(shape, region);
            let output = output.ok_or_else(|| self.no_buffer(from, to))?;
            let fed = reads.then(|| Arc::clone(&self.shared[to]));
            self.outputs[from].push((output, fed));
        }
        Ok(())
    }

    /// Attaches the channel to or from a stage of another partition.
    fn cross(&mut self, crossing: &Crossing) -> Result<(), StartError> {
        let Crossing {
            ref channel,
            from,
            to,
        } = *crossing;
        if from.max(to) >= self.pipe.stages.len() {
            return Err(self.device(Error::NoChannel(channel.clone())));
        }
        if let Some(number) = buffer_number(channel) {
            return self.join(number, [from, to]);
        }
        let before = self.kept(channel);
        let device = |source| self.device(source);
        let none = || device(Error::NoChannel(channel.clone()));
        let (channel, peer) = match (before, self.around.partition) {
            // No start waits for partitions that are up already.
            (Some(channel), _) => (channel, None),
            (None, partition) => {
                let partition = partition.ok_or_else(none)?;
                let channel = partition.channel(channel).map_err(device)?;
                let peer = partition.peer(channel.description()).map_err(device)?;
                (channel, peer)
            }
        };
        let region = channel.region().map_err(device)?;
        let shape = self.shape(to);
        if self.pipe.stages[to].place == Placement::Elsewhere {
            let output = Output::attach(shape, region);
            let output = output.ok_or_else(|| self.no_buffer(from, to))?;
            self.outputs[from].push((output, None));
        } else {
            let input = Input::attach(shape, region);
            let input = input.ok_or_else(|| self.no_buffer(from, to))?;
            let place = self.reads(from, to, input)?;
            self.across[to] |= 1 << place;
        }
        self.awaits.extend(peer);
        self.kept.channels.push(channel);
        Ok(())
    }

    fn ready(
        &mut self,
        number: usize,
        awaits: &Arc<Vec<Peer>>,
        left: &SyncSender<Left>,
    ) -> Result<Ready, StartError> {
        let stages = &self.pipe.stages;
        let stage = &stages[number];
        let function = self.function(&stage.function)?;
        let fallback = match &stage.fallback {
            Some((age_ns, name)) => Some((ticks_of(*age_ns), self.function(name)?)),
            None => None,
        };
        let heads: Vec<_> = (0..stages.len())
            .filter(|&place| stages[place].from == 0)
            .collect();
        let head = heads.iter().take_while(|&&place| place < number).count();
        let inputs = std::mem::replace(&mut self.inputs[number], [const { None }; ENDS]);
        let places = Places {
            pipe: self.pipe.name.as_str().into(),
            heads: heads.into(),
            tail: number,
        };
        let waits = stage.source != Source::Stages && self.pipe.each;
        let ends = Ends::open(stage, self.around.interface);
        let ends = ends.map_err(|error| self.device(error))?;
        let work = Work::new(function, inputs, head, number as u64 + 1);
        let work = work.remote_inputs(self.across[number], ticks(), fallback);
        Ok(Ready {
            work: match stage.source {
                Source::Bridge => work.entering(ticks()),
                _ => work,
            },
            stage: stage.clone(),
            place: number,
            shared: Arc::clone(&self.shared[number]),
            content: match content_bytes(stage.message_bytes[1]) {
                bytes @ 1.. if self.outputs[number].is_empty() => {
                    memory(bytes).and_then(|region| Content::new(region, bytes))
                }
                _ => None,
            },
            outputs: std::mem::take(&mut self.outputs[number]),
            ends,
            clocked: self.across[number] != 0,
            newest: !self.pipe.each,
            rounds: stage.runtime_ns / u64::from(stage.messages.max(1)) / 1000 * self.around.rounds,
            budget: Budget::new(stage, self.around.overrun == Some(&stage.function)),
            begun: 0,
            halt: self.halt.clone(),
            awaits: waits.then(|| Arc::clone(awaits)),
            left: stage.traced.then(|| (left.clone(), places)),
        })
    }

    fn function(&self, name: &str) -> Result<Function, StartError> {
        functions::named(name).ok_or_else(|| StartError::Function {
            pipe: self.pipe.name.clone(),
            stage: name.to_owned(),
        })
    }

    fn device(&self, source: Error) -> StartError {
        StartError::Device {
            pipe: self.pipe.name.clone(),
            source: Box::new(source),
        }
    }

    fn no_buffer(&self, from: usize, to: usize) -> StartError {
        let name = |stage: usize| &self.pipe.stages[stage].function;
        StartError::Buffer {
            pipe: self.pipe.name.clone(),
            edge: format!("{} | {}", name(from), name(to)),
        }
    }
}

/// Allocates memory for the rest of the program's life, in whole cache lines.
fn memory(bytes: usize) -> Option<Region<'static>> {
    let words = bytes.div_ceil(64) * 8;
    let all: Vec<AtomicU64> = (0..words + 8).map(|_| AtomicU64::new(0)).collect();
    let all = all.leak();
    let from = all.as_ptr().align_offset(64);
    all.get(from..from + words).map(Region::from_words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use bulkhead_abi::pipe::OnOverrun;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::mpsc::sync_channel;
    use std::thread;

    /// Runs a pipe of two stages without reservations until it is halted or 105 messages have
    /// left it; every hundredth job of the first stage overruns. Returns the numbers of the
    /// messages, jobs and overruns of the first stage, and whether the pipe halted itself.
    fn overrun(on_overrun: OnOverrun) -> (Vec<u64>, [u64; 2], bool) {
        // Budgets that other jobs do not use up, however busy the machine is.
        let text = "each/sample,60000000,2000000,0,1,1,1/emit,60000000,2000000,1,2,1,200";
        let mut plan: Plan = text.parse().expect("a plan");
        let pipe = &mut plan.pipes[0];
        let [first, last] = &mut pipe.stages[..] else {
            panic!("two stages")
        };
        (first.source, first.on_overrun) = (Source::Timer(first.period_ns), on_overrun);
        last.traced = true;
        let (sender, left) = sync_channel(256);
        let around = Around {
            overrun: Some("sample"),
            ..Around::default()
        };
        let builder = Builder::new(pipe, &around, Kept::default());
        let (ready, _) = builder.build(&sender).expect("built");
        let (shared, halt) = (Arc::clone(&ready[0].shared), ready[0].halt.clone());
        let woken: Vec<_> = ready.iter().map(|one| Arc::clone(&one.shared)).collect();
        let threads = ready.into_iter().map(|one| thread::spawn(|| one.run()));
        let threads: Vec<_> = threads.collect();
        for (shared, thread) in woken.iter().zip(&threads) {
            // Set only here.
            let _ = shared.thread.set(thread.thread().clone());
            thread.thread().unpark();
        }
        while !halt.is_halted() && woken[1].jobs.load(Relaxed) < 105 {
            thread::yield_now();
        }
        let itself = halt.is_halted();
        halt.halt();
        for thread in threads {
            thread.join().expect("a stage that ends");
        }
        let numbers = left.try_iter().map(|left| left.message.entries[0].number);
        let [jobs, overruns] = [&shared.jobs, &shared.overruns].map(|count| count.load(Relaxed));
        (numbers.collect(), [jobs, overruns], itself)
    }

    #[test]
    fn a_running_pipe_that_is_started_at_a_tick_sends_nothing_before_it() {
        let text = "each/sample,60000000,2000000,0,1,1,1/emit,60000000,2000000,1,2,1,200";
        let mut plan: Plan = text.parse().expect("a plan");
        let pipe = &mut plan.pipes[0];
        pipe.stages[0].source = Source::Timer(pipe.stages[0].period_ns);
        pipe.stages[1].traced = true;
        let (sender, left) = sync_channel(256);
        let around = Around::default();
        let builder = Builder::new(pipe, &around, Kept::default());
        let (ready, _) = builder.build(&sender).expect("built");
        let halt = ready[0].halt.clone();
        let woken: Vec<_> = ready.iter().map(|one| Arc::clone(&one.shared)).collect();
        let threads: Vec<_> = ready
            .into_iter()
            .map(|one| thread::spawn(|| one.run()))
            .collect();
        for (shared, thread) in woken.iter().zip(&threads) {
            // Set only here.
            let _ = shared.thread.set(thread.thread().clone());
            thread.thread().unpark();
        }
        let wait_for = |jobs| {
            while woken[1].jobs.load(Relaxed) < jobs {
                thread::yield_now();
            }
        };
        wait_for(3);
        let stopped_at = ticks();
        let at = stopped_at + ticks_of(100_000_000);
        halt.start(at);
        // The job in progress may still send one message.
        wait_for(woken[1].jobs.load(Relaxed) + 5);
        halt.halt();
        for thread in threads {
            thread.join().expect("a stage that ends");
        }
        let entries = left.try_iter().map(|left| left.message.entries[0].at);
        let [before, after]: [Vec<u64>; 2] = {
            let (before, after) = entries.partition(|&entry| entry < at);
            [before, after]
        };
        let late = before
            .iter()
            .filter(|&&entry| entry > stopped_at + ticks_of(4_000_000));
        assert_eq!(
            late.count(),
            0,
            "{before:?}, stopped {stopped_at}, start {at}"
        );
        assert!(after.len() >= 3, "{after:?}");
    }

    #[test]
    fn what_a_job_sends_that_overruns_is_dropped() {
        let (numbers, [jobs, overruns], halted) = overrun(OnOverrun::Skip);
        assert!(
            numbers.len() >= 99 && !numbers.contains(&100),
            "{numbers:?}"
        );
        assert!(numbers.is_sorted() && numbers.contains(&99));
        assert_eq!((overruns, halted), (jobs / 100, false));
    }

    #[test]
    fn what_a_job_sends_that_overruns_is_sent_where_that_is_only_reported() {
        let (numbers, [jobs, overruns], halted) = overrun(OnOverrun::Report);
        assert!(numbers.contains(&100), "{numbers:?}");
        assert_eq!((overruns, halted), (jobs / 100, false));
    }

    #[test]
    fn a_pipe_stops_whose_job_overran_and_its_threads_end() {
        let (numbers, [jobs, overruns], halted) = overrun(OnOverrun::Stop);
        assert!(!numbers.contains(&100) && numbers.iter().all(|&number| number < 100));
        assert_eq!((jobs, overruns, halted), (100, 1, true));
    }
}
