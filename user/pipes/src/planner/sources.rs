//! Pipes that were typed here, or can be removed here, and begin in other partitions, or there as well: who has first stages starts and stops them as it is told
//!
//! A pipe ends where it begins (`doc/design/pipes-language.md`): its end comes from all first stages, through all others, and who is fed by several passes it on
//! once it came from each. It begins at one tick, which those elsewhere are told before; the stages here wait for what comes by then. What is
//! described is named, and begins there by itself.

use super::{Planner, REMOTE_SOURCES, STOPPED_SINCE, STOPPING, has_remote_sources};
use crate::remote_partition::{Outcome, PipeRef};
use crate::table::{self, Entry as Pipe};
use crate::{say, stage};
use bulkhead_abi::repository::MAX_THROUGH;
use bulkhead_component::clock::{self, ticks};
use core::sync::atomic::Ordering::{Relaxed, Release};

/// From what is told to the first release, for each that is told, beside the longest period: answers come before it, and all stages wait for it by then.
const AHEAD_NS: u64 = 100_000_000;

/// Some of the other partitions, by their numbers: of those bits that are set.
pub(super) fn each(bits: u8) -> impl Iterator<Item = usize> {
    (0..MAX_THROUGH).filter(move |number| bits >> number & 1 != 0)
}

impl Planner {
    /// Finds the described pipes that are stopped and started here, and begin in other partitions that are asked, too.
    pub(super) fn find_sources(&self) {
        for (number, pipe) in table::all() {
            if self.removal_refusal(number, &pipe).is_none()
                && self.remote_sources(number, &pipe) != 0
            {
                REMOTE_SOURCES.fetch_or(1 << number, Relaxed);
            }
        }
    }

    /// Who has first stages of a pipe that was typed here or can be removed here, by bit of their numbers.
    fn sources_of(&self, number: usize, pipe: &Pipe) -> u8 {
        match !self.is_static(number) || has_remote_sources(number) {
            true => self.remote_sources(number, pipe),
            false => 0,
        }
    }

    fn remote_sources(&self, number: usize, pipe: &Pipe) -> u8 {
        let elsewhere = self.elsewhere(number, pipe);
        let heads = elsewhere.filter(|(_, is_first)| *is_first);
        let others = heads.filter_map(|(function, _)| self.through(function));
        others.fold(0, |bits, other| bits | 1 << other)
    }

