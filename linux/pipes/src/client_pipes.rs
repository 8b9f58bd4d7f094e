//! Pipes of a client partition with stages that run here; they are entered on the client's console
//!
//! The client has solved them, counts their use of time here, and provides the buffers
//! (`bulkhead_stages::request`). Linux makes the last decision: if the kernel rejects a
//! reservation, the request is rejected. A client that restarts has lost its requests, so all of
//! their stages end.

use crate::part::{End, Part};
use crate::plan::{Pipe, Placement, Plan, Source, Stage};
use crate::recording::Leaving;
use crate::reservation::{Running, Words};
use crate::stage::Left;
use crate::start::{Around, Count, Kept, reserve};
use crate::static_pipes::Stages;
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_buffers::Region;
use bulkhead_linux::{Channel, Error, Kind, Partition, Peer, Trace, ticks};
use bulkhead_stages::request::{
    MESSAGE_BYTES, PathGuarantee, Request, Responder, Target, Verb, buffer, path_guarantees, target,
};
use std::sync::mpsc::SyncSender;

/// Prefix of the names of channels for such requests.
const PREFIX: &str = "typed.";

/// State of one client partition.
pub struct ClientPipes {
    region: Region<'static>,
    answerer: Responder,
    peer: Peer,
    /// Epoch of the client that requested the running stages.
    epoch: u32,
    flows: Vec<Flow>,
    /// The buffers may contain messages of the client's former start. The client gets no buffer
    /// before it is answered. Static pipes that it removed have to run again.
    unclean: bool,
    /// Stages that are ending, and the request to be answered once they have.
    ending: Vec<Running>,
    due: Option<Due>,
    /// Records messages that leave pipes here.
    leaving: Leaving,
    left: SyncSender<Left>,
    message: Box<[u8; MESSAGE_BYTES]>,
    /// Kept open, so that no other program opens it.
    _channel: Channel,
}

struct Flow {
    id: u64,
    name: String,
    /// Functions of its stages, in the order of the flow.
    functions: Vec<String>,
    part: Part,
    /// Start signal for all threads if first stages are here, until the client starts them.
    words: Option<Words>,
    begins: bool,
    /// Guarantees that are not recorded yet.
    guarantees: Vec<PathGuarantee>,
}

impl Flow {
    /// Starts first stages here, not before tick `at`, or ends their task.
    fn execute(&mut self, verb: Verb, at: u64) -> Result<(), &'static str> {
        if !self.begins {
            return Err("it does not begin in Linux");
        }
        self.part.execute(verb, at);
        // A pipe that was stopped before it began sends no end of task.
        if let Some(words) = self.words.take_if(|_| verb == Verb::Start) {
            words.begin();
        }
        Ok(())
    }
}

/// Returns whether a first stage of a pipe is here.
fn begins(pipe: &Pipe) -> bool {
    let mut here = pipe
        .stages
        .iter()
        .filter(|one| one.place != Placement::Elsewhere);
    here.any(|stage| stage.source != Source::Stages)
}

/// A request to end stages, and the pipe to be ended.
#[derive(Clone, Copy)]
struct Due {
    id: u64,
    what: EndTarget,
    end: End,
}

#[derive(Clone, Copy)]
enum EndTarget {
    /// The flow of that number, if there is one.
    Flow(u64),
    /// The static pipe of that index.
    Static(usize),
}

/// Outcome of a request.
#[derive(Debug)]
pub enum Report {
    /// The stages of a pipe run.
    Runs(String),
    /// The request is rejected, for this reason.
    Refused(String),
    /// The client restarted: so many stages end.
    ClientRestarted(usize),
    /// The client removed a static pipe: its stages here have ended.
    Removed(String),
    /// The client, which removed or stopped a static pipe, restarted: the pipe's stages run again.
    Resumed(String),
}

impl ClientPipes {
    /// Opens all channels over which stages may be requested. The program has locked its memory
    /// before: locking it later would hold the address space while stages run.
    ///
    /// # Errors
    /// A channel cannot be used.
    pub fn open(partition: &Partition) -> Result<Vec<Self>, Error> {
        let channels = partition.channels()?.into_iter();
        let request_channels =
            channels.filter(|one| one.kind == Kind::Memory && one.name.starts_with(PREFIX));
        request_channels
            .map(|one| Self::at(partition, &one.name))
            .collect()
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
            answerer: Responder::attach(region).ok_or_else(none)?,
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

    /// Counters of each stage.
    pub fn counts(&self) -> impl Iterator<Item = Count<'_>> {
        self.running().map(Running::count)
    }

    /// Records messages that left since the last call, and overruns.
    ///
    /// # Errors
    /// A file of recorded messages cannot be written; it is not tried again.
    pub fn record(&mut self, trace: &Trace) -> Result<(), Error> {
        self.running().for_each(|running| running.record(trace));
        self.leaving.record(trace)
    }

