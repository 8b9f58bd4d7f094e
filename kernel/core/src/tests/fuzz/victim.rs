//! A component beside the attacker: it is invoked, invokes the attacker, and has a thread that the attacker schedules
//!
//! The component executes at places of its own, random ones, that the attacker cannot guess. When a thread executes in it again,
//! at the same depth of invocations, it is where it was.

use super::super::{Machine, Workshop};
use super::Dice;
use crate::Hal;
use crate::frame::Ref;
use crate::object::{RETIRED, Thread};
use bulkhead_abi::kernel::{Kind, Operation, first};
use std::cell::RefCell;
use std::collections::BTreeMap;

extern crate std;

/// PC and SP at which it is invoked.
const ENTRY: [u64; 2] = [0x40_0300, 0];
/// PC and SP at which its own thread starts.
const START: [u64; 2] = [0x41_0000, 0x41_8000];

/// Slot of the victim's thread in the table of the first component.
pub(super) struct Victim {
    component: Ref,
    /// PC and SP by thread and depth.
    places: RefCell<BTreeMap<(u64, u64), [u64; 2]>>,
}

/// Makes it: slots of the capability to invoke it and of its thread, which is under the attacker's scheduler.
pub(super) fn place(shop: &Workshop<'_>, callback: u64, [nested, time]: [u64; 2]) -> [u64; 2] {
    let machine = shop.machine;
    let [component, leaf] = shop.component(4);
    machine.must(leaf, Operation::Copy, &[1, callback]);
    let entry = shop.entry(component, ENTRY[0], 9);
    let words = [component, START[0], START[1]];
    let thread = shop.make(Operation::MakeThread, &words);
    machine.must(thread, Operation::Bind, &[nested, 2, time]);
    [entry, thread]
}

impl Victim {
    /// The one with the thread behind that slot.
    pub(super) fn of(machine: &Machine, thread: u64) -> Self {
        let thread = machine.object_of(thread);
        let thread = Thread::new(thread, machine.frame(thread));
        Self {
            component: thread.component().reference(),
            places: RefCell::default(),
        }
    }

    /// Returns whether the running thread executes in it.
    pub(super) fn executes(&self, machine: &Machine) -> bool {
        machine.running().component().reference() == self.component
    }

    /// Takes one step of it: goes on elsewhere, returns, or invokes the attacker.
    pub(super) fn step(&self, machine: &Machine, dice: &mut Dice) {
        match dice.below(4) {
            0 => _ = machine.call(first::RETURN, 0, [0; 5]),
            1 => _ = machine.call(1, 0, [0; 5]),
            2 => _ = machine.call(2, Operation::Identify as u64, [0; 5]),
            _ => {
                let place = [dice.roll(), dice.roll()];
                machine.processor().context.set(place);
                let mut places = self.places.borrow_mut();
                places.insert(key(machine.running()), place);
            }
        }
    }

    /// Compares where the running thread is in it with where it was.
    pub(super) fn observe(&self, machine: &Machine) {
        let mut places = self.places.borrow_mut();
        places.retain(|&(at, depth), _| {
            let at = Ref::offered(at);
            let thread = Thread::new(at, machine.frame(at));
            let is_thread = machine
                .state(at)
                .is_some_and(|state| state.is(Kind::Thread));
            is_thread && thread.state().get() != RETIRED && thread.depth().get() >= depth
        });
        if !self.executes(machine) {
            return;
        }
        let thread = machine.running();
        let is = machine.processor().context.get();
        let starts = if thread.depth().get() == 0 {
            START
        } else {
            ENTRY
        };
        let was = *places.entry(key(thread)).or_insert(starts);
        assert_eq!(is, was, "a foreign PC or SP");
    }
}

fn key(thread: Thread<'_>) -> (u64, u64) {
    (thread.at().address(), thread.depth().get())
}
