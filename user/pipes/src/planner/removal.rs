//! Removal of static pipes that cross partitions: the other partitions release their stages, too
//!
//! A partition that restarts runs its static pipes again. If a remote partition does, the removal
//! is requested again, before any request that may need the room. If this partition does, its
//! removals are lost, and the others take their stages up again on their own.

use super::{Planner, sources};
use crate::remote_partition::{self, Outcome};
use crate::runtime::say;
use crate::table::Entry as Pipe;
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::name_text;
use bulkhead_abi::repository::MAX_REMOTE_PARTITIONS;
use core::fmt;

/// State of the removal of a static pipe.
#[derive(Clone, Copy)]
pub(super) struct Removal {
    /// Partitions with stages of it, by bit of their numbers.
    others: u8,
    /// Partitions that have not confirmed the removal yet.
    owed: u8,
}

const _: () = assert!(MAX_REMOTE_PARTITIONS <= u8::BITS as usize);

impl Removal {
    /// The pipe is not removed.
    pub(super) const NONE: Self = Self { others: 0, owed: 0 };
}

/// Reason for which a static pipe is not removed here.
pub(super) enum RemovalRefusal<'p> {
    /// The pipe has to be removed on the console of the client partition, where it was entered.
    AtClient(&'p str),
    /// The first partition runs stages of it, and is not in `typed_through` of the second.
    Unnamed(&'p str, &'p str),
}

impl fmt::Display for RemovalRefusal<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtClient(client) => write!(
                out,
                "it crosses to {client}, which types the flows that have stages here: remove it there"
            ),
            Self::Unnamed(other, client) => write!(
                out,
                "it has stages in {other}, which `typed_through` of {client} would have to name"
            ),
        }
    }
}

impl Planner {
    /// Returns whether the pipe of that number is static.
    pub(super) fn is_static(&self, number: usize) -> bool {
        self.texts.get(number).is_none_or(Option::is_none)
    }

    /// Returns whether a pipe is static and has stages in other partitions.
    fn crosses(&self, number: usize, pipe: &Pipe) -> bool {
        self.is_static(number) && pipe.crosses()
    }

    /// Name of a partition, by one of its cores.
    fn partition(&self, core: u32) -> &str {
        let packed = self.catalogue.packed();
        let space = packed
            .cores
            .get(core as usize)
            .map_or(core, |core| core.space);
        remote_partition::name_of(packed, space)
    }

    /// The reason for which a pipe is not removed here, if there is one.
    pub(super) fn removal_refusal(&self, number: usize, pipe: &Pipe) -> Option<RemovalRefusal<'_>> {
        if !self.crosses(number, pipe) {
            return None;
        }
        if self.server.is_some() {
            return Some(RemovalRefusal::AtClient(self.client_name()));
        }
        let packed = self.catalogue.packed();
        for (function, _) in self.elsewhere(number, pipe) {
            let function = packed.functions.get(function);
            let reached =
                function.filter(|one| self.catalogue.remote_partition(one.core as usize).is_some());
            if reached.is_none() {
                let owner = function.map_or("?", |one| self.partition(one.core));
                return Some(RemovalRefusal::Unnamed(
                    owner,
                    self.partition(packed.head.core),
                ));
            }
        }
        None
    }

    /// Functions of a pipe's stages in other partitions, and whether each is a first stage.
    pub(super) fn elsewhere(
        &self,
        number: usize,
        pipe: &Pipe,
    ) -> impl Iterator<Item = (usize, bool)> {
        let mut functions = [usize::MAX; crate::stage::STAGES];
        self.functions(number, &mut functions);
        let stages = pipe.stages().map(|(_, stage)| stage);
        let mut firsts = [None; crate::stage::STAGES];
        for (place, stage) in firsts.iter_mut().zip(stages) {
            *place = (!stage.is_here()).then_some(stage.from == 0);
        }
        let all = functions.into_iter().zip(firsts);
        all.filter_map(|(function, first)| Some((function, first?)))
    }

    /// Requests that other partitions release a static pipe. Its stages here have come to rest.
    pub(super) fn withdraw_remote(&mut self, number: usize, pipe: &Pipe) {
        if !self.crosses(number, pipe) {
            return;
        }
        let functions = self.elsewhere(number, pipe);
        let packed = self.catalogue.packed().functions;
        let cores = functions.filter_map(|(function, _)| Some(packed.get(function)?.core));
        let others = cores.filter_map(|core| self.catalogue.remote_partition(core as usize));
        let others = others.fold(0, |bits, other| bits | 1 << other);
        if let Some(removals) = self.removals.get_mut(number) {
            *removals = Removal {
                others,
                owed: others,
            };
        }
        let _said = self.request_withdrawal(number, others, self.last_end(number, pipe));
    }

    /// Sends the request to these partitions. Returns whether all of them confirmed.
    fn request_withdrawal(&mut self, pipe: usize, others: u8, ended: u64) -> bool {
        let Some(name) = self.timing.pipes.get(pipe).map(|pipe| pipe.name) else {
            return false;
        };
        let mut done = true;
        for number in sources::each(others) {
            let outcome = self.others.forget(number, &name, ended);
            self.explain_withdrawal(number, &name, &outcome);
            done &= matches!(outcome, Outcome::Done);
            if let Some(removals) = self.removals.get_mut(pipe) {
                // A partition that is down is notified when it is up.
                removals.owed &= !(1 << number);
                removals.owed |= u8::from(matches!(outcome, Outcome::Silent)) << number;
            }
        }
        done
    }

    fn explain_withdrawal(&self, number: usize, name: &[u8; NAME_LEN], outcome: &Outcome) {
        let (name, other) = (name_text(name), self.name_of(number));
        match outcome {
            Outcome::Done => {}
            Outcome::Down => say!("pipe {name}: {other} is not up, and is told when it is"),
            Outcome::Refused => {
                say!(
                    "pipe {name}: {other} goes on with its stages: {}",
                    self.others.answer_text()
                );
            }
            Outcome::Silent => {
                say!("pipe {name}: {other} does not say yet that its stages there have ended");
            }
        }
    }

    /// Repeats the request to partitions that have not confirmed a removal.
    pub(super) fn retry_removals(&mut self) {
        for pipe in 0..self.removals.len() {
            let owed = self.removals.get(pipe).map_or(0, |removals| removals.owed);
            let _said = self.request_withdrawal(pipe, owed, 0);
        }
    }

    /// Requests from a partition that restarted all removals again.
    pub(super) fn withdraw_again(&mut self, number: usize) {
        for pipe in 0..self.removals.len() {
            let Some(removals) = self
                .removals
                .get(pipe)
                .filter(|removals| removals.others >> number & 1 != 0)
            else {
                continue;
            };
            let peer = removals.others & 1 << number;
            if self.request_withdrawal(pipe, peer, 0) {
                let name = self.timing.pipes.get(pipe).map(|one| one.name);
                say!(
                    "pipe {}: {} started anew and forgets it again",
                    name_text(&name.unwrap_or_default()),
                    self.name_of(number)
                );
            }
        }
    }
}
