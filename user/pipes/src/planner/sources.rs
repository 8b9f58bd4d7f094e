//! Pipes with first stages in other partitions that are started and stopped here
//!
//! A pipe ends at its first stages (`doc/design/pipes-language.md`): all of them send an end of
//! task, and a stage with several inputs passes it on once it came on each. A pipe begins at one
//! tick, which remote partitions receive before; stages here wait for messages from that tick on.
//! Static pipes are identified by name, and begin in the remote partition on their own.

use super::{Planner, REMOTE_SOURCES, STOPPED_SINCE, STOPPING, has_remote_sources};
use crate::remote_partition::{Outcome, PipeRef};
use crate::runtime::say;
use crate::stage;
use crate::table::{self, Entry as Pipe};
use bulkhead_abi::repository::MAX_REMOTE_PARTITIONS;
use bulkhead_component::clock::{self, ticks};
use core::sync::atomic::Ordering::{Relaxed, Release};

/// Time from the request to the first release, for each partition that is requested, in addition to
/// the longest period. Answers arrive within it, and all stages are ready by then.
const AHEAD_NS: u64 = 100_000_000;

/// Numbers of the partitions in a bit set.
pub(super) fn each(bits: u8) -> impl Iterator<Item = usize> {
    (0..MAX_REMOTE_PARTITIONS).filter(move |number| bits >> number & 1 != 0)
}

impl Planner {
    /// Finds the static pipes that are started and stopped here and have first stages in remote
    /// partitions, too.
    pub(super) fn find_sources(&self) {
        for (number, pipe) in table::all() {
            if self.removal_refusal(number, &pipe).is_none()
                && self.remote_sources(number, &pipe) != 0
            {
                REMOTE_SOURCES.fetch_or(1 << number, Relaxed);
            }
        }
    }

    /// Partitions with first stages of a pipe that is run-time or can be removed here, by bit of
    /// their numbers.
    fn sources_of(&self, number: usize, pipe: &Pipe) -> u8 {
        match !self.is_static(number) || has_remote_sources(number) {
            true => self.remote_sources(number, pipe),
            false => 0,
        }
    }

    fn remote_sources(&self, number: usize, pipe: &Pipe) -> u8 {
        let elsewhere = self.elsewhere(number, pipe);
        let heads = elsewhere.filter(|(_, is_first)| *is_first);
        let others = heads.filter_map(|(function, _)| self.remote_partition(function));
        others.fold(0, |bits, other| bits | 1 << other)
    }

    /// How remote partitions identify a pipe.
    fn pipe_ref<'p>(&self, number: usize, pipe: &'p Pipe) -> PipeRef<'p> {
        match self.is_static(number) {
            true => PipeRef::Name(&pipe.pipe.name),
            false => PipeRef::Id(self.ids.get(number).copied().unwrap_or(0)),
        }
    }

    /// Starts a run-time pipe, with its first stages in all partitions. Returns the tick.
    pub(super) fn begin(&mut self, number: usize, pipe: &Pipe) -> u64 {
        let heads = self.remote_sources(number, pipe);
        if heads != 0 {
            REMOTE_SOURCES.fetch_or(1 << number, Relaxed);
        }
        let at = self.start_sources(number, pipe, heads);
        stage::begin_at(number, pipe, at.unwrap_or(0))
    }

    /// Requests that partitions start the first stages of a pipe. Returns the tick before which
    /// none does, or nothing if none starts. The pipe runs without partitions that reject or are
    /// down.
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

    /// Starts the first stages in a partition that restarted, unless the pipe is stopped.
    pub(super) fn start_again(&mut self, other: usize, number: usize, pipe: &Pipe) {
        let sources_here = self.sources_of(number, pipe) & 1 << other;
        if sources_here != 0 && !stage::is_stopped(number) {
            let _said = self.start_sources(number, pipe, sources_here);
        }
    }

    /// Ends a pipe at all first stages. Returns whether it ends: a static pipe continues if a
    /// partition rejects the request.
    pub(super) fn stop_all(&mut self, number: usize, pipe: &Pipe) -> bool {
        let heads = self.sources_of(number, pipe);
        // Before any end enters, and only once: a partition that receives the request again sends
        // no second end.
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

    /// A partition that restarted runs its static pipes: stops those again that rest here.
    pub(super) fn stop_again(&mut self, other: usize) {
        for (number, pipe) in table::all() {
            let stopped = self.stopped_at(number, &pipe).is_some_and(|at| at != 0);
            let sources_here = self.sources_of(number, &pipe) & 1 << other;
            if self.is_static(number) && stopped && sources_here != 0 {
                let _told = self.tell_to_stop(sources_here, number, &pipe);
            }
        }
    }

    /// Tick before all ends of a stopped pipe with remote first stages; 0: it runs.
    pub(super) fn stopped_at(&self, number: usize, pipe: &Pipe) -> Option<u64> {
        let begins_there = self.sources_of(number, pipe) != 0;
        self.stops.get(number).copied().filter(|_| begins_there)
    }

    /// Stops a pipe. The recorder reports its end.
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
            // A static pipe that was stopped in both partitions does not end; it resumes, like one
            // that is still ending.
            say!("it is ending still");
        } else if let Some(at) = self.start_sources(number, &pipe, heads) {
            stage::begin_at(number, &pipe, at);
            say!("starts");
        }
    }

    /// Time until all stages of a pipe are ready in all partitions, for this number of requests,
    /// nanoseconds. On another core than the first of their partition, stages poll once more.
    fn ahead(&self, number: usize, pipe: &Pipe, peers: u8) -> u64 {
        let functions = self.catalogue.packed().functions;
        let is_first = |function: usize| {
            let core = functions.get(function).map(|one| one.core as usize);
            core.is_none_or(|core| self.catalogue.runs_stages(core))
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
