//! Static pipes that cross to the client: removed, stopped and started as it commands, and resumed
//! when it restarts
//!
//! Threads, buffers and core time are those of the description. A client that restarts has nothing
//! else here any more, so all of it is free again, and the static pipes are admitted as they were
//! at the start.

use super::super::deployment::{tell, until};
use super::super::{PathGuarantees, Planner, announce_guarantees};
use super::{REST_NS, give_up};
use crate::planner::cores::Edges;
use crate::runtime::say;
use crate::stage;
use crate::table::{self, Entry, PIPES};
use crate::{client_pipes, core_commands, crossing, device, memory, shared_state, vcpu_pool};
use bulkhead_abi::NAME_LEN;
use bulkhead_stages::request::{self, PathGuarantee, Verb};

/// The pipe has no stage in both partitions.
const NOT_BOTH: &str = "that pipe is not in both partitions";

/// Returns whether a first stage of a pipe is here.
pub(super) fn begins_here(pipe: &Entry) -> bool {
    pipe.within().any(|(_, stage)| stage.from == 0)
}

/// Returns whether messages leave a pipe here, so that this partition records them.
fn ends_here(pipe: &Entry) -> bool {
    let is_read = |to: u32| pipe.stages().any(|(_, stage)| stage.from == to);
    let mut within = pipe.within();
    within.any(|(_, stage)| !is_read(stage.to))
}

