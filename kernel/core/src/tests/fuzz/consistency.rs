//! Consistency of all objects after any calls: references, counts beside them, mappings, bystanders

extern crate std;

use super::super::{CORES, MEMORY, Machine, PAGES};
use super::LINES;
use crate::Hal;
use crate::frame::{Frame, PAGE, Ref, WORDS};
use crate::object::{Component, Scheduler, Thread, Time};
use crate::slot::Slot;
use crate::translation::{self, physical};
use bulkhead_abi::dispatch::MAX_THREADS;
use bulkhead_abi::kernel::{Kind, Rights, SCHEDULERS, SLOTS, first};
use std::vec::Vec;

/// Pages of the kernel and of the first component that the attacker has no capability for.
pub(super) fn bystanders(machine: &Machine, root: Thread<'_>) -> Vec<u64> {
    let core = machine.core();
    let component = machine.frame(root.component().reference());
    let table = machine.frame(component.word(0).reference());
    let leaf = table.word(0).reference();
    let mut pages = Vec::from([
        core.void().reference(),
        root.component().reference(),
        component.word(0).reference(),
        leaf,
    ]);
    pages.extend(first::PAGES.map(|slot| Slot::of(machine.frame(leaf), slot).object()));
    let words = |at| machine.frame(at).words().map(|word| word.get());
    // Of the table of interrupts, what the attacker has no lines of.
    let interrupts = words(core.interrupts().reference()).enumerate();
    let attacker_lines = LINES[0] as usize..(LINES[0] + LINES[1]) as usize;
    let others = interrupts.filter(|(line, _)| !attacker_lines.contains(line));
    let pages = pages.into_iter().flat_map(words);
    pages.chain(others.map(|(_, word)| word)).collect()
}

/// References to every page, counted from what is there.
fn recount(machine: &Machine) -> Vec<u64> {
    let mut counts = std::vec![0; PAGES as usize];
    let void = machine.core().void().reference();
    let mut count = |at: Ref| {
        if at != void && machine.state(at).is_some() {
            counts[machine.number(at) - CORES as usize] += 1;
        }
    };
    for number in 0..PAGES {
        let at = Ref::offered(MEMORY + PAGE * number);
        let state = machine.state(at).unwrap();
        let frame = machine.frame(at);
        if state.is(Kind::Pages) {
            let entries = frame.words().map(|word| word.get());
            let mapped = entries.filter(|&entry| entry != 0);
            mapped.for_each(|entry| count(Ref::offered(physical(entry) + Machine::LINEAR)));
        } else if state.is(Kind::Table) && is_root(machine, frame) {
            frame.words().for_each(|word| count(word.reference()));
        } else if state.is(Kind::Table) {
            let slots = (0..SLOTS).map(|index| Slot::of(frame, index));
            slots
                .filter(|slot| slot.counts())
                .for_each(|slot| count(slot.object()));
        } else if state.is(Kind::Component) || state.is_closing() {
            count(frame.word(0).reference());
            count(Ref::offered(
                (frame.word(1).get() & ((1 << 48) - 1)) + Machine::LINEAR,
            ));
        } else if state.is(Kind::Thread) {
            let thread = Thread::new(at, frame);
            count(creator(thread));
            count(thread.time().reference());
        } else if let Some(scheduler) = scheduler(machine, at) {
            count(scheduler.thread().reference());
            count(scheduler.component().reference());
            let members = (1..MAX_THREADS as u64).map(|index| scheduler.member(index).reference());
            members.filter(|&member| member != void).for_each(|member| {
                count(member);
                count(at);
            });
        }
    }
    for rank in 0..CORES {
        let interrupts = machine.frame(machine.core_of(rank).interrupts().reference());
        let listeners = interrupts.words().map(|word| Ref::offered(word.get() & !1));
        listeners.for_each(&mut count);
    }
    counts
}

/// The scheduler at a page, unless it is none or was retired.
fn scheduler(machine: &Machine, at: Ref) -> Option<Scheduler<'_>> {
    let scheduler = Scheduler::new(at, machine.frame(at));
    let void = machine.core().void().reference();
    let is_one = machine.state(at)?.is(Kind::Scheduler);
    (is_one && scheduler.core().reference() != void).then_some(scheduler)
}

