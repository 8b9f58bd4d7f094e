//! Stages that another partition asks for while this one runs: of flows that are typed there
//!
//! The other one solved them, counts what they take here, and gives them buffers (`bulkhead_stages::request`). Linux has the last word: a
//! reservation that it refuses is a request that is refused. Who asked and starts anew has forgotten all of them, so all of them end.

use crate::begin::Running;
use crate::plan::{Pipe, Place, Plan, Source};
use crate::start::{Around, Count, reserve};
use bulkhead_buffers::Region;
use bulkhead_linux::{Channel, Error, Kind, Partition, Peer, Trace};
use bulkhead_stages::request::{Answer, Answerer, MESSAGE_BYTES, Request, Verb};
use std::sync::mpsc::sync_channel;

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
    /// What was told to end, and who is to be answered once it has.
    ending: Vec<Running>,
    due: Option<u64>,
    message: Box<[u8; MESSAGE_BYTES]>,
    /// Kept open: others cannot have it meanwhile.
    _channel: Channel,
}

struct Flow {
    id: u64,
    stages: Vec<Running>,
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
        Ok(Self {
            region,
            answerer: Answerer::attach(region).ok_or_else(none)?,
            epoch: peer.state().epoch,
            peer,
            flows: Vec::new(),
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

    /// Records which stages overran since the last call.
    pub fn record(&self, trace: &Trace) {
        self.running().for_each(|running| running.record(trace));
    }

    fn running(&self) -> impl Iterator<Item = &Running> {
        self.flows.iter().flat_map(|flow| &flow.stages)
    }

    /// Looks after what is asked, once; what became of a request, if there was one. Never waits.
    pub fn look(&mut self, around: &Around<'_>) -> Option<Told> {
        let epoch = self.peer.state().epoch;
        if epoch != self.epoch {
            self.epoch = epoch;
            let count = self.running().count();
            self.end(|_| true);
            if count > 0 {
                return Some(Told::Forgotten(count));
            }
        }
        self.ending.retain(|running| !running.has_ended());
        if let Some(id) = self.due.take_if(|_| self.ending.is_empty()) {
            self.answer(id, None);
        }
        let (request, length) = self.answerer.take(&mut self.message)?;
        match Verb::of(request.verb) {
            Some(Verb::Run) => {
                let told = self.run(request.id, length, around);
                let why = match &told {
                    Told::Refused(why) => Some(why.as_str()),
                    _ => None,
                };
                self.answer(request.id, why);
                Some(told)
            }
            Some(Verb::End) => {
                self.end(|flow| flow.id == request.id);
                self.due = Some(request.id);
                None
            }
            None => {
                self.answer(request.id, Some("it asks for what is not known here"));
                None
            }
        }
    }

    fn answer(&mut self, id: u64, refused: Option<&str>) {
        let answer = Answer {
            id,
            refused: refused.is_some().into(),
            reserved: 0,
        };
        self.answerer.answer(&answer, refused.unwrap_or_default());
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
        // Nothing leaves a pipe here.
        let (left, _) = sync_channel(1);
        match reserve(pipe, &around, &left) {
            Ok((reserved, _)) => {
                let stages = reserved.begin();
                self.flows.push(Flow { id, stages });
                Told::Runs(pipe.name.clone())
            }
            Err(why) => Told::Refused(why.to_string()),
        }
    }
}

/// Why a pipe is none that can be asked for.
fn unfit(pipe: &Pipe) -> Option<String> {
    let here = || {
        let stages = pipe.stages.iter().enumerate();
        stages.filter(|(_, stage)| stage.place != Place::Elsewhere)
    };
    let mut ends = here().filter(|(_, stage)| stage.source != Source::Stages || stage.traced);
    if let Some((_, stage)) = ends.next() {
        return Some(format!(
            "pipe `{}` would begin or end here, with `{}`",
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
        assert!(why.contains("begin or end here, with `sample`"), "{why}");
        let mut traced = pipe();
        traced.stages[1].traced = true;
        assert!(unfit(&traced).is_some());
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
