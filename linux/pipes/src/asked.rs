//! Stages that another partition asks for while this one runs: of flows that are typed there
//!
//! The other one solved them, counts what they take here, and gives them buffers (`bulkhead_stages::request`). Linux has the last word: a
//! reservation that it refuses is a request that is refused. Who asked and starts anew has forgotten all of them, so all of them end.

use crate::begin::Running;
use crate::leaving::Leaving;
use crate::plan::{Pipe, Place, Plan, Source, Stage};
use crate::stage::Left;
use crate::start::{Around, Count, reserve};
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_buffers::Region;
use bulkhead_linux::{Channel, Error, Kind, Partition, Peer, Trace, ticks};
use bulkhead_stages::request::{
    Answerer, MESSAGE_BYTES, Promised, Request, Verb, buffer, promised,
};
use std::sync::atomic::Ordering::Acquire;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// How names of channels begin over which stages are asked for.
const PREFIX: &str = "typed.";

/// What one other partition asked for.
pub struct Asked {
    region: Region<'static>,
    answerer: Answerer,
    peer: Peer,
    /// Its start that asked for what runs.
    epoch: u32,
    flows: Vec<Flow>,
    /// What stages that a former start asked for left may lie in the buffers; who starts has none before it is answered.
    unclean: bool,
    /// What was told to end, and what is to be answered once it has.
    ending: Vec<Running>,
    due: Option<Due>,
    /// What leaves pipes that end here.
    leaving: Leaving,
    left: SyncSender<Left>,
    message: Box<[u8; MESSAGE_BYTES]>,
    /// Kept open: others cannot have it meanwhile.
    _channel: Channel,
}

struct Flow {
    id: u64,
    name: String,
    /// Functions, in their order.
    functions: Vec<String>,
    stages: Vec<Running>,
    /// Places of those that are last ones of the pipe.
    tails: Vec<usize>,
    /// What is promised, until it is recorded.
    promised: Vec<Promised>,
}

/// A flow that is to end.
#[derive(Clone, Copy)]
struct Due {
    id: u64,
    /// As often as the end of a task went into it.
    ends: u64,
    /// By then all of it has come out.
    until: Instant,
}

/// What goes into a pipe before its end comes out of it within this and two of each stage's periods for each message that may wait there.
const END: Duration = Duration::from_secs(1);

/// Nobody is waited for longer, whatever periods were asked for.
const LONGEST: Duration = Duration::from_secs(60);

impl Flow {
    /// Whether all that went into it has left it.
    fn is_over(&self, ends: u64) -> bool {
        let mut tails = self.stages.iter();
        tails.all(|one| {
            let ended = one.shared.ended.load(Acquire);
            !self.tails.contains(&one.place) || ended >= ends || one.has_ended()
        })
    }
}

/// What is told of a request.
#[derive(Debug)]
pub enum Told {
    /// The stages of a pipe run.
    Runs(String),
    /// They do not, and why.
    Refused(String),
    /// Who asked started anew: so many stages end.
    Forgotten(usize),
}

impl Asked {
    /// At all channels over which stages may be asked for, of a program that keeps its memory where it is: keeping it anew would hold
    /// the address space while stages run.
    ///
    /// # Errors
    /// One cannot be used.
    pub fn open(partition: &Partition) -> Result<Vec<Self>, Error> {
        let channels = partition.channels()?.into_iter();
        let typed = channels.filter(|one| one.kind == Kind::Memory && one.name.starts_with(PREFIX));
        typed.map(|one| Self::at(partition, &one.name)).collect()
    }

    fn at(partition: &Partition, name: &str) -> Result<Self, Error> {
        let none = || Error::NoChannel(name.to_owned());
        let channel = partition.channel(name)?;
        let region = channel.region()?;
        let peer = partition.peer(channel.description())?.ok_or_else(none)?;
        let (left, leaving) = Leaving::new();
        Ok(Self {
            left,
            leaving,
            region,
            answerer: Answerer::attach(region).ok_or_else(none)?,
            epoch: peer.state().epoch,
            peer,
            flows: Vec::new(),
            unclean: false,
            ending: Vec::new(),
            due: None,
            message: Box::new([0; MESSAGE_BYTES]),
            _channel: channel,
        })
    }

