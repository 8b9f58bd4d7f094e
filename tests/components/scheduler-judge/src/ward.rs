//! A component with a scheduler, which the judge runs

use bulkhead_abi::kernel::{Operation, Packed, SLOTS, STACK_PAGES, Status, first as slots};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{consume_events, scb};
use bulkhead_component::first::Shared;
use bulkhead_component::{First, clock};
use core::sync::atomic::Ordering::Relaxed;

/// Priority of its time.
const UNIMPORTANT: u64 = 9;
/// Its pages.
const PAGES: u64 = 8;
/// Slot of its capability to invoke the server.
const INVOKE: u64 = SLOTS - 1;

pub(crate) struct Ward {
    thread: u64,
    /// Its table.
    pub(crate) leaf: u64,
    time: u64,
    pub(crate) shared: &'static Shared,
}

impl Ward {
    pub(crate) fn new(
        first: &mut First,
        packed: &Packed,
        index: u64,
        server: u64,
    ) -> Result<Self, Status> {
        let made = first.component_with(packed, index, [1, STACK_PAGES], true)?;
        let shared = first.share(&made)?;
        let time = first.time(0, UNIMPORTANT)?;
        let place = [slots::SCHEDULER, index, time, PAGES];
        let [thread, ..] = first.schedule(&made, packed, place)?;
        call(made.leaf, Operation::Copy, [INVOKE, server])?;
        Ok(Self {
            thread,
            leaf: made.leaf,
            time,
            shared,
        })
    }

    /// Gives it so many ticks more.
    pub(crate) fn grant(&self, ticks: u64) -> Result<(), Status> {
        call(slots::TIME, Operation::Transfer, [self.time, ticks]).map(|_| ())
    }

    /// Runs it until `end` or the end of its budget; for how long it had the core.
    pub(crate) fn run(&self, end: u64) -> Result<u64, Status> {
        loop {
            consume_events(scb());
            let words = [self.time, end, scb().epoch.load(Relaxed)];
            let began = clock::now();
            match call(self.thread, Operation::Dispatch, words) {
                Ok(_) => return Ok(clock::now() - began),
                Err(Status::Stale) => {}
                Err(status) => return Err(status),
            }
        }
    }
}
