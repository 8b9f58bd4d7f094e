//! Pipes of the description: they begin with the program, and one of them may be forgotten
//!
//! Where flows are typed that have stages here, a described pipe that crosses to there can be removed. Its stages here end then, and their
//! reservations with them, until whoever removed it starts anew and runs its own part again.

use crate::asked::Told;
use crate::leaving::Leaving;
use crate::part::{End, Part};
use crate::plan::{Pipe, Place, Plan, Source};
use crate::stage::Left;
use crate::start::{Around, Count, Kept, StartError, reserve};
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_abi::{name_field, name_text};
use bulkhead_linux::{Error, Trace, lock_memory, ticks};
use bulkhead_stages::request::forgotten;
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
    /// Whether it begins in another partition, and lies in both.
    fn crosses(&self) -> bool {
        let stages = &self.pipe.stages;
        let (here, elsewhere): (Vec<_>, Vec<_>) = stages
            .iter()
            .partition(|stage| stage.place != Place::Elsewhere);
        let begins = here.iter().any(|stage| stage.source != Source::Stages);
        !begins && !elsewhere.is_empty()
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
        let name = forgotten(body).ok_or("it names no pipe")?;
        let mut pipes = self.pipes.iter().enumerate();
        let found = pipes.find(|(_, one)| one.pipe.name == name_text(&name));
        match found {
            Some((place, one)) if one.crosses() => Ok((place, &one.part)),
            Some(_) => Err("that pipe begins in Linux, or is wholly there"),
            None => Err("no pipe of that name is described in Linux"),
        }
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

    /// Runs one of those again that were forgotten; what became of it.
    pub(crate) fn begin_again(&mut self, around: &Around<'_>, trace: &Trace) -> Option<Told> {
        let mut pipes = self.pipes.iter_mut();
        let one = pipes.find(|one| one.state == State::Gone)?;
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
    use bulkhead_abi::NAME_LEN;

    /// One that comes back here, one that begins here, and one that is wholly here; nothing of them runs.
    fn stages() -> Stages {
        let text = "each/sample,1,2,0,1,1,1/filter,1,2,1,2,1,1/emit,1,2,2,3,1,1";
        let here: [&[usize]; 3] = [&[1], &[0, 1], &[0, 1, 2]];
        let described = |(name, here): (&str, &[usize])| {
            let plan: Plan = text.parse().expect("a plan");
            let mut pipe = plan.pipes.into_iter().next().expect("a pipe");
            pipe.name = name.into();
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
            }
        };
        let (left, leaving) = Leaving::new();
        let names = ["there", "begins", "own"].into_iter().zip(here);
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
        for name in ["begins", "own"] {
            assert_eq!(
                why(name),
                Err("that pipe begins in Linux, or is wholly there")
            );
        }
        assert_eq!(
            why("other"),
            Err("no pipe of that name is described in Linux")
        );
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
