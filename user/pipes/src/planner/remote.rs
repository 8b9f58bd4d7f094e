//! Remote stages of a flow: requested before anything here changes, ended after everything here has

use super::{PathGuarantees, Planner};
use crate::remote_partition::{self, Outcome, PENDING};
use crate::runtime::{CORE, say};
use crate::stage;
use crate::table::{self, Entry as Pipe, PIPES};
use bulkhead_abi::pipe::{NONE, Pipe as PackedPipe, Stage};
use bulkhead_abi::repository::MAX_REMOTE_PARTITIONS;
use bulkhead_component::clock;
use bulkhead_flows::ROOM;
use bulkhead_flows::pipe_admission::{Guarantee, Solved};
use bulkhead_slite::Mutex;
use bulkhead_stages::request::{CROSSINGS, PLACES, Packed, PathGuarantee};
use bulkhead_tpipe::language::{Buffering, Pipeline};
use core::sync::atomic::Ordering::Relaxed;

/// Reason for which another partition does not run stages.
pub(super) enum Missing {
    /// The partition is not up.
    Down(usize),
    /// The channel has too few free buffers.
    Buffers { needed: usize, free: usize },
    /// A buffer would have to hold more messages than fit.
    Places { stage: usize, needed: u64 },
    /// The partition rejected the request, with a reason.
    Refused(usize),
    /// The partition does not answer.
    Silent(usize),
}

/// Guarantees of each run-time pipe, for requests after a restart.
static KEPT: [Mutex<Option<PathGuarantees>>; PIPES] = [const { Mutex::new(None) }; PIPES];

/// Tick at which the last end of a task entered a pipe here: the earliest of all first stages; 0:
/// none did.
fn ended(entry: &Pipe) -> u64 {
    let heads = entry.stages().filter(|(_, stage)| stage.from == 0);
    let ends = heads.map(|(number, _)| stage::shared(number).ended.load(Relaxed));
    ends.min().unwrap_or(0)
}

impl Planner {
    /// The remote partition that runs a function, if one does.
    pub(super) fn remote_partition(&self, function: usize) -> Option<usize> {
        let function = self.catalogue.packed().functions.get(function)?;
        self.catalogue.remote_partition(function.core as usize)
    }

    /// The core on which stages of a function run, by its number in its partition; [`NONE`] if
    /// another partition runs them.
    pub(super) fn core_for(&self, partition: Option<usize>, function: usize) -> u32 {
        let packed = self.catalogue.packed();
        let core = packed.functions.get(function).map(|function| function.core);
        let core = core.and_then(|core| packed.cores.get(core as usize));
        match core {
            Some(core) if self.remote_partition(function) == partition => core.number,
            _ => NONE,
        }
    }