    /// What each stage did so far.
    pub fn counts(&self) -> impl Iterator<Item = Count<'_>> {
        self.running().map(Running::count)
    }

    /// Records what left since the last call, and which stages overran.
    ///
    /// # Errors
    /// A file of what left cannot be written; it is not tried again.
    pub fn record(&mut self, trace: &Trace) -> Result<(), Error> {
        self.running().for_each(|running| running.record(trace));
        self.leaving.record(trace)
    }

    /// Says what is promised from now on, where no former flow of that name can say anything any more.
    fn announce(&mut self, trace: &Trace) {
        for index in 0..self.flows.len() {
            let (former, rest) = self.flows.split_at_mut(index);
            let Some(flow) = rest.first_mut() else {
                return;
            };
            let mut ending = self.ending.iter();
            if former.iter().any(|one| one.name == flow.name)
                || ending.any(|one| one.pipe == flow.name)
            {
                continue;
            }
            for one in std::mem::take(&mut flow.promised) {
                promise(flow, &one, trace);
            }
        }
    }

    fn running(&self) -> impl Iterator<Item = &Running> {
        self.flows.iter().flat_map(|flow| &flow.stages)
    }

    /// Looks after what is asked, once; what became of a request, if there was one. Never waits.
    pub fn look(&mut self, around: &Around<'_>, trace: &Trace) -> Option<Told> {
        let epoch = self.peer.state().epoch;
        if epoch != self.epoch {
            self.epoch = epoch;
            self.unclean = true;
            let count = self.running().count();
            self.end(|_| true);
            if count > 0 {
                return Some(Told::Forgotten(count));
            }
        }
        self.end_what_is_over();
        self.ending.retain(|running| !running.has_ended());
        if self.ending.is_empty() {
            // What left a former flow of a name, before what is promised of the next.
            if let Err(error) = self.leaving.record(trace) {
                return Some(Told::Refused(error.to_string()));
            }
        }
        self.announce(trace);
        let is_over = |due: &mut Due| self.flows.iter().all(|flow| flow.id != due.id);
        if self.ending.is_empty()
            && let Some(due) = self.due.take_if(is_over)
        {
            self.answerer.settle(due.id, None);
        }
        if !self.ending.is_empty() {
            return None;
        }
        if std::mem::take(&mut self.unclean) {
            let buffers = (0..).map_while(|number| buffer(self.region, number));
            buffers.for_each(|buffer| buffer.clear());
        }
        let (request, length) = self.answerer.take(&mut self.message)?;
        match Verb::of(request.verb) {
            Some(Verb::Run) => {
                let told = self.run(request.id, length, around);
                let why = match &told {
                    Told::Refused(why) => Some(why.as_str()),
                    _ => None,
                };
                self.announce(trace);
                self.answerer.settle(request.id, why);
                Some(told)
            }
            Some(Verb::End) => {
                self.due = Some(Due {
                    id: request.id,
                    ends: request.ends.into(),
                    until: Instant::now() + self.patience(request.id),
                });
                None
            }
            None => {
                self.answerer
                    .settle(request.id, Some("it asks for what is not known here"));
                None
            }
        }
    }

    /// Within which all that went into a flow has come out.
    fn patience(&self, id: u64) -> Duration {
        let flows = self.flows.iter().filter(|flow| flow.id == id);
        let periods = flows.flat_map(|flow| &flow.stages).map(Running::longest);
        let all = periods.fold(END, Duration::saturating_add);
        all.min(LONGEST)
    }

    /// Has those end that are to and that nothing comes out of any more.
    fn end_what_is_over(&mut self) {
        if let Some(Due { id, ends, until }) = self.due {
            let late = Instant::now() > until;
            self.end(|flow| flow.id == id && (late || flow.is_over(ends)));
        }
    }

    fn end(&mut self, which: impl Fn(&Flow) -> bool) {
        for flow in self.flows.extract_if(.., |flow| which(flow)) {
            flow.stages.iter().for_each(Running::retire);
            self.ending.extend(flow.stages);
        }
    }

    fn run(&mut self, id: u64, length: usize, around: &Around<'_>) -> Told {
        let packed = self.message.get(size_of::<Request>()..length);
        let plan = packed.and_then(Plan::packed).map(|plan| plan.pipes);
        let Some([pipe]) = plan.as_deref() else {
            return Told::Refused("it is no pipe".into());
        };
        if let Some(why) = unfit(pipe) {
            return Told::Refused(why);
        }
        let around = Around {
            asked: Some(self.region),
            ..*around
        };
        match reserve(pipe, &around, &self.left) {
            Ok((reserved, _)) => {
                // A pipe runs without a file that cannot be had.
                let _refused = self.leaving.keep(pipe, &around);
                let tails = pipe.stages.iter().enumerate();
                let tails = tails.filter(|(_, stage)| stage.traced);
                let promised = packed.into_iter().flat_map(promised);
                let functions = pipe.stages.iter().map(|stage| stage.function.clone());
                self.flows.push(Flow {
                    id,
                    name: pipe.name.clone(),
                    functions: functions.collect(),
                    tails: tails.map(|(place, _)| place).collect(),
                    promised: promised.collect(),
                    stages: reserved.begin(),
                });
                Told::Runs(pipe.name.clone())
            }
            Err(why) => Told::Refused(why.to_string()),
        }
    }
}

