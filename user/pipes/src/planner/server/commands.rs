//! Start and stop of pipes with first stages here, as the client commands: its own pipes, and
//! static ones that it may remove
//!
//! They end in the order of their stages, as on this partition's own console. The client starts
//! such a pipe a moment after its own stages are ready.

use super::super::Planner;
use super::withdrawal::begins_here;
use crate::client_pipes;
use crate::stage;
use crate::table::{self, Entry};
use bulkhead_component::clock::{self, ticks};
use bulkhead_stages::request::{LONGEST_WAIT_NS, Request, Target, Verb, target};

impl Planner {
    /// Pipes of a request.
    pub(super) fn requested(&self, id: u64) -> impl Iterator<Item = (usize, Entry)> {
        let pipes = table::all().filter(|(number, _)| client_pipes::is_requested(*number));
        pipes.filter(move |(number, _)| self.ids.get(*number) == Some(&id))
    }

    /// Starts, or ends, the pipes of a request.
    pub(super) fn execute(
        &self,
        request: &Request,
        verb: Verb,
        body: &[u8],
    ) -> Result<(), &'static str> {
        let latest = clock::now().saturating_add(ticks(LONGEST_WAIT_NS));
        let at = request.ended.min(latest);
        match target(body) {
            Some(Target::Requested) => self.execute_run_time(request.id, verb, at),
            Some(Target::Static(name)) => self.execute_static(&name, verb, at),
            None => Err("it names no pipe"),
        }
    }

    fn execute_run_time(&self, id: u64, verb: Verb, at: u64) -> Result<(), &'static str> {
        for (number, pipe) in self.requested(id) {
            if !begins_here(&pipe) {
                return Err("it does not begin there");
            }
            let is_stopped = stage::is_stopped(number);
            match verb {
                Verb::Stop => stage::stop(number, &pipe),
                _ if is_stopped && stage::has_begun(number) && !stage::rests(&pipe) => {
                    return Err("it is ending there still");
                }
                _ if is_stopped || !stage::has_begun(number) => {
                    stage::begin_at(number, &pipe, at);
                }
                _ => {}
            }
        }
        match self.requested(id).next() {
            Some(_) => Ok(()),
            None => Err("there is no such pipe there"),
        }
    }
}