/// Checks the counts beside the frame table: invocations into components, and time that schedulers own.
fn assert_counts_beside(machine: &Machine) {
    let pages = || (0..PAGES).map(|number| Ref::offered(MEMORY + PAGE * number));
    let of = |kind| pages().filter(move |&at| machine.state(at).unwrap().is(kind));
    let threads = || of(Kind::Thread).map(|at| Thread::new(at, machine.frame(at)));
    let times = || of(Kind::Time).map(|at| Time::new(at, machine.frame(at)));
    for at in pages().filter(|&at| {
        let state = machine.state(at).unwrap();
        state.is(Kind::Component) || state.is_closing()
    }) {
        let component = Component::new(at, machine.frame(at));
        let counted: u64 = (0..CORES).map(|rank| component.inside(rank).get()).sum();
        let entered = |thread: Thread<'_>| {
            let below =
                (1..thread.depth().get()).map(|depth| thread.invocation(depth)[0].reference());
            let top = (thread.depth().get() > 0).then(|| thread.component().reference());
            below.chain(top).filter(|&into| into == at).count() as u64
        };
        assert_eq!(counted, threads().map(entered).sum(), "inside of {at:?}");
    }
    for at in of(Kind::Scheduler) {
        let owned = times()
            .filter(|time| time.owner().reference() == at)
            .count() as u64;
        assert_eq!(Scheduler::new(at, machine.frame(at)).owned().get(), owned);
    }
    assert_quotas(machine);
}

/// A root holds addresses of leaves everywhere, a leaf small kinds in every fourth word.
fn is_root(machine: &Machine, frame: &Frame) -> bool {
    let void = machine.core().void().get();
    (0..WORDS as u64).any(|index| frame.word(index).get() == void && index % 4 == 0)
}

/// The component at the bottom of a thread's invocations, which it was made in.
fn creator(thread: Thread<'_>) -> Ref {
    if thread.depth().get() == 0 {
        thread.component().reference()
    } else {
        thread.invocation(0)[0].reference()
    }
}

pub(super) fn check(machine: &Machine, root: Thread<'_>, before: &[u64]) {
    assert!(bystanders(machine, root) == before, "a bystander changed");
    let counts = recount(machine);
    for number in 0..PAGES {
        let at = Ref::offered(MEMORY + PAGE * number);
        let state = machine.state(at).unwrap();
        let kernel = Kind::ALL.iter().find(|&&kind| state.is(kind));
        match kernel {
            // Private pages.
            Some(Kind::Empty) => {}
            Some(
                Kind::Time
                | Kind::Component
                | Kind::Table
                | Kind::Pages
                | Kind::Scheduler
                | Kind::Thread,
            ) => {
                assert_eq!(
                    state.count(),
                    counts[number as usize],
                    "page {number} {kernel:?}"
                );
            }
            Some(kind) => panic!("{kind:?} is no kind of page"),
            None if state.is_closing() => assert_eq!(counts[number as usize], 0),
            None => assert!(
                state.count() >= counts[number as usize],
                "user page {number}"
            ),
        }
    }
    assert_mappings(machine);
    assert_counts_beside(machine);
}

/// Checks that no kernel object is mapped, and no page both writable and executable: pages that the kernel shares with
/// schedulers count as writable.
fn assert_mappings(machine: &Machine) {
    let mut rights = std::vec![[false; 2]; PAGES as usize];
    let place = |at| machine.number(at) - CORES as usize;
    for number in 0..PAGES {
        let at = Ref::offered(MEMORY + PAGE * number);
        if let Some(scheduler) = scheduler(machine, at) {
            rights[place(scheduler.scb().reference())][0] = true;
        }
    }
    for number in 0..PAGES {
        let at = Ref::offered(MEMORY + PAGE * number);
        if !machine.state(at).unwrap().is(Kind::Pages) {
            continue;
        }
        for word in machine
            .frame(at)
            .words()
            .filter(|word| word.get() & 1 << 6 != 0)
        {
            let mapped = Ref::offered(physical(word.get()) + Machine::LINEAR);
            let state = machine.state(mapped).unwrap();
            assert!(
                !Kind::ALL.iter().any(|&kind| state.is(kind)),
                "{mapped:?} is mapped"
            );
            match translation::rights(word.get()) {
                Rights::Read => {}
                Rights::Write => rights[place(mapped)][0] = true,
                Rights::Execute => rights[place(mapped)][1] = true,
            }
        }
    }
    assert!(!rights.contains(&[true; 2]), "writable and executable");
}

/// The quotas of a core's schedulers and the places that they have are all places that there are.
fn assert_quotas(machine: &Machine) {
    for rank in 0..CORES {
        let core = machine.core_of(rank);
        let placed = (0..SCHEDULERS as u64).map(|place| core.placed(place).reference());
        let placed: Vec<_> = placed.filter_map(|at| scheduler(machine, at)).collect();
        let quotas: u64 = placed.iter().map(|one| one.quota().get()).sum();
        let all = quotas + placed.len() as u64;
        assert!(placed.is_empty() || all == SCHEDULERS as u64, "{all}");
    }
}
