//! Stages that have the first ones of their pipe among them: begun and stopped by who asked for them, or may remove what is described of them
//!
//! They end in the order of their pipe like described ones. Who asked has it begin here a moment after its own stages are ready.

use super::super::Planner;
use super::forget::begins_here;
use crate::serving;
use crate::stage;
use crate::table::{self, Entry};
use bulkhead_component::clock::{self, ticks};
use bulkhead_stages::request::{LONGEST_WAIT_NS, Meant, Request, Verb, meant};

impl Planner {
    /// Pipes that were asked for by a number.
    pub(super) fn asked(&self, id: u64) -> impl Iterator<Item = (usize, Entry)> {
        let asked = table::all().filter(|(number, _)| serving::is_asked(*number));
        asked.filter(move |(number, _)| self.ids.get(*number) == Some(&id))
    }

    /// Has those begin, or end a task, that a request means.
    pub(super) fn move_asked(
        &self,
        request: &Request,
        verb: Verb,
        body: &[u8],
    ) -> Result<(), &'static str> {
        let latest = clock::now().saturating_add(ticks(LONGEST_WAIT_NS));
        let at = request.ended.min(latest);
        match meant(body) {
            Some(Meant::Asked) => self.move_typed(request.id, verb, at),
            Some(Meant::Described(name)) => self.move_described(&name, verb, at),
            None => Err("it names no pipe"),
        }
    }

    fn move_typed(&self, id: u64, verb: Verb, at: u64) -> Result<(), &'static str> {
        for (number, pipe) in self.asked(id) {
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
        match self.asked(id).next() {
            Some(_) => Ok(()),
            None => Err("there is no such pipe there"),
        }
    }
}
