//! A component calls anything with anything, on two cores
//!
//! The component makes schedulers, divides time, notifies across cores, asks the monitor, and writes into the pages that
//! schedulers share with the kernel. Oracles after each step: a component beside it, into which its threads are
//! invoked and of which it schedules a thread, executes where it left off and nowhere else ([`victim`]); no component
//! finds a register that another one left ([`use_registers`]); the root
//! of each core runs again at its time-out, and no later than after the time that it gave ([`Arena::observe`]).
//! Every 64 steps: the count of every page is what refers to it, no component maps a kernel object, no page is mapped
//! writable and executable, the void is
//! empty, and nothing of the first component has changed ([`consistency`]).

extern crate std;

mod calls;
mod consistency;
mod victim;

use super::{Machine, Workshop};
use crate::Hal;
use crate::frame::PAGE;
use crate::object::{Thread, WAITING};
use bulkhead_abi::kernel::{DELEGATES, Kind, Operation, ThreadWord, first};
use calls::Successes;
use consistency::{bystanders, check};
use std::cell::Cell;
use victim::Victim;

/// The attacker's identity, thread index and first slots.
const ATTACKER: u64 = 2;
const MEMORY: u64 = 1;
/// Pages it may do anything with.
const OWN_PAGES: u64 = 24;
/// Words of the SCB page that it scribbles over.
const SHARED_WORDS: u64 = 512;
/// First identity of components that it may make, and how many.
const IDENTITIES: [u64; 2] = [8, 4];
/// First interrupt line that it has, and how many; the level is one of them.
const LINES: [u64; 2] = [40, 16];
/// Slots of its leaf that it is given.
const GIVEN_SLOTS: u64 = 27;
/// Cycles from one reading of the clock to the next.
const STEP: u64 = 3;
/// Cycles that the root gives at a time, and the longest until its time-out.
const GIVEN: u64 = 20_000;
/// Cycles of the kernel that are charged to the root, at each of its activations, or to no thread, at an interrupt.
const SLACK: [u64; 2] = [400, 100];

/// Asks for the state of a thread.
const STATE: [u64; 1] = [ThreadWord::State as u64];

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
const ATTACKED: usize = 2;

/// Time on a core: what its root gave, and what was used.
#[derive(Default)]
struct Account {
    given: Cell<u64>,
    used: Cell<u64>,
    /// When the attacker was last looked at, while it runs.
    since: Cell<Option<u64>>,
    /// The root's time-out.
    timeout: Cell<u64>,
}

/// Threads in a component of their own, one per core, with everything a component may be given.
struct Arena<'m> {
    machine: &'m Machine,
    /// Slots of each core's thread and its time, of the time of the core's root, and of the thread's sending side.
    threads: [[u64; 4]; ATTACKED],
    accounts: [Account; ATTACKED],
    victim: Victim,
    /// Requests to the monitor for which the attacker has the capability.
    requests: Cell<usize>,
    successes: &'m Successes,
}

fn arena<'m>(machine: &'m Machine, successes: &'m Successes) -> Arena<'m> {
    let shop = Workshop::new(machine);
    let [component, leaf] = shop.component(ATTACKER);
    let [server, server_leaf] = shop.component(3);
    let thread = shop.make(Operation::MakeThread, &[component, 0x40_1000, 0x40_8000]);
    let time = shop.make(Operation::MakeTime, &[first::TIME, 0, 9]);
    machine.must(thread, Operation::Bind, &[first::SCHEDULER, 1, time]);
    let sender = shop.slots.next();
    machine.must(thread, Operation::Sender, &[sender, DELEGATES]);
    let helper = shop.make(Operation::MakeThread, &[component, 0x40_5000, 0]);
    let nested = shop.scheduler([thread, component, first::SCHEDULER]);
    machine.must(first::SCHEDULER, Operation::Grant, &[nested, 3]);
    machine.must(helper, Operation::Bind, &[nested, 1, time]);
    let entry = shop.entry(server, 0x40_0100, 7);
    let back = shop.entry(component, 0x40_0200, 8);
    machine.must(server_leaf, Operation::Copy, &[1, back]);
    let slice = shop.make(Operation::MakeTime, &[first::TIME, GIVEN, 9]);
    let receive = shop.slots.next();
    machine.must(thread, Operation::Receiver, &[receive]);
    let there = further(&shop, component, leaf);
    let [victim, victims] = victim::place(&shop, back, [nested, time]);
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
    // The core that is off, translation tables of levels 2 and 3, and the rest.
    let off = first::CORES + ATTACKED as u64;
    let pages = [2, 3].map(|level| shop.make(Operation::MakePages, &[level]));
    for (place, from) in (19..).zip([off, pages[0], pages[1], victim, victims, first::MONITOR]) {
        machine.must(leaf, Operation::Copy, &[place, from]);
    }
    let identities = [25, first::IDENTITIES, IDENTITIES[0], IDENTITIES[1]];
    machine.must(leaf, Operation::Copy, &identities);
    let lines = [26, first::INTERRUPT, LINES[0], LINES[1]];
    machine.must(leaf, Operation::Copy, &lines);
    machine.step.set(STEP);
    let arena = Arena {
        machine,
        threads: [[thread, time, first::TIME, sender], there],
        accounts: Default::default(),
        victim: Victim::of(machine, victims),
        requests: Cell::new(0),
        successes,
    };
    // The slice.
    arena.accounts[0].given.set(GIVEN);
    arena
}