    /// How who has first stages of a pipe knows it.
    fn pipe_ref<'p>(&self, number: usize, pipe: &'p Pipe) -> PipeRef<'p> {
        match self.is_static(number) {
            true => PipeRef::Name(&pipe.pipe.name),
            false => PipeRef::Id(self.ids.get(number).copied().unwrap_or(0)),
        }
    }

    /// A pipe that was typed begins, and its first stages where they are; when.
    pub(super) fn begin(&mut self, number: usize, pipe: &Pipe) -> u64 {
        let heads = self.remote_sources(number, pipe);
        if heads != 0 {
            REMOTE_SOURCES.fetch_or(1 << number, Relaxed);
        }
        let at = self.start_sources(number, pipe, heads);
        stage::begin_at(number, pipe, at.unwrap_or(0))
    }

    /// Has those begin a pipe that have first stages of it: the tick before which nobody does, if somebody does at all. It goes without who does not, as
    /// without who is not up.
    fn start_sources(&mut self, number: usize, pipe: &Pipe, heads: u8) -> Option<u64> {
        if let Some(stop) = self.stops.get_mut(number) {
            *stop = 0;
        }
        let at = match heads {
            0 => 0,
            _ => clock::now().saturating_add(ticks(self.ahead(number, pipe, heads))),
        };
        let mut begins = pipe.within().any(|(_, stage)| stage.from == 0) || heads == 0;
        let (name, pipe_ref) = (pipe.name(), self.pipe_ref(number, pipe));
        for other in each(heads) {
            match self.others.start(other, pipe_ref, at) {
                Outcome::Done => begins = true,
                Outcome::Down => {
                    say!("pipe {name} begins once {} is up", self.name_of(other));
                    begins = true;
                }
                Outcome::Refused => say!(
                    "pipe {name} is not begun by {}: {}",
                    self.name_of(other),
                    self.others.answer_text()
                ),
                Outcome::Silent => say!("pipe {name}: {} does not answer", self.name_of(other)),
            }
        }
        begins.then_some(at)
    }

    /// One that was asked again has its first stages begin, unless they are stopped.
    pub(super) fn start_again(&mut self, other: usize, number: usize, pipe: &Pipe) {
        let own = self.sources_of(number, pipe) & 1 << other;
        if own != 0 && !stage::is_stopped(number) {
            let _said = self.start_sources(number, pipe, own);
        }
    }

    /// Has a pipe end, all first stages of it. Whether it does: a described one of which that is refused goes on.
    pub(super) fn stop_all(&mut self, number: usize, pipe: &Pipe) -> bool {
        let heads = self.sources_of(number, pipe);
        // Before any of its ends goes in, and only once: who is told again sends no other one.
        let stop = self.stops.get_mut(number);
        let stop = stop.filter(|stop| heads != 0 && **stop == 0);
        let tells = stop.map(|stop| *stop = clock::now()).is_some();
        stage::stop(number, pipe);
        !tells || self.tell_to_stop(heads, number, pipe)
    }

    fn tell_to_stop(&mut self, others: u8, number: usize, pipe: &Pipe) -> bool {
        let (name, pipe_ref) = (pipe.name(), self.pipe_ref(number, pipe));
        for other in each(others) {
            match (self.others.stop(other, pipe_ref), pipe_ref) {
                (Outcome::Done | Outcome::Down, _) => {}
                (Outcome::Refused, PipeRef::Name(_)) => {
                    say!(
                        "pipe {name} goes on: {} does not stop it: {}",
                        self.name_of(other),
                        self.others.answer_text()
                    );
                    let stopped = self.sources_of(number, pipe) & !(1 << other);
                    let at = self.start_sources(number, pipe, stopped);
                    stage::begin_at(number, pipe, at.unwrap_or(0));
                    return false;
                }
                _ => say!(
                    "pipe {name}: {} does not say that it stops it",
                    self.name_of(other)
                ),
            }
        }
        true
    }

    /// One that started anew runs its description: what rests here is stopped there again.
    pub(super) fn stop_again(&mut self, other: usize) {
        for (number, pipe) in table::all() {
            let stopped = self.stopped_at(number, &pipe).is_some_and(|at| at != 0);
            let own = self.sources_of(number, &pipe) & 1 << other;
            if self.is_static(number) && stopped && own != 0 {
                let _told = self.tell_to_stop(own, number, &pipe);
            }
        }
    }

    /// When a pipe was stopped that begins elsewhere, or there as well, before all ends that it was to send.
    pub(super) fn stopped_at(&self, number: usize, pipe: &Pipe) -> Option<u64> {
        let begins_there = self.sources_of(number, pipe) != 0;
        self.stops.get(number).copied().filter(|_| begins_there)
    }

    /// The recorder says when it has come to its end.
    pub(super) fn stop_remote(&mut self, name: &str) {
        let Some((number, pipe)) = table::find(name) else {
            return;
        };
        if stage::is_stopped(number) && self.stopped_at(number, &pipe) != Some(0) {
            return say!("it is stopped");
        }
        let began = clock::now();
        if self.stop_all(number, &pipe) {
            STOPPED_SINCE.store(began, Relaxed);
            STOPPING.fetch_or(1 << number, Release);
        }
    }

    pub(super) fn start_remote(&mut self, name: &str) {
        let Some((number, pipe)) = table::find(name) else {
            return;
        };
        let heads = self.sources_of(number, &pipe);
        if !stage::is_stopped(number) {
            say!("it runs");
        } else if !stage::rests(&pipe) && !self.is_static(number) {
            // What is described and was stopped there as well comes to no end: it goes on, as does what ends still.
            say!("it is ending still");
        } else if let Some(at) = self.start_sources(number, &pipe, heads) {
            stage::begin_at(number, &pipe, at);
            say!("starts");
        }
    }

    /// Until all stages of a pipe wait for its beginning, wherever they are, if so many are told, nanoseconds. On another core than the first of their
    /// partition, here or there, they may look once more.
    fn ahead(&self, number: usize, pipe: &Pipe, peers: u8) -> u64 {
        let functions = self.known.packed().functions;
        let is_first = |function: usize| {
            let core = functions.get(function).map(|one| one.core as usize);
            core.is_none_or(|core| self.known.runs_stages(core))
        };
        let mut elsewhere = self.elsewhere(number, pipe);
        let is_spread = pipe.is_spread() || elsewhere.any(|(function, _)| !is_first(function));
        let periods = pipe.stages().map(|(_, stage)| stage.period_ns);
        let looks = 1 + u64::from(is_spread);
        let longest = periods.max().unwrap_or(0).saturating_mul(looks);
        let answers = AHEAD_NS.saturating_mul(peers.count_ones().into());
        answers.saturating_add(longest)
    }
}
