//! Objects of the first component, made by the tests

extern crate std;

use super::{Machine, Slots};
use bulkhead_abi::kernel::{Operation, SAME_TIME, first};
use std::cell::Cell;
use std::vec::Vec;

/// Pages of the first component's memory, handed out by the tests, with what is made of them.
pub(super) struct Workshop<'m> {
    pub(super) machine: &'m Machine,
    pub(super) slots: Slots,
    page: Cell<u64>,
}

impl<'m> Workshop<'m> {
    pub(super) fn new(machine: &'m Machine) -> Self {
        Self {
            machine,
            slots: Slots::new(),
            page: Cell::new(0),
        }
    }

    pub(super) fn page(&self) -> u64 {
        let page = self.page.get();
        self.page.set(page + 1);
        page
    }

    /// The page that was handed out last.
    pub(super) fn last_page(&self) -> u64 {
        self.page.get() - 1
    }

    /// Hands out the last pages and slots again.
    pub(super) fn step_back(&self, [pages, slots]: [u64; 2]) {
        self.page.set(self.page.get() - pages);
        self.slots.0.set(self.slots.0.get() - slots);
    }

    /// Hands out all pages and slots again.
    pub(super) fn rewind(&self) {
        self.page.set(0);
        self.slots.0.set(first::FREE);
    }

    /// Makes an object; its slot.
    #[track_caller]
    pub(super) fn make(&self, operation: Operation, words: &[u64]) -> u64 {
        let (page, slot) = (self.page(), self.slots.next());
        let all: Vec<u64> = [page, slot].iter().chain(words).copied().collect();
        self.machine.must(first::MEMORY, operation, &all);
        slot
    }

    /// A component with a leaf that has the Return capability in slot 0; its slot and its leaf's.
    pub(super) fn component(&self, identity: u64) -> [u64; 2] {
        let table = self.make(Operation::MakeTable, &[0]);
        let leaf = self.make(Operation::MakeTable, &[1]);
        let pages = self.make(Operation::MakePages, &[1]);
        self.machine.must(table, Operation::Copy, &[0, leaf]);
        self.machine
            .must(leaf, Operation::Copy, &[0, first::RETURN]);
        let words = [table, pages, first::identity(identity)];
        let component = self.make(Operation::MakeComponent, &words);
        [component, leaf]
    }

    pub(super) fn entry(&self, component: u64, entry: u64, token: u64) -> u64 {
        let slot = self.slots.next();
        self.machine
            .must(component, Operation::Entry, &[slot, entry, token]);
        slot
    }

    /// A thread of `component` under the root scheduler at `index`, on time of `priority`; its slot,
    /// its time's, and its sending side's.
    pub(super) fn thread(&self, component: u64, index: u64, priority: u64) -> [u64; 3] {
        let thread = self.make(Operation::MakeThread, &[component, 0x40_1000, 0x40_8000]);
        let time = self.make(Operation::MakeTime, &[first::TIME, u64::MAX, priority]);
        self.machine
            .must(thread, Operation::Bind, &[first::SCHEDULER, index, time]);
        let sender = self.slots.next();
        self.machine.must(thread, Operation::Sender, &[sender]);
        [thread, time, sender]
    }

    /// Makes `thread`, of `component`, the own thread of a scheduler under `parent`; its slot. The page of its SCB was
    /// handed out last.
    #[track_caller]
    pub(super) fn scheduler(&self, [thread, component, parent]: [u64; 3]) -> u64 {
        let slot = self.make(Operation::MakeScheduler, &[thread, component, parent]);
        let scb = self.page();
        assert_eq!(scb, self.last_page(), "behind the scheduler's");
        slot
    }

    /// A thread as [`Workshop::thread`] makes it, waiting at its receive end: it has run once. The first thread runs again.
    pub(super) fn waiting(&self, index: u64, priority: u64) -> [u64; 3] {
        let made = self.thread(first::COMPONENT, index, priority);
        let receive = self.slots.next();
        self.machine.must(made[0], Operation::Receiver, &[receive]);
        self.machine.dispatch(made[0], SAME_TIME);
        assert_eq!(self.machine.running().index().get(), index);
        self.machine.ask(receive, Operation::Receive, &[0]);
        assert_eq!(self.machine.running().index().get(), 0);
        while self.machine.event().is_some() {}
        made
    }
}
