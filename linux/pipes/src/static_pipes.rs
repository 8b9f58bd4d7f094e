//! Static pipes: they begin with the program; the client partition may remove, stop and start them
//!
//! A static pipe that crosses to the client can be removed there. Then its stages here end with
//! their reservations, until the client restarts and runs its own part again. The client also
//! starts and stops a pipe with first stages here.

use crate::client_pipes::Report;
use crate::part::{End, Part};
use crate::plan::{Pipe, Placement, Plan};
use crate::recording::Leaving;
use crate::stage::Left;
use crate::start::{Around, Count, Kept, StartError, reserve};
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_abi::{NAME_LEN, name_field, name_text};
use bulkhead_linux::{Error, Trace, lock_memory, ticks};
use bulkhead_stages::request::{self, Verb};
use std::sync::mpsc::SyncSender;

/// Running static pipes.
pub struct Stages {
    pipes: Vec<StaticPipe>,
    leaving: Leaving,
    left: SyncSender<Left>,
}

/// A pipe and its state.
struct StaticPipe {
    pipe: Pipe,
    part: Part,
    kept: Kept,
    state: State,
    /// The client stopped it.
    held: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The pipe runs, or was rejected.
    Running,
    /// Its threads are ending.
    Ending,
    /// The pipe was removed.
    Gone,
}

impl StaticPipe {
    /// Returns whether it has first stages here, or the reason for which no client may stop or
    /// remove it.
    fn begins(&self) -> Result<bool, &'static str> {
        let stages = self.pipe.stages.iter();
        let mut here = stages.filter(|stage| stage.place != Placement::Elsewhere);
        if here.clone().count() == self.pipe.stages.len() {
            return Err("that pipe is wholly in Linux");
        }
        Ok(here.any(|stage| stage.from == 0))
    }
}

/// Starts all pipes of a plan. If one stage of a pipe is rejected, none of its stages here runs;
/// the errors are returned beside the running pipes. No stage begins before the threads and buffers
/// of all stages exist, because creating them holds the address space, for which a running stage
/// would wait.
///
/// # Errors
/// The memory of the program cannot be locked.
pub fn start(plan: &Plan, around: &Around<'_>) -> Result<(Stages, Vec<StartError>), Error> {
    lock_memory()?;
    let (left, leaving) = Leaving::new();
    let mut stages = Stages {
        pipes: Vec::new(),
        leaving,
        left,
    };
    let (mut reserved, mut refused) = (Vec::new(), Vec::new());
    for pipe in &plan.pipes {
        let made = reserve(pipe, around, &stages.left, Kept::default());
        let (made, kept) = match made {
            Ok((made, kept)) => (Some(made), kept),
            Err(error) => {
                refused.push(error);
                (None, Kept::default())
            }
        };
        reserved.push(made);
        stages.pipes.push(StaticPipe {
            pipe: pipe.clone(),
            part: Part::default(),
            kept,
            state: State::Running,
            held: false,
        });
    }
    for (one, reserved) in stages.pipes.iter_mut().zip(reserved) {
        if let Some(reserved) = reserved {
            refused.extend(stages.leaving.keep(&one.pipe, around));
            one.part = Part::new(&one.pipe, reserved.begin());
        }
    }
    Ok((stages, refused))
}