/// Records what is promised of a path, as a partition does in which it is typed.
fn promise(flow: &Flow, promised: &Promised, trace: &Trace) {
    let event = Event {
        ticks: ticks(),
        kind: EventKind::Promised as u32,
        sequence: promised.lost,
        a: promised.bound_ns,
        b: u64::from(promised.head) | u64::from(promised.tail) << 8,
        name: name_field(&flow.name),
    };
    trace.write(&event);
    for (sequence, place) in (0..).zip([promised.head, promised.tail]) {
        let function = flow.functions.get(place as usize);
        trace.write(&Event {
            kind: EventKind::PathEnd as u32,
            sequence,
            a: promised.rate,
            name: name_field(function.map_or("?", String::as_str)),
            ..event
        });
    }
}

/// Why a pipe is none that can be asked for.
fn unfit(pipe: &Pipe) -> Option<String> {
    let here = || {
        let stages = pipe.stages.iter().enumerate();
        stages.filter(|(_, stage)| stage.place != Place::Elsewhere)
    };
    let is_outside =
        |stage: &Stage| stage.source != Source::Stages || stage.writes.is_some() || stage.bridged;
    let mut ends = here().filter(|(_, stage)| is_outside(stage));
    if let Some((_, stage)) = ends.next() {
        return Some(format!(
            "pipe `{}` would begin here, or write a device or to others, with `{}`",
            pipe.name, stage.function
        ));
    }
    let lonely = here().find(|(place, stage)| {
        let mut writers = pipe.stages.iter().enumerate();
        let mut crossings = pipe.crossings.iter();
        writers.any(|(from, writer)| {
            writer.to == stage.from && !crossings.any(|one| (one.from, one.to) == (from, *place))
        })
    });
    let lonely = lonely.map(|(_, stage)| &stage.function);
    lonely.map(|function| format!("pipe `{}`: `{function}` has no buffer", pipe.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Crossing;
    use std::sync::mpsc::sync_channel;

    fn pipe() -> Pipe {
        let text = "each/sample,1,2,0,1,1,1/filter,1,2,1,2,1,1/emit,1,2,2,3,1,1";
        let plan: Plan = text.parse().expect("a plan");
        let mut pipe = plan.pipes.into_iter().next().expect("a pipe");
        let crossing = |from| Crossing {
            channel: format!("#00{from}"),
            from,
            to: from + 1,
        };
        pipe.crossings = vec![crossing(0), crossing(1)];
        for stage in [0, 2] {
            pipe.stages[stage].place = Place::Elsewhere;
        }
        pipe
    }

    #[test]
    fn only_what_lies_between_stages_of_who_asks_is_run() {
        assert_eq!(unfit(&pipe()), None);
        let mut first = pipe();
        first.stages[0].place = Place::Core(0);
        let why = unfit(&first).expect("a first stage here");
        assert!(why.contains("begin here, or write a device"), "{why}");
        let mut last = pipe();
        last.stages[2].place = Place::Core(0);
        last.stages[2].traced = true;
        assert_eq!(unfit(&last), None);
        last.stages[2].bridged = true;
        let why = unfit(&last).expect("a last stage that leads to others");
        assert!(why.contains("with `emit`"), "{why}");
        let mut cut = pipe();
        cut.crossings.remove(0);
        let why = unfit(&cut).expect("no buffer");
        assert!(why.contains("`filter` has no buffer"), "{why}");
    }

    /// Buffers that the channel does not have are refused, and nothing has begun.
    #[test]
    fn a_buffer_that_is_not_there_is_refused() {
        let mut pipe = pipe();
        pipe.crossings[1].channel = "#900".into();
        let (left, _) = sync_channel(1);
        let refused = reserve(&pipe, &Around::default(), &left);
        let why = refused.map(|_| ()).expect_err("no such buffer").to_string();
        assert!(why.contains("sample | filter"), "{why}");
    }
}