/// Starts the second core, on which a thread of `component` runs under the root; its slot, its time's and that of
/// the root's time, and its sending side's.
fn further(shop: &Workshop<'_>, component: u64, leaf: u64) -> [u64; 4] {
    let machine = shop.machine;
    let page = [(); 4].map(|()| shop.page())[0];
    let [root, scheduler, all] = [(); 3].map(|()| shop.slots.next());
    let words = [first::MEMORY, page, root, first::COMPONENT, 0x40_0000];
    machine.must(first::CORES + 1, Operation::Prepare, &words);
    machine.must(first::CORES + 1, Operation::Start, &[]);
    machine.on_core(1);
    let thread = shop.make(Operation::MakeThread, &[component, 0x40_6000, 0]);
    let time = shop.make(Operation::MakeTime, &[all, 0, 9]);
    machine.must(thread, Operation::Bind, &[scheduler, 1, time]);
    let [sender, receive] = [shop.slots.next(), shop.slots.next()];
    machine.must(thread, Operation::Sender, &[sender, DELEGATES]);
    machine.must(thread, Operation::Receiver, &[receive]);
    let nested = shop.scheduler([thread, component, scheduler]);
    machine.must(scheduler, Operation::Grant, &[nested, 2]);
    for (place, from) in (13..).zip([thread, sender, receive, nested, time]) {
        machine.must(leaf, Operation::Copy, &[place, from]);
    }
    machine.on_core(0);
    [thread, time, all, sender]
}

