//! Calls with arguments of the right kinds, and which of them ever succeeded

extern crate std;

use super::super::Machine;
use super::{Dice, GIVEN_SLOTS, IDENTITIES, LINES, OWN_PAGES};
use crate::Hal;
use crate::slot::Slot;
use bulkhead_abi::kernel::{
    ALL, IDENTITIES_SHIFT, KEEP, Kind, Operation, SAME_TIME, SLOTS, Status, funds,
};
use std::cell::RefCell;
use std::collections::BTreeSet;

impl Machine {
    /// Slot `index` of the table of the running thread's component.
    fn slot_of(&self, index: u64) -> Slot<'_> {
        let component = self.frame(self.running().component().reference());
        let root = self.frame(component.word(0).reference());
        let leaf = root.word(index / SLOTS % 512).reference();
        Slot::of(self.frame(leaf), index)
    }

    /// The kind of the capability at that slot of the running thread's component.
    pub(super) fn kind_of(&self, index: u64) -> u64 {
        self.slot_of(index).kind()
    }

    /// A slot of the first leaf with a capability of that kind, from a random one on.
    fn slot_with(&self, kind: Kind, dice: &mut Dice) -> u64 {
        let start = dice.below(SLOTS);
        let slots = (0..SLOTS).map(|slot| (start + slot) % SLOTS);
        let found = slots
            .clone()
            .find(|&slot| self.kind_of(slot) == kind as u64);
        found.unwrap_or(start)
    }
}

fn priority(dice: &mut Dice) -> u64 {
    if dice.below(8) == 0 {
        u64::MAX
    } else {
        dice.below(12)
    }
}

fn cycles(dice: &mut Dice) -> u64 {
    match dice.below(4) {
        0 => ALL,
        1 => dice.below(3),
        _ => dice.below(30_000),
    }
}

/// Capability, operation and arguments.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn plausible(machine: &Machine, dice: &mut Dice) -> [u64; 7] {
    let now = machine.now.get();
    let mut pick = |kind| machine.slot_with(kind, dice);
    use Kind as K;
    use Operation as O;
    let [memory, thread, time, other] = [K::Memory, K::Thread, K::Time, K::Time].map(&mut pick);
    let [scheduler, child, send, table] =
        [K::Scheduler, K::Scheduler, K::Send, K::Table].map(&mut pick);
    let [component, pages, empty] = [K::Component, K::Pages, K::Empty].map(&mut pick);
    let (receive, invoke) = (pick(K::Receive), pick(K::Invoke));
    let [core, monitor, identities] = [K::Core, K::Monitor, K::Identities].map(&mut pick);
    let [interrupt, other_pages] = [K::Interrupt, K::Pages].map(&mut pick);
    let page = dice.below(OWN_PAGES);
    let identity = identities << IDENTITIES_SHIFT | (IDENTITIES[0] + dice.below(IDENTITIES[1]));
    let former = [0, time, other][dice.below(3) as usize];
    let running = [SAME_TIME, time][dice.below(2) as usize];
    let timeout = [KEEP, u64::MAX, now + dice.below(3000), now][dice.below(4) as usize];
    let epoch = machine.epoch();
    let (cycles, level) = (cycles(dice), dice.below(4));
    let (entry, importance) = (dice.word(), priority(dice));
    let free = GIVEN_SLOTS + dice.below(SLOTS - GIVEN_SLOTS);
    let (index, line) = (dice.below(4), LINES[0] + dice.below(LINES[1]));
    let all: [(u64, O, [u64; 5]); 39] = [
        (thread, O::Dispatch, [running, timeout, epoch, 0, 0]),
        (thread, O::Dispatch, [running, timeout, epoch, 0, 0]),
        (
            thread,
            O::Dispatch,
            [running, timeout, epoch, cycles, funds(other, former)],
        ),
        (thread, O::Bind, [scheduler, dice.below(6), time, 0, 0]),
        (thread, O::Sender, [empty, dice.below(2), 0, 0, 0]),
        (thread, O::Receiver, [empty, 0, 0, 0, 0]),
        (
            memory,
            O::MakeThread,
            [page, empty, component, entry, entry],
        ),
        (
            memory,
            O::MakeScheduler,
            [page, empty, thread, component, scheduler],
        ),
        (
            memory,
            O::MakeScheduler,
            [page, empty, thread, component, scheduler],
        ),
        (memory, O::MakeTime, [page, empty, time, cycles, importance]),
        (memory, O::MakeTable, [page, empty, level % 2, 0, 0]),
        (memory, O::MakePages, [page, empty, level, 0, 0]),
        (
            memory,
            O::MakeComponent,
            [page, empty, table, pages, identity],
        ),
        (memory, O::Reclaim, [page, 0, 0, 0, 0]),
        (time, O::Transfer, [other, cycles, 0, 0, 0]),
        (
            time,
            O::Delegate,
            [send, cycles, importance, dice.below(2), 0],
        ),
        (time, O::SetPriority, [importance, 0, 0, 0, 0]),
        (time, O::Budget, [0; 5]),
        (send, O::Send, [0; 5]),
        (send, O::Send, [0; 5]),
        (receive, O::Receive, [dice.below(2), 0, 0, 0, 0]),
        (scheduler, O::Fetch, [0; 5]),
        (scheduler, O::Grant, [child, dice.below(3), 0, 0, 0]),
        (scheduler, O::Retire, [0; 5]),
        (monitor, O::Up, [0; 5]),
        (monitor, O::Ring, [level, 0, 0, 0, 0]),
        (monitor, O::Note, [level, 0, 0, 0, 0]),
        (core, O::Prepare, [memory, page, empty, component, entry]),
        (core, O::Start, [0; 5]),
        (component, O::Entry, [empty, entry, entry, 0, 0]),
        (table, O::Remove, [free, 0, 0, 0, 0]),
        (table, O::Copy, [free, dice.below(SLOTS), 0, page, 0]),
        (interrupt, O::Listen, [line, send, 0, 0, 0]),
        (interrupt, O::Complete, [super::super::LEVEL, 0, 0, 0, 0]),
        (interrupt, O::Ignore, [line, 0, 0, 0, 0]),
        (pages, O::Map, [index, memory, page, dice.below(3), 0]),
        (pages, O::Map, [index, memory, page, dice.below(3), 0]),
        (pages, O::Attach, [index, other_pages, 0, 0, 0]),
        (pages, O::Unmap, [index, 0, 0, 0, 0]),
    ];
    let (capability, operation, words) = match dice.below(16) {
        0 => (invoke, O::Identify, [0; 5]),
        1 => (0, O::Identify, [0; 5]),
        2 if dice.below(8) == 0 => (thread, O::Retire, [0; 5]),
        _ => all[dice.below(all.len() as u64) as usize],
    };
    let [a, b, c, d, e] = words;
    [capability, operation as u64, a, b, c, d, e]
}