    /// Records guarantees of new pipes, once no former pipe of the same name can record anything
    /// any more.
    fn announce(&mut self, trace: &Trace, static_pipes: &Stages) {
        for index in 0..self.flows.len() {
            let (former, rest) = self.flows.split_at_mut(index);
            let Some(flow) = rest.first_mut() else {
                return;
            };
            let mut ending = self.ending.iter();
            if former.iter().any(|one| one.name == flow.name)
                || ending.any(|one| one.pipe == flow.name)
                || static_pipes.runs(&flow.name)
            {
                continue;
            }
            for one in std::mem::take(&mut flow.guarantees) {
                record_guarantee(flow, &one, trace);
            }
        }
    }

    fn running(&self) -> impl Iterator<Item = &Running> {
        self.flows.iter().flat_map(|flow| &flow.part.stages)
    }

    /// Handles the client's requests, once, beside the static pipes. Returns the outcome of a
    /// request, if there was one. Never blocks.
    pub fn look(
        &mut self,
        around: &Around<'_>,
        trace: &Trace,
        static_pipes: &mut Stages,
    ) -> Option<Report> {
        if let Some(count) = self.notice_start(static_pipes) {
            return Some(Report::ClientRestarted(count));
        }
        self.end_what_is_over(static_pipes);
        self.ending.retain(|running| !running.has_ended());
        if self.ending.is_empty() {
            // Messages of a former pipe of a name are recorded before the guarantees of the next
            // one.
            if let Err(error) = self.leaving.record(trace) {
                return Some(Report::Refused(error.to_string()));
            }
        }
        let removed = static_pipes.collect(trace);
        self.announce(trace, static_pipes);
        if !self.ending.is_empty() || static_pipes.is_ending() {
            return removed.map(Report::Removed);
        }
        if let Some(due) = self
            .due
            .take_if(|due| !is_there(due.what, &self.flows, static_pipes))
        {
            self.answerer.settle(due.id, None);
        }
        removed
            .map(Report::Removed)
            .or_else(|| self.begin_anew(around, trace, static_pipes))
            .or_else(|| self.take(around, trace, static_pipes))
    }

    /// Handles a restart of the client, which has lost its requests. Returns how many stages end,
    /// if any do.
    fn notice_start(&mut self, static_pipes: &Stages) -> Option<usize> {
        let epoch = self.peer.state().epoch;
        if std::mem::replace(&mut self.epoch, epoch) == epoch {
            return None;
        }
        self.unclean = true;
        // A static pipe that has not ended yet continues.
        let continues = |due: &mut Due| matches!(due.what, EndTarget::Static(place) if !static_pipes.is_removed(place));
        if let Some(due) = self.due.take_if(continues) {
            self.answerer.settle(due.id, None);
        }
        let count = self.running().count();
        self.end(|_| true);
        (count > 0).then_some(count)
    }

    /// Cleans up once no stage of the client's former start runs: clears the buffers, and resumes
    /// static pipes that it removed or stopped, one per call.
    fn begin_anew(
        &mut self,
        around: &Around<'_>,
        trace: &Trace,
        static_pipes: &mut Stages,
    ) -> Option<Report> {
        if !self.unclean {
            return None;
        }
        let report = static_pipes.begin_again(around, trace);
        if report.is_none() {
            self.unclean = false;
            let buffers = (0..).map_while(|number| buffer(self.region, number));
            buffers.for_each(|buffer| buffer.clear());
        }
        report
    }

