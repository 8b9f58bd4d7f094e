//! Stages that another partition asks for while this one runs: of flows that are typed there
//!
//! The other one solved them, counts what they take here, and gives them buffers (`bulkhead_stages::request`). Linux has the last word: a
//! reservation that it refuses is a request that is refused. Who asked and starts anew has forgotten all of them, so all of them end.

use crate::begin::{Running, Words};
use crate::described::Stages;
use crate::leaving::Leaving;
use crate::part::{End, Part};
use crate::plan::{Pipe, Place, Plan, Source, Stage};
use crate::stage::Left;
use crate::start::{Around, Count, Kept, reserve};
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_buffers::Region;
use bulkhead_linux::{Channel, Error, Kind, Partition, Peer, Trace, ticks};
use bulkhead_stages::request::{
    Answerer, MESSAGE_BYTES, Meant, Promised, Request, Verb, buffer, meant, promised,
};
use std::sync::mpsc::SyncSender;

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
    /// What stages that a former start asked for left may lie in the buffers; who starts has none before it is answered. What that one had
    /// forgotten is described.
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
    part: Part,
    /// Where first stages are here: the word for all, until who asked has them begin.
    words: Option<Words>,
    begins: bool,
    /// What is promised, until it is recorded.
    promised: Vec<Promised>,
}

impl Flow {
    /// Has first stages here begin, not before a tick, or end a task.
    fn have(&mut self, verb: Verb, at: u64) -> Result<(), &'static str> {
        if !self.begins {
            return Err("it does not begin in Linux");
        }
        self.part.have(verb, at);
        // Stopped before it began, it ends no task that it did not begin.
        if let Some(words) = self.words.take_if(|_| verb == Verb::Start) {
            words.begin();
        }
        Ok(())
    }
}

/// Whether a first stage of a pipe is here.
fn begins(pipe: &Pipe) -> bool {
    let mut here = pipe
        .stages
        .iter()
        .filter(|one| one.place != Place::Elsewhere);
    here.any(|stage| stage.source != Source::Stages)
}

/// What is to end, and is answered then.
#[derive(Clone, Copy)]
struct Due {
    id: u64,
    what: What,
    end: End,
}

#[derive(Clone, Copy)]
enum What {
    /// The flow of that number, if there is one.
    Flow(u64),
    /// The described pipe at that place.
    Described(usize),
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
    /// A described pipe was removed where flows are typed: its stages here have ended.
    Gone(String),
    /// Who removed or stopped it starts anew: its stages run again.
    Again(String),
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

    /// Says what is promised from now on, where no former pipe of that name can say anything any more.
    fn announce(&mut self, trace: &Trace, described: &Stages) {
        for index in 0..self.flows.len() {
            let (former, rest) = self.flows.split_at_mut(index);
            let Some(flow) = rest.first_mut() else {
                return;
            };
            let mut ending = self.ending.iter();
            if former.iter().any(|one| one.name == flow.name)
                || ending.any(|one| one.pipe == flow.name)
                || described.runs(&flow.name)
            {
                continue;
            }
            for one in std::mem::take(&mut flow.promised) {
                promise(flow, &one, trace);
            }
        }
    }

    fn running(&self) -> impl Iterator<Item = &Running> {
        self.flows.iter().flat_map(|flow| &flow.part.stages)
    }

