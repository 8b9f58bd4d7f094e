//! A component calls anything with anything
//!
//! What must hold afterwards: every page's count is what refers to it, no component maps a kernel
//! object, "none" is still none, and nothing of the component next to it has changed.

extern crate std;

use super::{Machine, PAGES, Workshop};
use crate::Hal;
use crate::frame::{Frame, PAGE, Ref, WORDS};
use crate::object::{Component, Scheduler, Thread, Time};
use crate::slot::Slot;
use crate::translation::physical;
use bulkhead_abi::dispatch::MAX_THREADS;
use bulkhead_abi::kernel::{Kind, Operation, SLOTS, first};
use std::vec::Vec;

/// The attacker's identity, thread index and first slots.
const ATTACKER: u64 = 2;
const MEMORY: u64 = 1;
/// Pages it may do anything with.
const OWN_PAGES: u64 = 24;
/// Words of the SCB page that it scribbles over.
const SHARED_WORDS: u64 = 512;

/// xorshift64*.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.roll() >> 32) % end
    }

    /// Mostly something plausible.
    fn word(&mut self) -> u64 {
        match self.below(16) {
            0 => self.roll(),
            1 => u64::MAX,
            2 => 128 * self.below(6),
            3..=6 => self.below(4),
            _ => self.below(40),
        }
    }
}

/// Cores on which it runs.
const ATTACKED: u64 = 2;

/// Threads in a component of their own, one per core, with everything a component may be given.
struct Arena<'m> {
    machine: &'m Machine,
    /// Slots of each core's thread and its time.
    threads: [[u64; 2]; ATTACKED as usize],
}

fn arena(machine: &Machine) -> Arena<'_> {
    let shop = Workshop::new(machine);
    let [component, leaf] = shop.component(ATTACKER);
    let [server, server_leaf] = shop.component(3);
    let [thread, time, sender] = shop.thread(component, 1, 9);
    let helper = shop.make(Operation::MakeThread, &[component, 0x40_5000, 0]);
    let nested = shop.scheduler([thread, component, first::SCHEDULER]);
    machine.must(helper, Operation::Bind, &[nested, 1, time]);
    let entry = shop.entry(server, 0x40_0100, 7);
    let back = shop.entry(component, 0x40_0200, 8);
    machine.must(server_leaf, Operation::Copy, &[1, back]);
    let slice = shop.make(Operation::MakeTime, &[first::TIME, 1 << 40, 9]);
    let receive = shop.slots.next();
    machine.must(thread, Operation::Receiver, &[receive]);
    let there = further(&shop, component, leaf);
    let first_page = shop.page();
    let words = [MEMORY, first::MEMORY, first_page, OWN_PAGES];
    machine.must(leaf, Operation::Copy, &words);
    let given = [
        leaf,
        component,
        server,
        server_leaf,
        thread,
        helper,
        nested,
        entry,
        slice,
        receive,
        sender,
    ];
    for (place, from) in (2..).zip(given) {
        machine.must(leaf, Operation::Copy, &[place, from]);
    }
    // Its translation tables, one of each level.
    // The core that is off.
    machine.must(leaf, Operation::Copy, &[19, first::CORES + ATTACKED]);
    for (place, level) in [(20, 2), (21, 3)] {
        let pages = shop.make(Operation::MakePages, &[level]);
        machine.must(leaf, Operation::Copy, &[place, pages]);
    }
    Arena {
        machine,
        threads: [[thread, time], there],
    }
}

/// Starts the second core, on which a thread of `component` runs under the root; its slot and its time's.
fn further(shop: &Workshop<'_>, component: u64, leaf: u64) -> [u64; 2] {
    let machine = shop.machine;
    let page = [(); 4].map(|()| shop.page())[0];
    let [root, scheduler, all] = [(); 3].map(|()| shop.slots.next());
    let words = [first::MEMORY, page, root, first::COMPONENT, 0x40_0000];
    machine.must(first::CORES + 1, Operation::Prepare, &words);
    machine.must(first::CORES + 1, Operation::Start, &[]);
    machine.on_core(1);
    let thread = shop.make(Operation::MakeThread, &[component, 0x40_6000, 0]);
    let time = shop.make(Operation::MakeTime, &[all, u64::MAX, 9]);
    machine.must(thread, Operation::Bind, &[scheduler, 1, time]);
    let [sender, receive] = [shop.slots.next(), shop.slots.next()];
    machine.must(thread, Operation::Sender, &[sender]);
    machine.must(thread, Operation::Receiver, &[receive]);
    let nested = shop.scheduler([thread, component, scheduler]);
    for (place, from) in (13..).zip([thread, sender, receive, nested, time]) {
        machine.must(leaf, Operation::Copy, &[place, from]);
    }
    machine.on_core(0);
    [thread, time]
}