impl Planner {
    /// Number of the static pipe of that name.
    fn find_static(&self, name: &[u8; NAME_LEN]) -> Result<usize, &'static str> {
        let mut static_pipe = self.timing.pipes.iter();
        let number = static_pipe.position(|one| one.name == *name);
        number.ok_or("no pipe of that name is described there")
    }

    /// Returns whether the client has stages of a static pipe.
    fn is_clients(&self, number: usize, pipe: &Entry) -> bool {
        let packed = self.catalogue.packed();
        let asks = packed.serves.first().map(|asks| asks.space as usize);
        let mut elsewhere = self.elsewhere(number, pipe);
        elsewhere.any(|(function, _)| {
            let core = packed.functions.get(function).map(|one| one.core as usize);
            asks.is_some() && core.and_then(|core| self.catalogue.first(core)) == asks
        })
    }

    /// Marks the static pipe that a request names as removed. Returns its bit, or 0 if it is
    /// removed already.
    pub(super) fn withdrawable(&self, body: &[u8]) -> Result<u64, &'static str> {
        let name = request::static_pipe(body).ok_or("it names no pipe")?;
        let number = self.find_static(&name)?;
        if client_pipes::is_forgotten(number) {
            let goes = table::get(number).filter(|_| !client_pipes::is_requested(number));
            return Ok(goes.map_or(0, |_| 1 << number));
        }
        match table::get(number)
            .filter(|pipe| !client_pipes::is_requested(number) && pipe.pipe.name == name)
        {
            // It was removed on this partition's own console.
            None => Ok(0),
            Some(pipe) if !self.is_clients(number, &pipe) => Err(NOT_BOTH),
            Some(_) => {
                client_pipes::set_forgotten(number, true);
                Ok(1 << number)
            }
        }
    }

    /// Ends or starts the static pipe of that name, of which a first stage is here, not before tick
    /// `at`. A pipe that was stopped here already stays so.
    pub(super) fn execute_static(
        &self,
        name: &[u8; NAME_LEN],
        verb: Verb,
        at: u64,
    ) -> Result<(), &'static str> {
        let number = self.find_static(name)?;
        let is_there = !client_pipes::is_requested(number) && !client_pipes::is_forgotten(number);
        let pipe = table::get(number).filter(|_| is_there);
        let pipe = pipe.ok_or("that pipe is not there any more")?;
        if !self.is_clients(number, &pipe) {
            return Err(NOT_BOTH);
        }
        if !begins_here(&pipe) {
            return Err("that pipe does not begin there");
        }
        match (verb, stage::is_stopped(number)) {
            (Verb::Stop, false) => {
                client_pipes::set_held(number, true);
                stage::stop(number, &pipe);
            }
            (Verb::Start, true) => {
                client_pipes::set_held(number, false);
                stage::begin_at(number, &pipe, at);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns whether the client is answered once that pipe is removed.
    pub(super) fn is_due(&self, number: usize) -> bool {
        let due = self.server.as_ref().and_then(|server| server.due);
        due.is_some_and(|due| due.pipes >> number & 1 != 0)
    }

    /// Returns whether the other cores have released a pipe after its stages ended on all of them.
    /// The cores get one command after the other. The function does not wait; the next call
    /// continues.
    pub(super) fn is_forgotten_there(&mut self, number: usize, pipe: &Entry) -> bool {
        let Some(server) = self.server.as_mut().filter(|_| pipe.is_spread()) else {
            return true;
        };
        if !core_commands::are_done() {
            return false;
        }
        match server.leaves {
            None => {
                core_commands::forget(number);
                server.leaves = Some(number);
                false
            }
            Some(leaves) if leaves == number => {
                server.leaves = None;
                true
            }
            Some(_) => false,
        }
    }

    /// Resumes the static pipes that the client stopped before it restarted.
    pub(super) fn resume_held(&self) {
        for (number, pipe) in table::all().filter(|(number, _)| client_pipes::is_held(*number)) {
            client_pipes::set_held(number, false);
            if stage::is_stopped(number) && !stage::is_retired(number) {
                stage::begin(number, &pipe);
                say!(
                    "{} started anew: pipe {} goes on, which was stopped there",
                    self.client_name(),
                    pipe.name()
                );
            }
        }
    }

    /// Keeps static pipes that the client was removing when it restarted, if they have not ended
    /// yet.
    pub(super) fn keep_static(&mut self) {
        let goes_on = |number: usize| {
            client_pipes::is_forgotten(number) && !client_pipes::is_requested(number)
        };
        for (number, _) in table::all().filter(|(number, _)| goes_on(*number)) {
            if stage::is_retired(number) {
                continue;
            }
            client_pipes::set_forgotten(number, false);
            if let Some(due) = self.server.as_mut().and_then(|server| server.due.as_mut()) {
                due.pipes &= !(1 << number);
            }
        }
    }

    /// Runs removed static pipes again.
    pub(super) fn take_up_again(&mut self) {
        for number in (0..PIPES).filter(|number| client_pipes::is_forgotten(*number)) {
            client_pipes::set_forgotten(number, false);
            let Some(entry) = self.prepare_again(number) else {
                continue;
            };
            // The guarantees of pipes that were admitted beside it hold again, too.
            if let Ok(guarantees) = self.judge_own(core::iter::empty()) {
                announce_guarantees(&guarantees);
            }
            if ends_here(&entry) {
                tell(
                    number,
                    &PathGuarantees::new(core::iter::once(PathGuarantee::NOTHING)),
                );
            }
            stage::begin(number, &entry);
            say!(
                "{} started anew: pipe {} runs again",
                self.client_name(),
                entry.name()
            );
        }
    }

    fn prepare_again(&mut self, number: usize) -> Option<Entry> {
        let static_pipe = *self.timing.pipes.get(number)?;
        let before = self.timing.pipes.iter().take(number);
        let first: usize = before.map(|pipe| pipe.stages as usize).sum();
        let last = first.checked_add(static_pipe.stages as usize)?;
        let stages = self.timing.stages.get(first..last)?.iter();
        self.pipes += 1;
        let heads = stages.clone().enumerate();
        let heads = heads.filter(|(_, stage)| stage.from == 0);
        let heads = heads.map(|(place, _)| place);
        let entry = Entry::new(static_pipe, first..last, heads, self.pipes);
        for (number, stage) in entry.numbers().zip(stages) {
            stage::shared(number).become_stage(*stage);
            if shared_state::is_here(stage) && !until(REST_NS, || vcpu_pool::give(number, stage)) {
                return None;
            }
        }
        table::set(number, Some(entry));
        let Some(edges) = self.connect_again(number, &entry) else {
            table::set(number, None);
            memory::release(number);
            say!(
                "pipe {} does not run again: there is no room for it",
                entry.name()
            );
            return None;
        };
        entry
            .here()
            .for_each(|(number, stage)| device::attach(number, &stage));
        device::work_for_most_important(&self.timing);
        if !self.run_there(number, &entry, &edges) {
            // Removed again: its stages here end, and other cores release what they took up.
            client_pipes::set_forgotten(number, true);
            give_up(number, &entry);
            say!("pipe {} does not run again", entry.name());
            return None;
        }
        Some(entry)
    }

    /// Hands their plans to the stages on this core, with the buffers of the description. Returns
    /// the edges to and on other cores.
    fn connect_again(&self, number: usize, entry: &Entry) -> Option<Edges> {
        let edges = self.edges(number, entry, true)?;
        let remote_edges = crossing::of_pipe(number);
        let connected =
            stage::connected_over(&self.common, (number, entry), remote_edges, edges.all());
        connected.is_ok().then_some(edges)
    }
}