    /// Looks after what is asked, once, beside the pipes of the description; what became of a request, if there was one. Never waits.
    pub fn look(
        &mut self,
        around: &Around<'_>,
        trace: &Trace,
        described: &mut Stages,
    ) -> Option<Told> {
        if let Some(count) = self.notice_start(described) {
            return Some(Told::Forgotten(count));
        }
        self.end_what_is_over(described);
        self.ending.retain(|running| !running.has_ended());
        if self.ending.is_empty() {
            // What left a former flow of a name, before what is promised of the next.
            if let Err(error) = self.leaving.record(trace) {
                return Some(Told::Refused(error.to_string()));
            }
        }
        let gone = described.collect(trace);
        self.announce(trace, described);
        if !self.ending.is_empty() || described.is_ending() {
            return gone.map(Told::Gone);
        }
        if let Some(due) = self
            .due
            .take_if(|due| !is_there(due.what, &self.flows, described))
        {
            self.answerer.settle(due.id, None);
        }
        gone.map(Told::Gone)
            .or_else(|| self.begin_anew(around, trace, described))
            .or_else(|| self.take(around, trace, described))
    }

    /// Who asked and starts anew knows of nothing that it asked for: how many stages end, if some do.
    fn notice_start(&mut self, described: &Stages) -> Option<usize> {
        let epoch = self.peer.state().epoch;
        if std::mem::replace(&mut self.epoch, epoch) == epoch {
            return None;
        }
        self.unclean = true;
        // A described pipe that did not end yet goes on.
        let goes_on = |due: &mut Due| matches!(due.what, What::Described(place) if !described.has_gone(place));
        if let Some(due) = self.due.take_if(goes_on) {
            self.answerer.settle(due.id, None);
        }
        let count = self.running().count();
        self.end(|_| true);
        (count > 0).then_some(count)
    }

    /// Once nothing runs that a former start asked for: buffers are as before it, and what it had forgotten or stopped runs again, one pipe after
    /// the other.
    fn begin_anew(
        &mut self,
        around: &Around<'_>,
        trace: &Trace,
        described: &mut Stages,
    ) -> Option<Told> {
        if !self.unclean {
            return None;
        }
        let told = described.begin_again(around, trace);
        if told.is_none() {
            self.unclean = false;
            let buffers = (0..).map_while(|number| buffer(self.region, number));
            buffers.for_each(|buffer| buffer.clear());
        }
        told
    }

    /// Takes a request.
    fn take(&mut self, around: &Around<'_>, trace: &Trace, described: &mut Stages) -> Option<Told> {
        let (request, length) = self.answerer.take(&mut self.message)?;
        let due = |what, part: Option<&Part>| Due {
            id: request.id,
            what,
            end: part.unwrap_or(&Part::default()).end(request.ended),
        };
        match Verb::of(request.verb) {
            Some(Verb::Run) => {
                let told = self.run(request.id, length, around);
                let why = match &told {
                    Told::Refused(why) => Some(why.as_str()),
                    _ => None,
                };
                self.announce(trace, described);
                self.answerer.settle(request.id, why);
                return Some(told);
            }
            Some(Verb::End) => {
                let flow = self.flows.iter().find(|flow| flow.id == request.id);
                self.due = Some(due(What::Flow(request.id), flow.map(|flow| &flow.part)));
            }
            Some(Verb::Forget) => {
                let body = self.message.get(size_of::<Request>()..length);
                match described.forgettable(body.unwrap_or_default()) {
                    Ok((place, part)) => self.due = Some(due(What::Described(place), Some(part))),
                    Err(why) => self.answerer.settle(request.id, Some(why)),
                }
            }
            Some(verb @ (Verb::Start | Verb::Stop)) => {
                let body = self.message.get(size_of::<Request>()..length);
                let mut flows = self.flows.iter_mut();
                let done = match meant(body.unwrap_or_default()) {
                    Some(Meant::Asked) => flows
                        .find(|flow| flow.id == request.id)
                        .ok_or("there is no such pipe in Linux")
                        .and_then(|flow| flow.have(verb, request.ended)),
                    Some(Meant::Described(name)) => described.have(&name, verb, request.ended),
                    None => Err("it names no pipe"),
                };
                self.answerer.settle(request.id, done.err());
            }
            None => self
                .answerer
                .settle(request.id, Some("it asks for what is not known here")),
        }
        None
    }