impl Arena<'_> {
    /// Has the attacker run; whether it does.
    fn enter(&self) -> bool {
        let scheduler = self.machine.running().scheduler().reference();
        if self.machine.frame(scheduler).word(4).reference() != self.void() {
            return true;
        }
        // The root reads its events and lets the attacker run, as long as it can.
        while self.machine.event().is_some() {}
        self.machine.scb(0).set(0);
        let [thread, time] = self.threads[self.machine.core().rank().get() as usize];
        self.machine.dispatch(thread, time);
        !self.is_root()
    }

    fn is_root(&self) -> bool {
        let scheduler = self.machine.running().scheduler().reference();
        self.machine.frame(scheduler).word(4).reference() == self.void()
    }

    fn void(&self) -> Ref {
        self.machine.core().void().reference()
    }

    fn step(&self, dice: &mut Dice) {
        let machine = self.machine;
        match dice.below(32) {
            0 => {
                let word = machine.scb(dice.below(SHARED_WORDS));
                word.set(dice.word());
            }
            1 => machine.fault(dice.roll()),
            2 => machine.interrupt(dice.below(super::LEVEL)),
            3 => machine.tick(machine.now.get() + dice.below(1000)),
            4 => machine.kernel().lend_floating_point(),
            5 => machine.processor().context.set([dice.roll(), dice.roll()]),
            _ => {
                machine.now.set(machine.now.get() + dice.below(50));
                let operation = dice.below(1 + Operation::ALL.len() as u64);
                let words = [(); 5].map(|()| dice.word());
                machine.call(dice.word(), operation, words);
            }
        }
    }
}

/// Pages of the kernel and of the first component that the attacker has no capability for.
fn bystanders(machine: &Machine, root: Thread<'_>) -> Vec<u64> {
    let core = machine.core();
    let component = machine.frame(root.component().reference());
    let table = machine.frame(component.word(0).reference());
    let leaf = table.word(0).reference();
    let mut pages = Vec::from([
        core.void().reference(),
        core.interrupts().reference(),
        root.component().reference(),
        component.word(0).reference(),
        leaf,
    ]);
    pages.extend(first::PAGES.map(|slot| Slot::of(machine.frame(leaf), slot).object()));
    let words = |at| machine.frame(at).words().map(|word| word.get());
    pages.into_iter().flat_map(words).collect()
}

/// References to every page, counted from what is there.
fn recount(machine: &Machine) -> Vec<u64> {
    let mut counts = std::vec![0; PAGES as usize];
    let void = machine.core().void().reference();
    let mut count = |at: Ref| {
        if at != void && machine.state(at).is_some() {
            counts[machine.number(at) - super::CORES as usize] += 1;
        }
    };
    for number in 0..PAGES {
        let at = Ref::offered(super::MEMORY + PAGE * number);
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
    for rank in 0..super::CORES {
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
    let pages = || (0..PAGES).map(|number| Ref::offered(super::MEMORY + PAGE * number));
    let of = |kind| pages().filter(move |&at| machine.state(at).unwrap().is(kind));
    let threads = || of(Kind::Thread).map(|at| Thread::new(at, machine.frame(at)));
    let times = || of(Kind::Time).map(|at| Time::new(at, machine.frame(at)));
    for at in pages().filter(|&at| {
        let state = machine.state(at).unwrap();
        state.is(Kind::Component) || state.is_closing()
    }) {
        let component = Component::new(at, machine.frame(at));
        let counted: u64 = (0..super::CORES)
            .map(|rank| component.inside(rank).get())
            .sum();
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

fn check(machine: &Machine, root: Thread<'_>, before: &[u64]) {
    assert!(bystanders(machine, root) == before, "a bystander changed");
    let counts = recount(machine);
    for number in 0..PAGES {
        let at = Ref::offered(super::MEMORY + PAGE * number);
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
    assert_no_object_is_mapped(machine);
    assert_counts_beside(machine);
}

fn assert_no_object_is_mapped(machine: &Machine) {
    for number in 0..PAGES {
        let at = Ref::offered(super::MEMORY + PAGE * number);
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
        }
    }
}

/// Calls that were made, until the attacker had ruined itself.
fn attack(seed: u64, steps: u64) -> u64 {
    let machine = Machine::booted();
    let root = machine.running();
    let arena = arena(&machine);
    let before = bystanders(&machine, root);
    let mut dice = Dice(seed);
    let mut done = 0;
    let mut ruined = [false; ATTACKED as usize];
    for step in 0..steps {
        let rank = dice.below(ATTACKED);
        machine.on_core(rank);
        if !arena.enter() {
            ruined[rank as usize] = true;
            if ruined.iter().all(|&ruined| ruined) {
                break;
            }
            continue;
        }
        done = step;
        arena.step(&mut dice);
        if step % 64 == 0 {
            check(&machine, root, &before);
        }
    }
    check(&machine, root, &before);
    assert!(machine.asked.borrow().is_empty(), "the partition failed");
    done
}

/// Steps of one attack at most.
const STEPS: u64 = 10_000;

fn attacks(calls: u64) {
    let mut done = 0;
    for seed in 1.. {
        done += attack(seed << 17, STEPS);
        if done >= calls {
            std::println!("{seed} attacks");
            return;
        }
    }
}

#[test]
fn a_million_calls_change_nothing_that_is_not_the_callers() {
    attacks(1_000_000);
}

#[test]
#[ignore = "takes half an hour"]
fn a_hundred_million_calls_change_nothing_that_is_not_the_callers() {
    attacks(100_000_000);
}