/// Kinds and operations of calls that succeeded.
#[derive(Default)]
pub(super) struct Successes(RefCell<BTreeSet<(u64, u64)>>);

impl Successes {
    pub(super) fn note(&self, kind: u64, operation: u64) {
        self.0.borrow_mut().insert((kind, operation));
    }

    /// Each of the operations on schedulers, time, other cores and the monitor has succeeded.
    pub(super) fn assert_all(&self) {
        let seen = self.0.borrow();
        for (kind, operation) in [
            (Kind::Thread, Operation::Dispatch),
            (Kind::Thread, Operation::Bind),
            (Kind::Thread, Operation::Retire),
            (Kind::Memory, Operation::MakeScheduler),
            (Kind::Memory, Operation::MakeTime),
            (Kind::Memory, Operation::MakeThread),
            (Kind::Memory, Operation::MakeComponent),
            (Kind::Memory, Operation::Reclaim),
            (Kind::Scheduler, Operation::Grant),
            (Kind::Scheduler, Operation::Retire),
            (Kind::Scheduler, Operation::Fetch),
            (Kind::Time, Operation::Transfer),
            (Kind::Time, Operation::Delegate),
            (Kind::Time, Operation::SetPriority),
            (Kind::Send, Operation::Send),
            (Kind::Receive, Operation::Receive),
            (Kind::Monitor, Operation::Up),
            (Kind::Monitor, Operation::Ring),
            (Kind::Monitor, Operation::Note),
            (Kind::Interrupt, Operation::Listen),
            (Kind::Interrupt, Operation::Complete),
            (Kind::Interrupt, Operation::Ignore),
            (Kind::Pages, Operation::Map),
            (Kind::Pages, Operation::Unmap),
            (Kind::Pages, Operation::Attach),
            (Kind::Core, Operation::Prepare),
            (Kind::Core, Operation::Start),
        ] {
            let succeeded = seen.contains(&(kind as u64, operation as u64));
            assert!(succeeded, "no {operation:?} of a {kind:?} ever succeeded");
        }
        assert_eq!(Status::Ok as u64, 0);
    }
}
