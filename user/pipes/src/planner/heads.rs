//! Pipes that were typed here and begin in another partition: who has their first stages starts and stops them as it is told
//!
//! A pipe ends where it begins (`doc/design/0026`): its end comes from there, through all stages, like that of any other. It begins once the stages here
//! wait for what comes: the first ones elsewhere are told a tick before which they do not.

use super::change::{end_limit, until};
use super::{ELSEWHERE, Planner};
use crate::table::{self, Entry as Pipe};
use crate::through::Outcome;
use crate::{say, stage};
use bulkhead_component::clock::{self, ticks};
use core::sync::atomic::Ordering::Relaxed;

/// From what is told to the first release elsewhere, beside the longest period here: an answer comes before it, and the stages here look by then.
const AHEAD_NS: u64 = 100_000_000;

impl Planner {
    /// Who has the first stages of a pipe that was typed here, if another partition has.
    fn head_of(&self, number: usize, pipe: &Pipe) -> Option<usize> {
        let mut functions = [usize::MAX; stage::STAGES];
        self.functions(number, &mut functions);
        let stages = pipe.stages().zip(functions);
        let mut heads = stages.filter(|((_, stage), _)| stage.from == 0 && !stage.is_here());
        let (_, function) = heads.next()?;
        self.through(function)
    }

    /// A pipe that was typed begins, and its first stages where they are; when, here.
    pub(super) fn begin(&mut self, number: usize, pipe: &Pipe) -> u64 {
        if self.head_of(number, pipe).is_some() {
            ELSEWHERE.fetch_or(1 << number, Relaxed);
        }
        self.start_head(number, pipe);
        stage::begin(number, pipe)
    }

    /// Whether the first stages of a pipe begin where they are, if they are elsewhere.
    fn start_head(&mut self, number: usize, pipe: &Pipe) -> bool {
        let Some(other) = self.head_of(number, pipe) else {
            return true;
        };
        let id = self.ids.get(number).copied().unwrap_or(0);
        if let Some(stop) = self.stops.get_mut(number) {
            *stop = 0;
        }
        let periods = pipe.here().map(|(_, stage)| stage.period_ns);
        let ahead = AHEAD_NS.saturating_add(periods.max().unwrap_or(0));
        let at = clock::now().saturating_add(ticks(ahead));
        let (name, outcome) = (pipe.name(), self.others.start(other, id, at));
        match outcome {
            Outcome::Done => return true,
            Outcome::Refused => say!(
                "pipe {name} is not begun by {}: {}",
                self.name_of(other),
                self.others.said()
            ),
            Outcome::Down => say!("pipe {name} begins once {} is up", self.name_of(other)),
            Outcome::Silent => say!("pipe {name}: {} does not answer", self.name_of(other)),
        }
        false
    }

    /// One that was asked again has its first stages begin, unless they are stopped.
    pub(super) fn start_again(&mut self, other: usize, number: usize, pipe: &Pipe) {
        if self.head_of(number, pipe) == Some(other) && !stage::is_stopped(number) {
            self.start_head(number, pipe);
        }
    }

    /// A pipe that ends here has first stages elsewhere send its end.
    pub(super) fn stop_head(&mut self, number: usize, pipe: &Pipe) {
        let Some(other) = self.head_of(number, pipe) else {
            return;
        };
        let Some(stop) = self.stops.get_mut(number).filter(|stop| **stop == 0) else {
            return;
        };
        *stop = clock::now();
        let id = self.ids.get(number).copied().unwrap_or(0);
        if !matches!(self.others.stop(other, id), Outcome::Done | Outcome::Down) {
            say!(
                "pipe {}: {} does not say that it stops it",
                pipe.name(),
                self.name_of(other)
            );
        }
    }

    /// When a pipe was stopped that begins elsewhere, before all ends that it was to send.
    pub(super) fn stopped_at(&self, number: usize, pipe: &Pipe) -> Option<u64> {
        self.head_of(number, pipe)?;
        self.stops.get(number).copied()
    }

    pub(super) fn stop_elsewhere(&mut self, name: &str) {
        let Some((number, pipe)) = table::find(name) else {
            return;
        };
        if stage::is_stopped(number) {
            return say!("it is stopped");
        }
        let began = clock::now();
        stage::stop(number, &pipe);
        self.stop_head(number, &pipe);
        match until(end_limit(&pipe), || stage::rests(&pipe)) {
            true => {
                let took = clock::micros(clock::now() - began);
                say!("pipe {name} rests after {took} us");
            }
            false => say!("pipe {name} is ending still"),
        }
    }

    pub(super) fn start_elsewhere(&mut self, name: &str) {
        let Some((number, pipe)) = table::find(name) else {
            return;
        };
        if !stage::is_stopped(number) {
            say!("it runs");
        } else if !stage::rests(&pipe) {
            say!("it is ending still");
        } else if self.start_head(number, &pipe) {
            stage::begin(number, &pipe);
            say!("starts");
        }
    }
}