impl Stages {
    /// Counters of each stage.
    pub fn counts(&self) -> impl Iterator<Item = Count<'_>> {
        self.running().map(crate::reservation::Running::count)
    }

    fn running(&self) -> impl Iterator<Item = &crate::reservation::Running> {
        self.pipes.iter().flat_map(|one| &one.part.stages)
    }

    /// Records messages that left since the last call, fallbacks and overruns.
    ///
    /// # Errors
    /// A file of recorded messages cannot be written; it is not tried again.
    pub fn record(&mut self, trace: &Trace) -> Result<(), Error> {
        self.running().for_each(|running| running.record(trace));
        self.leaving.record(trace)
    }

    /// Returns whether a pipe of that name may still record messages.
    pub(crate) fn runs(&self, name: &str) -> bool {
        let mut pipes = self.pipes.iter();
        pipes.any(|one| one.pipe.name == name && one.state != State::Gone)
    }

    /// Finds the pipe that a removal request names.
    pub(crate) fn removable(&self, body: &[u8]) -> Result<(usize, &Part), &'static str> {
        let name = request::static_pipe(body).ok_or("it names no pipe")?;
        let (place, one) = self.named(&name)?;
        one.begins().map(|_| (place, &one.part))
    }

    fn named(&self, name: &[u8; NAME_LEN]) -> Result<(usize, &StaticPipe), &'static str> {
        let mut pipes = self.pipes.iter().enumerate();
        let found = pipes.find(|(_, one)| one.pipe.name == name_text(name));
        found.ok_or("no pipe of that name is described in Linux")
    }

    /// Ends or starts the pipe of that name, which has first stages here, not before tick `at`.
    pub(crate) fn execute(
        &mut self,
        name: &[u8; NAME_LEN],
        verb: Verb,
        at: u64,
    ) -> Result<(), &'static str> {
        let (place, one) = self.named(name)?;
        if !one.begins()? {
            return Err("that pipe does not begin in Linux");
        }
        let there = self.pipes.get_mut(place);
        let there = there.filter(|one| one.state == State::Running);
        let one = there.ok_or("that pipe is not in Linux any more")?;
        one.held = verb == Verb::Stop;
        one.part.execute(verb, at);
        Ok(())
    }

    /// Ends the stages of the pipe at that index if no message leaves them any more.
    pub(crate) fn end(&mut self, place: usize, end: &End) {
        let Some(one) = self.pipes.get_mut(place) else {
            return;
        };
        if one.state == State::Running && one.part.is_over(end) {
            one.part.retire();
            one.state = State::Ending;
        }
    }

    /// Returns whether threads of a removed pipe are ending.
    pub(crate) fn is_ending(&self) -> bool {
        self.pipes.iter().any(|one| one.state == State::Ending)
    }

    /// Returns whether the pipe at that index is ending or removed.
    pub(crate) fn is_removed(&self, place: usize) -> bool {
        let one = self.pipes.get(place);
        one.is_none_or(|one| one.state != State::Running)
    }

    /// Takes a pipe with no running thread, and records the messages that left it.
    pub(crate) fn collect(&mut self, trace: &Trace) -> Option<String> {
        let mut pipes = self.pipes.iter_mut();
        let one = pipes.find(|one| {
            let mut stages = one.part.stages.iter();
            one.state == State::Ending && stages.all(crate::reservation::Running::has_ended)
        })?;
        one.part
            .stages
            .iter()
            .for_each(|running| running.record(trace));
        (one.part, one.state) = (Part::default(), State::Gone);
        let name = one.pipe.name.clone();
        // A file that cannot be written is not tried again, and no thread waits for it.
        let _said_before = self.leaving.record(trace);
        Some(name)
    }

    /// Resumes one pipe that the client removed or stopped. Returns the outcome.
    pub(crate) fn begin_again(&mut self, around: &Around<'_>, trace: &Trace) -> Option<Report> {
        let mut pipes = self.pipes.iter_mut();
        let one = pipes.find(|one| one.state == State::Gone || one.held)?;
        if std::mem::take(&mut one.held) && one.state == State::Running {
            one.part.execute(Verb::Start, 0);
            return Some(Report::Resumed(one.pipe.name.clone()));
        }
        one.state = State::Running;
        let kept = std::mem::take(&mut one.kept);
        let (reserved, kept) = match reserve(&one.pipe, around, &self.left, kept) {
            Ok(made) => made,
            Err(reason) => return Some(Report::Refused(reason.to_string())),
        };
        one.kept = kept;
        // A pipe runs without a file that cannot be created.
        let _refused = self.leaving.keep(&one.pipe, around);
        // The guarantee of the description holds again, instead of the one of another pipe of this
        // name.
        trace.write(&Event {
            ticks: ticks(),
            kind: EventKind::Promised as u32,
            sequence: 0,
            a: 0,
            b: 0,
            name: name_field(&one.pipe.name),
        });
        one.part = Part::new(&one.pipe, reserved.begin());
        Some(Report::Resumed(one.pipe.name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Source;

    /// Pipes that return here, begin here, begin at a device, are wholly here, and begin in both
    /// partitions; none of them runs.
    fn stages() -> Stages {
        let text = "each/sample,1,2,0,1,1,1/filter,1,2,1,2,1,1/emit,1,2,2,3,1,1";
        let here: [&[usize]; 5] = [&[1], &[0, 1], &[0, 1], &[0, 1, 2], &[0, 2]];
        let static_pipe = |(name, here): (&str, &[usize])| {
            let plan: Plan = text.parse().expect("a plan");
            let mut pipe = plan.pipes.into_iter().next().expect("a pipe");
            pipe.name = name.into();
            if name == "begins" {
                pipe.stages[0].source = Source::Timer(1);
            }
            if name == "both" {
                (pipe.stages[1].from, pipe.stages[1].to) = (0, 1);
                pipe.stages[2].from = 1;
            }
            for (place, stage) in pipe.stages.iter_mut().enumerate() {
                if !here.contains(&place) {
                    stage.place = Placement::Elsewhere;
                }
            }
            StaticPipe {
                pipe,
                part: Part::default(),
                kept: Kept::default(),
                state: State::Running,
                held: false,
            }
        };
        let (left, leaving) = Leaving::new();
        let names = ["there", "begins", "device", "own", "both"]
            .into_iter()
            .zip(here);
        Stages {
            pipes: names.map(static_pipe).collect(),
            leaving,
            left,
        }
    }

    #[test]
    fn what_another_one_has_end_is_forgotten_and_nothing_else() {
        let stages = stages();
        let reason = |name: &str| stages.removable(&name_field(name)).map(|(place, _)| place);
        assert_eq!(reason("there"), Ok(0));
        let begin = ["begins", "device", "both"];
        assert_eq!(begin.map(reason), [Ok(1), Ok(2), Ok(4)]);
        let refused = [
            ("own", "that pipe is wholly in Linux"),
            ("other", "no pipe of that name is described in Linux"),
        ];
        for (name, text) in refused {
            assert_eq!(reason(name), Err(text));
        }
        assert_eq!(
            stages.removable(b"there").map(|_| ()),
            Err("it names no pipe")
        );
    }

    /// Only the name of a static pipe with stages in both partitions is accepted.
    #[test]
    fn no_name_is_too_odd() {
        let (stages, mut seed) = (stages(), 1u64);
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize
        };
        let mut found = 0;
        for _ in 0..5000 {
            let mut body = name_field("there").to_vec();
            for _ in 0..random() % 3 {
                body[random() % NAME_LEN] = random() as u8;
            }
            body.truncate(NAME_LEN - random() % 20 / 19);
            let target = body.len() == NAME_LEN
                && name_text(body[..].try_into().expect("a name")) == "there";
            assert_eq!(stages.removable(&body).is_ok(), target);
            found += usize::from(target);
        }
        assert!((100..4900).contains(&found), "{found}");
    }

    /// Only a pipe that begins here can be stopped. It resumes when the client restarts.
    #[test]
    fn what_begins_here_is_stopped_and_started_by_its_name() {
        let mut stages = stages();
        let mut execute = |name: &str, verb| stages.execute(&name_field(name), verb, u64::MAX);
        assert_eq!(
            execute("there", Verb::Stop),
            Err("that pipe does not begin in Linux")
        );
        assert!(execute("own", Verb::Stop).is_err() && execute("other", Verb::Stop).is_err());
        for name in ["begins", "device", "both"] {
            assert_eq!(execute(name, Verb::Stop), Ok(()));
        }
        let held: Vec<_> = stages.pipes.iter().map(|one| one.held).collect();
        assert_eq!(held, [false, true, true, false, true]);
        assert_eq!(
            stages.execute(&name_field("begins"), Verb::Start, 0),
            Ok(())
        );
        assert!(!stages.pipes[1].held);
        let end = stages.pipes[1].part.end(0);
        stages.end(1, &end);
        assert_eq!(
            stages.execute(&name_field("begins"), Verb::Stop, 0),
            Err("that pipe is not in Linux any more")
        );
    }

    /// Each removal is reported once, and a running static pipe is never taken for a removed one.
    #[test]
    fn a_pipe_goes_once_its_threads_have_ended() {
        let mut stages = stages();
        let end = stages.pipes[0].part.end(0);
        assert!(!stages.is_ending() && !stages.is_removed(0) && stages.runs("there"));
        stages.end(0, &end);
        assert!(stages.is_ending() && stages.is_removed(0) && !stages.is_removed(1));
        assert!(stages.is_removed(9), "there is none");
    }
}