    /// Has those end that are to and that nothing comes out of any more.
    fn end_what_is_over(&mut self, described: &mut Stages) {
        match self.due {
            Some(Due {
                what: What::Flow(id),
                end,
                ..
            }) => {
                self.end(|flow| flow.id == id && flow.part.is_over(&end));
            }
            Some(Due {
                what: What::Described(place),
                end,
                ..
            }) => described.end(place, &end),
            None => {}
        }
    }

    fn end(&mut self, which: impl Fn(&Flow) -> bool) {
        for flow in self.flows.extract_if(.., |flow| which(flow)) {
            flow.part.retire();
            self.ending.extend(flow.part.stages);
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
        match reserve(pipe, &around, &self.left, Kept::default()) {
            Ok((reserved, _)) => {
                // A pipe runs without a file that cannot be had.
                let _refused = self.leaving.keep(pipe, &around);
                let promised = packed.into_iter().flat_map(promised);
                let functions = pipe.stages.iter().map(|stage| stage.function.clone());
                let (stages, words) = match begins(pipe) {
                    true => {
                        let (stages, words) = reserved.held();
                        (stages, Some(words))
                    }
                    false => (reserved.begin(), None),
                };
                self.flows.push(Flow {
                    id,
                    name: pipe.name.clone(),
                    functions: functions.collect(),
                    promised: promised.collect(),
                    part: Part::new(pipe, stages),
                    words,
                    begins: begins(pipe),
                });
                Told::Runs(pipe.name.clone())
            }
            Err(why) => Told::Refused(why.to_string()),
        }
    }
}

/// Whether what is to end is there still.
fn is_there(what: What, flows: &[Flow], described: &Stages) -> bool {
    match what {
        What::Flow(id) => flows.iter().any(|flow| flow.id == id),
        What::Described(place) => !described.has_gone(place),
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

/// The longest interval, nanoseconds: a day, as of whatever is described.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// Why a pipe is none that can be asked for.
fn unfit(pipe: &Pipe) -> Option<String> {
    let here = || {
        let stages = pipe.stages.iter().enumerate();
        stages.filter(|(_, stage)| stage.place != Place::Elsewhere)
    };
    let is_made = |stage: &Stage| match stage.source {
        Source::Stages => true,
        Source::Timer(interval_ns) => (1..=LONGEST_NS).contains(&interval_ns),
        _ => false,
    };
    let is_outside = |stage: &Stage| !is_made(stage) || stage.writes.is_some() || stage.bridged;
    let mut ends = here().filter(|(_, stage)| is_outside(stage));
    if let Some((_, stage)) = ends.next() {
        return Some(format!(
            "pipe `{}` would begin or end here at a device or with others, or without an interval, with `{}`",
            pipe.name, stage.function
        ));
    }
    let lonely = here().find(|(place, stage)| {
        let mut writers = pipe.stages.iter().enumerate();
        let mut crossings = pipe.crossings.iter();
        writers.any(|(from, writer)| {
            stage.from != 0
                && writer.to == stage.from
                && !crossings.any(|one| (one.from, one.to) == (from, *place))
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
    fn what_begins_and_ends_at_no_device_is_run() {
        assert_eq!(unfit(&pipe()), None);
        let mut first = pipe();
        first.stages[0].place = Place::Core(0);
        let why = unfit(&first).expect("a first stage at a device");
        assert!(why.contains("begin or end here at a device"), "{why}");
        for (interval, fits) in [(0, false), (LONGEST_NS + 1, false), (1, true)] {
            first.stages[0].source = Source::Timer(interval);
            assert_eq!(unfit(&first).is_none(), fits, "{interval}");
        }
        assert!(begins(&first) && !begins(&pipe()));
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
        let refused = reserve(&pipe, &Around::default(), &left, Kept::default());
        let why = refused.map(|_| ()).expect_err("no such buffer").to_string();
        assert!(why.contains("sample | filter"), "{why}");
    }
}
