//! Pipes of the description: they begin with the program, and one of them may be forgotten
//!
//! Where flows are typed that have stages here, a described pipe that crosses to there can be removed. Its stages here end then, and their
//! reservations with them, until whoever removed it starts anew and runs its own part again. One that begins here is stopped and started from there.

use crate::asked::Told;
use crate::leaving::Leaving;
use crate::part::{End, Part};
use crate::plan::{Pipe, Place, Plan};
use crate::stage::Left;
use crate::start::{Around, Count, Kept, StartError, reserve};
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_abi::{NAME_LEN, name_field, name_text};
use bulkhead_linux::{Error, Trace, lock_memory, ticks};
use bulkhead_stages::request::{self, Verb};
use std::sync::mpsc::SyncSender;

/// Pipes that run.
pub struct Stages {
    pipes: Vec<Described>,
    leaving: Leaving,
    left: SyncSender<Left>,
}

/// A pipe, and how it stands.
struct Described {
    pipe: Pipe,
    part: Part,
    kept: Kept,
    state: State,
    /// Who may remove it stopped it.
    held: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It runs, or was refused.
    Described,
    /// Its threads end.
    Ending,
    /// It was forgotten.
    Gone,
}

impl Described {
    /// Whether it begins here; why nobody elsewhere stops or removes it, if nobody does.
    fn begins(&self) -> Result<bool, &'static str> {
        let stages = self.pipe.stages.iter();
        let mut here = stages.filter(|stage| stage.place != Place::Elsewhere);
        if here.clone().count() == self.pipe.stages.len() {
            return Err("that pipe is wholly in Linux");
        }
        Ok(here.any(|stage| stage.from == 0))
    }
}