impl Arena<'_> {
    fn account(&self) -> &Account {
        &self.accounts[self.machine.core().rank().get() as usize]
    }

    /// Has the attacker run; whether it does.
    fn enter(&self, dice: &mut Dice) -> bool {
        let machine = self.machine;
        if !machine.root_is_current() {
            return true;
        }
        // The root reads its events, gives time, and lets the attacker run, as long as it can.
        while machine.event().is_some() {}
        machine.scb(0).set(0);
        let [thread, time, all, sender] = self.threads[machine.core().rank().get() as usize];
        machine.must(all, Operation::Transfer, &[time, GIVEN]);
        let account = self.account();
        account.given.set(account.given.get() + GIVEN + SLACK[0]);
        let timeout = match dice.below(2) {
            0 => u64::MAX,
            _ => machine.now.get() + dice.below(GIVEN),
        };
        account.timeout.set(timeout);
        let words = [time, timeout, machine.epoch()];
        account.since.set(Some(machine.now.get()));
        machine.ask(thread, Operation::Dispatch, &words);
        if machine.root_is_current() && machine.must(thread, Operation::Inspect, &STATE) == WAITING
        {
            machine.ask(sender, Operation::Send, &[]);
            machine.ask(thread, Operation::Dispatch, &words);
        }
        !machine.root_is_current()
    }

    fn step(&self, dice: &mut Dice) {
        let machine = self.machine;
        machine.refuses.set(dice.below(8) == 0);
        match dice.below(32) {
            0 => {
                let word = machine.scb(dice.below(SHARED_WORDS));
                word.set(dice.word());
            }
            // One at home ends the attacker.
            1 if machine.running().depth().get() > 0 || dice.below(16) == 0 => {
                machine.fault(dice.roll());
            }
            2 => {
                let intid = dice.below(super::LEVEL + 1);
                if intid != super::LEVEL || machine.processor().active.get() == 0 {
                    machine.interrupt(intid);
                }
                let account = self.account();
                account.given.set(account.given.get() + SLACK[1]);
            }
            3 => machine.now.set(machine.now.get() + dice.below(1000)),
            4 => use_registers(machine, dice),
            5 => {
                if !self.victim.executes(machine) {
                    machine.processor().context.set([dice.roll(), dice.roll()]);
                }
            }
            _ if self.victim.executes(machine) => self.victim.step(machine, dice),
            _ => self.call(dice),
        }
    }

    /// One call of the attacker, mostly one that may succeed.
    fn call(&self, dice: &mut Dice) {
        let machine = self.machine;
        machine.now.set(machine.now.get() + dice.below(50));
        let [capability, operation, words @ ..] = if dice.below(3) == 0 {
            let operation = dice.below(1 + Operation::ALL.len() as u64);
            let [a, b, c, d, e] = [(); 5].map(|()| dice.word());
            [dice.word(), operation, a, b, c, d, e]
        } else {
            calls::plausible(machine, dice)
        };
        let monitor = machine.kind_of(capability) == Kind::Monitor as u64;
        let is_request = [Operation::Up, Operation::Fail, Operation::Ring]
            .iter()
            .any(|&request| request as u64 == operation);
        if monitor && is_request && !machine.refuses.get() {
            self.requests.set(self.requests.get() + 1);
        }
        let kind = machine.kind_of(capability);
        let caller = machine.running().at();
        machine.call(capability, operation, words);
        let caller = Thread::new(caller, machine.frame(caller));
        if caller.message(0).get() == 0 {
            self.successes.note(kind, operation);
        }
    }

    /// Checks what must hold after each step: the root runs again when its time-out has come and when what it gave is used,
    /// and the victim is where it was.
    fn observe(&self) {
        let machine = self.machine;
        machine.fire_timer();
        self.victim.observe(machine);
        assert_belongs(machine, machine.processor().thread_pointer.get());
        let account = self.account();
        let Some(since) = account.since.get() else {
            return;
        };
        let now = machine.now.get();
        account.used.set(account.used.get() + now - since);
        account.since.set(Some(now));
        if machine.root_is_current() {
            account.since.set(None);
            return;
        }
        assert!(now < account.timeout.get(), "the core is lost");
        assert_eq!(machine.running().state().get(), crate::object::READY);
        assert_ne!(
            machine.processor().timer.get(),
            u64::MAX,
            "no timer is armed"
        );
    }

    /// On one core, which alone the clock serves: no more time was used than was given.
    fn assert_time(&self) {
        let [account, _] = &self.accounts;
        let [used, given] = [account.used.get(), account.given.get()];
        assert!(used <= given, "{used} of {given}");
    }
}

/// The component that executes uses FP registers and its thread pointer. It leaves its own address in these registers,
/// and finds the address of the component that used them last.
fn use_registers(machine: &Machine, dice: &mut Dice) {
    let mark = machine.running().component().get() | dice.below(PAGE);
    machine.kernel().lend_floating_point();
    assert_belongs(machine, machine.processor().d8.replace(mark));
    if dice.below(2) == 0 {
        machine.processor().thread_pointer.set(mark);
    }
}

/// Checks that the component that executes has left what is in a register, or nothing has.
fn assert_belongs(machine: &Machine, register: u64) {
    let component = machine.running().component().get();
    let left_by = register & !(PAGE - 1);
    assert!([0, component].contains(&left_by), "a register of another");
}

/// Calls that were made, until the attacker had ruined itself.
fn attack(seed: u64, steps: u64, successes: &Successes) -> u64 {
    let machine = Machine::booted();
    let root = machine.running();
    let arena = arena(&machine, successes);
    let before = bystanders(&machine, root);
    let mut dice = Dice(seed);
    let cores = 1 + dice.below(ATTACKED as u64);
    let mut done = 0;
    let mut ruined = [false; ATTACKED];
    for step in 0..steps {
        let rank = dice.below(cores);
        machine.on_core(rank);
        arena.observe();
        if !arena.enter(&mut dice) {
            ruined[rank as usize] = true;
            if ruined.iter().take(cores as usize).all(|&ruined| ruined) {
                break;
            }
            continue;
        }
        done = step;
        arena.step(&mut dice);
        arena.observe();
        if cores == 1 {
            arena.assert_time();
        }
        if step % 64 == 0 {
            check(&machine, root, &before);
        }
    }
    check(&machine, root, &before);
    let requests = machine.requests.borrow().len();
    assert_eq!(requests, arena.requests.get(), "asked of the monitor");
    done
}

/// Steps of one attack at most.
const STEPS: u64 = 10_000;

fn attacks(calls: u64) {
    let successes = Successes::default();
    let mut done = 0;
    for seed in 1.. {
        done += attack(seed << 17, STEPS, &successes);
        if done >= calls {
            std::println!("{seed} attacks");
            break;
        }
    }
    successes.assert_all();
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