    /// Takes a request from the channel.
    fn take(
        &mut self,
        around: &Around<'_>,
        trace: &Trace,
        static_pipes: &mut Stages,
    ) -> Option<Report> {
        let (request, length) = self.answerer.take(&mut self.message)?;
        let due = |what, part: Option<&Part>| Due {
            id: request.id,
            what,
            end: part.unwrap_or(&Part::default()).end(request.ended),
        };
        match Verb::of(request.verb) {
            Some(Verb::Run) => {
                let report = self.run(request.id, length, around);
                let reason = match &report {
                    Report::Refused(reason) => Some(reason.as_str()),
                    _ => None,
                };
                self.announce(trace, static_pipes);
                self.answerer.settle(request.id, reason);
                return Some(report);
            }
            Some(Verb::End) => {
                let flow = self.flows.iter().find(|flow| flow.id == request.id);
                self.due = Some(due(
                    EndTarget::Flow(request.id),
                    flow.map(|flow| &flow.part),
                ));
            }
            Some(Verb::Forget) => {
                let body = self.message.get(size_of::<Request>()..length);
                match static_pipes.removable(body.unwrap_or_default()) {
                    Ok((place, part)) => self.due = Some(due(EndTarget::Static(place), Some(part))),
                    Err(reason) => self.answerer.settle(request.id, Some(reason)),
                }
            }
            Some(verb @ (Verb::Start | Verb::Stop)) => {
                let body = self.message.get(size_of::<Request>()..length);
                let mut flows = self.flows.iter_mut();
                let done = match target(body.unwrap_or_default()) {
                    Some(Target::Requested) => flows
                        .find(|flow| flow.id == request.id)
                        .ok_or("there is no such pipe in Linux")
                        .and_then(|flow| flow.execute(verb, request.ended)),
                    Some(Target::Static(name)) => static_pipes.execute(&name, verb, request.ended),
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

    /// Ends stages that are to end and that no message leaves any more.
    fn end_what_is_over(&mut self, static_pipes: &mut Stages) {
        match self.due {
            Some(Due {
                what: EndTarget::Flow(id),
                end,
                ..
            }) => {
                self.end(|flow| flow.id == id && flow.part.is_over(&end));
            }
            Some(Due {
                what: EndTarget::Static(place),
                end,
                ..
            }) => static_pipes.end(place, &end),
            None => {}
        }
    }

    fn end(&mut self, which: impl Fn(&Flow) -> bool) {
        for flow in self.flows.extract_if(.., |flow| which(flow)) {
            flow.part.retire();
            self.ending.extend(flow.part.stages);
        }
    }

    fn run(&mut self, id: u64, length: usize, around: &Around<'_>) -> Report {
        let packed = self.message.get(size_of::<Request>()..length);
        let plan = packed.and_then(Plan::packed).map(|plan| plan.pipes);
        let Some([pipe]) = plan.as_deref() else {
            return Report::Refused("it is no pipe".into());
        };
        if let Some(reason) = unfit(pipe) {
            return Report::Refused(reason);
        }
        let around = Around {
            client: Some(self.region),
            ..*around
        };
        match reserve(pipe, &around, &self.left, Kept::default()) {
            Ok((reserved, _)) => {
                // A pipe runs without a file that cannot be created.
                let _refused = self.leaving.keep(pipe, &around);
                let promised = packed.into_iter().flat_map(path_guarantees);
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
                    guarantees: promised.collect(),
                    part: Part::new(pipe, stages),
                    words,
                    begins: begins(pipe),
                });
                Report::Runs(pipe.name.clone())
            }
            Err(reason) => Report::Refused(reason.to_string()),
        }
    }
}

/// Returns whether the pipe to be ended is there still.
fn is_there(what: EndTarget, flows: &[Flow], static_pipes: &Stages) -> bool {
    match what {
        EndTarget::Flow(id) => flows.iter().any(|flow| flow.id == id),
        EndTarget::Static(place) => !static_pipes.is_removed(place),
    }
}

/// Records the guarantee of a path, as the planner of a partition does.
fn record_guarantee(flow: &Flow, guarantees: &PathGuarantee, trace: &Trace) {
    let event = Event {
        ticks: ticks(),
        kind: EventKind::Promised as u32,
        sequence: guarantees.lost,
        a: guarantees.bound_ns,
        b: u64::from(guarantees.head) | u64::from(guarantees.tail) << 8,
        name: name_field(&flow.name),
    };
    trace.write(&event);
    for (sequence, place) in (0..).zip([guarantees.head, guarantees.tail]) {
        let function = flow.functions.get(place as usize);
        trace.write(&Event {
            kind: EventKind::PathEnd as u32,
            sequence,
            a: guarantees.rate,
            name: name_field(function.map_or("?", String::as_str)),
            ..event
        });
    }
}

/// Maximum interval, nanoseconds: a day, as for static pipes.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// Reason for which a requested pipe is not valid, if there is one.
fn unfit(pipe: &Pipe) -> Option<String> {
    let here = || {
        let stages = pipe.stages.iter().enumerate();
        stages.filter(|(_, stage)| stage.place != Placement::Elsewhere)
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
            pipe.stages[stage].place = Placement::Elsewhere;
        }
        pipe
    }

    #[test]
    fn what_begins_and_ends_at_no_device_is_run() {
        assert_eq!(unfit(&pipe()), None);
        let mut first = pipe();
        first.stages[0].place = Placement::Core(0);
        let reason = unfit(&first).expect("a first stage at a device");
        assert!(reason.contains("begin or end here at a device"), "{reason}");
        for (interval, fits) in [(0, false), (LONGEST_NS + 1, false), (1, true)] {
            first.stages[0].source = Source::Timer(interval);
            assert_eq!(unfit(&first).is_none(), fits, "{interval}");
        }
        assert!(begins(&first) && !begins(&pipe()));
        let mut last = pipe();
        last.stages[2].place = Placement::Core(0);
        last.stages[2].traced = true;
        assert_eq!(unfit(&last), None);
        last.stages[2].bridged = true;
        let reason = unfit(&last).expect("a last stage that leads to others");
        assert!(reason.contains("with `emit`"), "{reason}");
        let mut cut = pipe();
        cut.crossings.remove(0);
        let reason = unfit(&cut).expect("no buffer");
        assert!(reason.contains("`filter` has no buffer"), "{reason}");
    }

    /// A request with buffers that the channel lacks is rejected before anything begins.
    #[test]
    fn a_buffer_that_is_not_there_is_refused() {
        let mut pipe = pipe();
        pipe.crossings[1].channel = "#900".into();
        let (left, _) = sync_channel(1);
        let refused = reserve(&pipe, &Around::default(), &left, Kept::default());
        let reason = refused.map(|_| ()).expect_err("no such buffer").to_string();
        assert!(reason.contains("sample | filter"), "{reason}");
    }
}