/// Starts all pipes of a plan, or none of a pipe's stages here where one is refused; the refusals come beside what runs.
/// No stage begins before all have what they need: making it holds the address space, for which a stage would wait.
///
/// # Errors
/// The memory of the program cannot be kept where it is.
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
        stages.pipes.push(Described {
            pipe: pipe.clone(),
            part: Part::default(),
            kept,
            state: State::Described,
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
    /// What each did so far.
    pub fn counts(&self) -> impl Iterator<Item = Count<'_>> {
        self.running().map(crate::begin::Running::count)
    }

    fn running(&self) -> impl Iterator<Item = &crate::begin::Running> {
        self.pipes.iter().flat_map(|one| &one.part.stages)
    }

    /// Records what left since the last call, and which stages fell back or overran.
    ///
    /// # Errors
    /// A file of what left cannot be written; it is not tried again.
    pub fn record(&mut self, trace: &Trace) -> Result<(), Error> {
        self.running().for_each(|running| running.record(trace));
        self.leaving.record(trace)
    }

    /// Whether a pipe of that name may say something still.
    pub(crate) fn runs(&self, name: &str) -> bool {
        let mut pipes = self.pipes.iter();
        pipes.any(|one| one.pipe.name == name && one.state != State::Gone)
    }

    /// The pipe that a request to forget names.
    pub(crate) fn forgettable(&self, body: &[u8]) -> Result<(usize, &Part), &'static str> {
        let name = request::described(body).ok_or("it names no pipe")?;
        let (place, one) = self.named(&name)?;
        one.begins().map(|_| (place, &one.part))
    }

    fn named(&self, name: &[u8; NAME_LEN]) -> Result<(usize, &Described), &'static str> {
        let mut pipes = self.pipes.iter().enumerate();
        let found = pipes.find(|(_, one)| one.pipe.name == name_text(name));
        found.ok_or("no pipe of that name is described in Linux")
    }

    /// Has the pipe of that name, which begins here, end a task, or begin, not before a tick.
    pub(crate) fn have(
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
        let there = there.filter(|one| one.state == State::Described);
        let one = there.ok_or("that pipe is not in Linux any more")?;
        one.held = verb == Verb::Stop;
        one.part.have(verb, at);
        Ok(())
    }

    /// Has the stages of the pipe at that place end, if nothing comes out of them any more.
    pub(crate) fn end(&mut self, place: usize, end: &End) {
        let Some(one) = self.pipes.get_mut(place) else {
            return;
        };
        if one.state == State::Described && one.part.is_over(end) {
            one.part.retire();
            one.state = State::Ending;
        }
    }

    /// Whether threads of a pipe end that is to be forgotten.
    pub(crate) fn is_ending(&self) -> bool {
        self.pipes.iter().any(|one| one.state == State::Ending)
    }

    /// Whether the pipe at that place is on its way, or was forgotten.
    pub(crate) fn has_gone(&self, place: usize) -> bool {
        let one = self.pipes.get(place);
        one.is_none_or(|one| one.state != State::Described)
    }

    /// A pipe whose threads have all ended, with what left it recorded.
    pub(crate) fn collect(&mut self, trace: &Trace) -> Option<String> {
        let mut pipes = self.pipes.iter_mut();
        let one = pipes.find(|one| {
            let mut stages = one.part.stages.iter();
            one.state == State::Ending && stages.all(crate::begin::Running::has_ended)
        })?;
        one.part
            .stages
            .iter()
            .for_each(|running| running.record(trace));
        (one.part, one.state) = (Part::default(), State::Gone);
        let name = one.pipe.name.clone();
        // A file that cannot be written is not tried again: nothing waits for it.
        let _said_before = self.leaving.record(trace);
        Some(name)
    }

    /// Runs one of those again that were forgotten, or stopped by who may remove them; what became of it.
    pub(crate) fn begin_again(&mut self, around: &Around<'_>, trace: &Trace) -> Option<Told> {
        let mut pipes = self.pipes.iter_mut();
        let one = pipes.find(|one| one.state == State::Gone || one.held)?;
        if std::mem::take(&mut one.held) && one.state == State::Described {
            one.part.have(Verb::Start, 0);
            return Some(Told::Again(one.pipe.name.clone()));
        }
        one.state = State::Described;
        let kept = std::mem::take(&mut one.kept);
        let (reserved, kept) = match reserve(&one.pipe, around, &self.left, kept) {
            Ok(made) => made,
            Err(why) => return Some(Told::Refused(why.to_string())),
        };
        one.kept = kept;
        // A pipe runs without a file that cannot be had.
        let _refused = self.leaving.keep(&one.pipe, around);
        // What is described of it counts again, and not what was promised of another one of its name.
        trace.write(&Event {
            ticks: ticks(),
            kind: EventKind::Promised as u32,
            sequence: 0,
            a: 0,
            b: 0,
            name: name_field(&one.pipe.name),
        });
        one.part = Part::new(&one.pipe, reserved.begin());
        Some(Told::Again(one.pipe.name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Source;

    /// One that comes back here, one that begins here, one that does so at a device, one that is wholly here, and one that begins here and elsewhere;
    /// nothing of them runs.
    fn stages() -> Stages {
        let text = "each/sample,1,2,0,1,1,1/filter,1,2,1,2,1,1/emit,1,2,2,3,1,1";
        let here: [&[usize]; 5] = [&[1], &[0, 1], &[0, 1], &[0, 1, 2], &[0, 2]];
        let described = |(name, here): (&str, &[usize])| {
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
                    stage.place = Place::Elsewhere;
                }
            }
            Described {
                pipe,
                part: Part::default(),
                kept: Kept::default(),
                state: State::Described,
                held: false,
            }
        };
        let (left, leaving) = Leaving::new();
        let names = ["there", "begins", "device", "own", "both"]
            .into_iter()
            .zip(here);
        Stages {
            pipes: names.map(described).collect(),
            leaving,
            left,
        }
    }

    #[test]
    fn what_another_one_has_end_is_forgotten_and_nothing_else() {
        let stages = stages();
        let why = |name: &str| {
            stages
                .forgettable(&name_field(name))
                .map(|(place, _)| place)
        };
        assert_eq!(why("there"), Ok(0));
        let begin = ["begins", "device", "both"];
        assert_eq!(begin.map(why), [Ok(1), Ok(2), Ok(4)]);
        let refused = [
            ("own", "that pipe is wholly in Linux"),
            ("other", "no pipe of that name is described in Linux"),
        ];
        for (name, text) in refused {
            assert_eq!(why(name), Err(text));
        }
        assert_eq!(
            stages.forgettable(b"there").map(|_| ()),
            Err("it names no pipe")
        );
    }

    /// Whatever stands there, it is the name of that pipe, or it is refused.
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
            let meant = body.len() == NAME_LEN
                && name_text(body[..].try_into().expect("a name")) == "there";
            assert_eq!(stages.forgettable(&body).is_ok(), meant);
            found += usize::from(meant);
        }
        assert!((100..4900).contains(&found), "{found}");
    }

    /// Only what begins here and is there still; what was stopped so goes on where whoever did starts anew.
    #[test]
    fn what_begins_here_is_stopped_and_started_by_its_name() {
        let mut stages = stages();
        let mut have = |name: &str, verb| stages.have(&name_field(name), verb, u64::MAX);
        assert_eq!(
            have("there", Verb::Stop),
            Err("that pipe does not begin in Linux")
        );
        assert!(have("own", Verb::Stop).is_err() && have("other", Verb::Stop).is_err());
        for name in ["begins", "device", "both"] {
            assert_eq!(have(name, Verb::Stop), Ok(()));
        }
        let held: Vec<_> = stages.pipes.iter().map(|one| one.held).collect();
        assert_eq!(held, [false, true, true, false, true]);
        assert_eq!(stages.have(&name_field("begins"), Verb::Start, 0), Ok(()));
        assert!(!stages.pipes[1].held);
        let end = stages.pipes[1].part.end(0);
        stages.end(1, &end);
        assert_eq!(
            stages.have(&name_field("begins"), Verb::Stop, 0),
            Err("that pipe is not in Linux any more")
        );
    }

    /// Each is told of once, and nothing of a pipe that runs by the description is taken for one that went.
    #[test]
    fn a_pipe_goes_once_its_threads_have_ended() {
        let mut stages = stages();
        let end = stages.pipes[0].part.end(0);
        assert!(!stages.is_ending() && !stages.has_gone(0) && stages.runs("there"));
        stages.end(0, &end);
        assert!(stages.is_ending() && stages.has_gone(0) && !stages.has_gone(1));
        assert!(stages.has_gone(9), "there is none");
    }
}
