//! Pipes that were typed here, or can be removed here, and begin in another partition: who has their first stages starts and stops them as it is told
//!
//! A pipe ends where it begins (`doc/design/0026`): its end comes from there, through all stages, like that of any other. It begins once the stages here
//! wait for what comes: the first ones elsewhere are told a tick before which they do not. What is described is named, and begins there by itself.

use super::change::{end_limit, until};
use super::{ELSEWHERE, Planner, begins_elsewhere};
use crate::table::{self, Entry as Pipe};
use crate::through::{By, Outcome};
use crate::{say, stage};
use bulkhead_component::clock::{self, ticks};
use core::sync::atomic::Ordering::Relaxed;

/// From what is told to the first release elsewhere, beside the longest period here: an answer comes before it, and the stages here look by then.
const AHEAD_NS: u64 = 100_000_000;

impl Planner {
    /// Finds the described pipes that are stopped and started here, and begin in another partition that is asked.
    pub(super) fn find_heads(&self) {
        for (number, pipe) in table::all() {
            if self.stays(number, &pipe).is_none() && self.first_head(number, &pipe).is_some() {
                ELSEWHERE.fetch_or(1 << number, Relaxed);
            }
        }
    }

    /// Who has the first stages of a pipe that was typed here or can be removed here, if another partition has.
    fn head_of(&self, number: usize, pipe: &Pipe) -> Option<usize> {
        let has = !self.is_described(number) || begins_elsewhere(number);
        self.first_head(number, pipe).filter(|_| has)
    }

    fn first_head(&self, number: usize, pipe: &Pipe) -> Option<usize> {
        let mut functions = [usize::MAX; stage::STAGES];
        self.functions(number, &mut functions);
        let stages = pipe.stages().zip(functions);
        let mut heads = stages.filter(|((_, stage), _)| stage.from == 0 && !stage.is_here());
        let (_, function) = heads.next()?;
        self.through(function)
    }

    /// How who has the first stages of a pipe knows it.
    fn by<'p>(&self, number: usize, pipe: &'p Pipe) -> By<'p> {
        match self.is_described(number) {
            true => By::Name(&pipe.pipe.name),
            false => By::Id(self.ids.get(number).copied().unwrap_or(0)),
        }
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
        if let Some(stop) = self.stops.get_mut(number) {
            *stop = 0;
        }
        let periods = pipe.within().map(|(_, stage)| stage.period_ns);
        let looks = 1 + u64::from(pipe.is_spread());
        let longest = periods.max().unwrap_or(0).saturating_mul(looks);
        let ahead = AHEAD_NS.saturating_add(longest);
        let at = clock::now().saturating_add(ticks(ahead));
        let by = self.by(number, pipe);
        let (name, outcome) = (pipe.name(), self.others.start(other, by, at));
        match outcome {
            Outcome::Done => return true,
            // By its description.
            Outcome::Down if matches!(by, By::Name(_)) => {
                say!("pipe {name} begins once {} is up", self.name_of(other));
                return true;
            }
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

    /// A pipe that ends here has first stages elsewhere send its end. Whether it ends: a described one of which that is refused goes on.
    pub(super) fn stop_head(&mut self, number: usize, pipe: &Pipe) -> bool {
        let Some(other) = self.head_of(number, pipe) else {
            return true;
        };
        let by = self.by(number, pipe);
        let Some(stop) = self.stops.get_mut(number).filter(|stop| **stop == 0) else {
            return true;
        };
        *stop = clock::now();
        match (self.others.stop(other, by), by) {
            (Outcome::Done | Outcome::Down, _) => {}
            (Outcome::Refused, By::Name(_)) => {
                say!(
                    "pipe {} goes on: {} does not stop it: {}",
                    pipe.name(),
                    self.name_of(other),
                    self.others.said()
                );
                if let Some(stop) = self.stops.get_mut(number) {
                    *stop = 0;
                }
                stage::begin(number, pipe);
                return false;
            }
            _ => say!(
                "pipe {}: {} does not say that it stops it",
                pipe.name(),
                self.name_of(other)
            ),
        }
        true
    }

    /// One that started anew runs its description: what rests here is stopped there again.
    pub(super) fn stop_again(&mut self, other: usize) {
        for (number, pipe) in table::all() {
            let stopped = self.stopped_at(number, &pipe).is_some_and(|at| at != 0);
            let is_described = self.is_described(number);
            if is_described && stopped && self.head_of(number, &pipe) == Some(other) {
                if let Some(stop) = self.stops.get_mut(number) {
                    *stop = 0;
                }
                let _told = self.stop_head(number, &pipe);
            }
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
        if stage::is_stopped(number) && self.stopped_at(number, &pipe) != Some(0) {
            return say!("it is stopped");
        }
        let began = clock::now();
        stage::stop(number, &pipe);
        if !self.stop_head(number, &pipe) {
            return;
        }
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
        } else if !stage::rests(&pipe) && !self.is_described(number) {
            // What is described and was stopped there as well comes to no end: it goes on, as does what ends still.
            say!("it is ending still");
        } else if self.start_head(number, &pipe) {
            stage::begin(number, &pipe);
            say!("starts");
        }
    }
}