    /// Edges of a flow with an end in another partition, with that partition.
    fn edges_across<'s>(
        &'s self,
        solved: &'s Solved,
    ) -> impl Iterator<Item = (usize, [usize; 2])> + 's {
        solved.edges().filter_map(|(from, to)| {
            let partition_of =
                |stage: usize| self.remote_partition(solved.stages().get(stage)?.function);
            Some((partition_of(from).or_else(|| partition_of(to))?, [from, to]))
        })
    }

    /// Returns whether the other partitions are up, and have the needed buffers once those of the
    /// replaced pipe are free.
    pub(super) fn others_have_room(&self, solved: &Solved) -> Result<(), Missing> {
        let mut needed = [0; MAX_REMOTE_PARTITIONS];
        for (partition, [_, to]) in self.edges_across(solved) {
            if let Some(count) = needed.get_mut(partition) {
                *count += 1;
            }
            let buffer = solved.stages().get(to).map_or(0, |stage| stage.buffer);
            if solved.buffering == Buffering::Fifo && buffer > u64::from(PLACES) {
                return Err(Missing::Places {
                    stage: to,
                    needed: buffer,
                });
            }
        }
        for (number, &needed) in needed.iter().enumerate().filter(|(_, needed)| **needed > 0) {
            if !self.others.is_up(number) {
                return Err(Missing::Down(number));
            }
            let free = self.others.free(number);
            if needed > free {
                return Err(Missing::Buffers { needed, free });
            }
        }
        Ok(())
    }

    /// Requests that other partitions run their stages of a flow. If one rejects, none of them runs
    /// any.
    pub(super) fn ask(
        &mut self,
        id: u64,
        pipe_head: &PackedPipe,
        solved: &Solved,
    ) -> Result<(), Missing> {
        let mut edges = [(0, [0; 2]); CROSSINGS];
        let mut count = 0;
        for (place, edge) in edges.iter_mut().zip(self.edges_across(solved)) {
            *place = edge;
            count += 1;
        }
        for &(partition, edge) in edges.get(..count).unwrap_or_default() {
            if !self.others.take(partition, PENDING, edge) {
                let free = self.others.free(partition);
                self.forget(PENDING);
                return Err(Missing::Buffers {
                    needed: count,
                    free,
                });
            }
        }
        for number in self.others.of_pipe(PENDING) {
            let functions = solved.stages().iter().map(|stage| stage.function);
            let stages = self.stages(solved).zip(functions);
            let promised = PathGuarantees::of(&solved.guarantee);
            let request = self.request((number, PENDING), id, pipe_head, stages, promised.paths());
            let missing = match self.others.run(number, id, &request) {
                Outcome::Done => continue,
                Outcome::Down => Missing::Down(number),
                Outcome::Silent => Missing::Silent(number),
                Outcome::Refused => Missing::Refused(number),
            };
            self.end_remote(PENDING, id);
            return Err(missing);
        }
        Ok(())
    }

    /// A request to run a partition's stages of a pipe; it contains all other stages, too.
    fn request(
        &self,
        (number, pipe): (usize, usize),
        id: u64,
        pipe_head: &PackedPipe,
        stages: impl Iterator<Item = (Stage, usize)>,
        promised: impl Iterator<Item = PathGuarantee>,
    ) -> Packed {
        let theirs = stages.map(|(stage, function)| Stage {
            core: self.core_for(Some(number), function),
            ..stage
        });
        let crossings = self.others.crossings(number, pipe);
        Packed::run(id, pipe_head, theirs, crossings, promised)
    }

    /// Tick at which the last end of a task entered a pipe, or after which it did in another
    /// partition; 0: none did.
    pub(super) fn last_end(&self, number: usize, pipe: &Pipe) -> u64 {
        let elsewhere = self.stopped_at(number, pipe);
        elsewhere.unwrap_or_else(|| ended(pipe))
    }

    /// Requests that other partitions end the stages of a pipe, and frees the buffers of those that
    /// did, or are down.
    pub(super) fn end_remote(&mut self, pipe: usize, id: u64) {
        // Request numbers are ticks: an end that entered before the request belongs to a former
        // pipe.
        let ended = table::get(pipe).map_or(0, |entry| self.last_end(pipe, &entry));
        let ended = if ended < id { 0 } else { ended };
        for number in self.others.of_pipe(pipe) {
            match self.others.end(number, id, ended) {
                Outcome::Done | Outcome::Down => self.others.release(number, pipe),
                Outcome::Refused | Outcome::Silent => {
                    self.others.orphan(number, pipe, id);
                    say!(
                        "{} does not say that it ended its stages: their buffers stay taken until it does",
                        self.name_of(number)
                    );
                }
            }
        }
    }

    /// Repeats the request to partitions that have not ended stages, and frees the buffers
    /// of those that now have.
    pub(super) fn settle_orphaned(&mut self) {
        for number in 0..MAX_REMOTE_PARTITIONS {
            while let Some(id) = self.others.orphaned(number) {
                match self.others.end(number, id, 0) {
                    Outcome::Done | Outcome::Down => self.others.release_orphaned(number, id),
                    Outcome::Refused | Outcome::Silent => break,
                }
            }
        }
        self.retry_removals();
    }

    /// Stores the number by which remote partitions identify a pipe, and the pipe's guarantees.
    pub(super) fn set_request_id(&mut self, pipe: usize, id: u64, guarantee: &Guarantee) {
        if let Some(slot) = self.ids.get_mut(pipe) {
            *slot = id;
        }
        if let Some(place) = KEPT.get(pipe) {
            let _kept = place.with(&CORE.threads, |place| {
                *place = Some(PathGuarantees::of(guarantee))
            });
        }
    }

    fn forget(&mut self, pipe: usize) {
        for number in self.others.of_pipe(pipe) {
            self.others.release(number, pipe);
        }
    }

    /// Partitions that restarted first release again what was removed here, because the run-time
    /// pipes may need that room; then they run their stages of run-time pipes again.
    pub(super) fn request_again(&mut self) {
        for number in self.others.restarted() {
            self.withdraw_again(number);
            self.stop_again(number);
            for pipe in 0..PIPES {
                let concerned = self.others.of_pipe(pipe).any(|other| other == number);
                if let (true, Some(entry)) = (concerned, table::get(pipe)) {
                    self.request_one_again(number, pipe, &entry);
                }
            }
            self.others.renew_epoch(number);
        }
    }

    fn request_one_again(&mut self, number: usize, pipe: usize, entry: &Pipe) {
        let mut functions = [0; stage::STAGES];
        self.functions(pipe, &mut functions);
        let stages = entry.numbers().zip(functions);
        let stages = stages
            .filter_map(|(number, function)| Some((stage::shared(number).stage()?, function)));
        let id = clock::now();
        let guarantee = KEPT.get(pipe);
        let guarantee = guarantee.and_then(|place| place.with(&CORE.threads, |kept| *kept).ok()?);
        let promised = guarantee.iter().flat_map(PathGuarantees::paths);
        let request = self.request((number, pipe), id, &entry.pipe, stages, promised);
        if let Some(place) = self.ids.get_mut(pipe) {
            *place = id;
        }
        let outcome = self.others.run(number, id, &request);
        let (name, other) = (entry.name(), self.name_of(number));
        match outcome {
            Outcome::Done => {
                say!("pipe {name}: {other} started anew and runs its stages again");
                self.start_again(number, pipe, entry);
            }
            Outcome::Refused => say!(
                "pipe {name}: {other} started anew and refuses: {}",
                self.others.answer_text()
            ),
            Outcome::Down | Outcome::Silent => {
                say!("pipe {name}: {other} started anew and does not answer");
            }
        }
    }

    /// Numbers of the functions of a pipe.
    pub(super) fn functions(&self, pipe: usize, numbers: &mut [usize]) {
        let Ok(flow) = Pipeline::<ROOM>::parse(self.flow(pipe)) else {
            return;
        };
        let functions = self.catalogue.packed().functions;
        for (place, stage) in numbers.iter_mut().zip(flow.stages()) {
            let mut functions = functions.iter();
            let found = functions
                .position(|one| bulkhead_abi::repository::long_name_text(&one.name) == stage.name);
            *place = found.unwrap_or(usize::MAX);
        }
    }

    /// Name of another partition.
    pub(super) fn name_of(&self, number: usize) -> &str {
        let packed = self.catalogue.packed();
        let partition = packed.remote_partitions.get(number);
        partition.map_or("?", |partition| {
            remote_partition::name_of(packed, partition.space)
        })
    }

    /// Prints why other partitions do not run their stages.
    pub(super) fn explain_missing(&self, name: &str, missing: &Missing) {
        match *missing {
            Missing::Down(number) => say!(
                "pipe {name} is not started: {} is not up, and would run stages of it",
                self.name_of(number)
            ),
            Missing::Buffers { needed, free } => say!(
                "pipe {name} is not started: {needed} buffers between partitions are wanted, {free} are free: remove a pipe, or give more `spare_stages`"
            ),
            Missing::Places { stage, needed } => say!(
                "pipe {name} is not started: before stage {} {needed} messages can wait, between partitions at most {PLACES}: ask for a lower throughput, or a longer delay",
                stage + 1
            ),
            Missing::Refused(number) => say!(
                "pipe {name} is not started: {} refuses: {}",
                self.name_of(number),
                self.others.answer_text()
            ),
            Missing::Silent(number) => say!(
                "pipe {name} is not started: {} does not answer",
                self.name_of(number)
            ),
        }
    }
}
