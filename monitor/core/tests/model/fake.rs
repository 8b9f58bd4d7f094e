//! A processor without instructions: memory is a map, time is a counter, waiting ends the test

use crate::world::{MEMORY, UNMAPPED};
use bulkhead_monitor_core::{Core, Frame, Interface, Machine, Transfer};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Externally visible action of a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Write {
        pa: u64,
        bytes: u64,
        value: u64,
    },
    Notify,
    Interface(Interface, u64),
    Ipi(u64),
    Alarm(u64),
    Forget(u64),
    ForgetStage1,
    Transfer(Transfer, u64, u64, u64),
    Publish,
    Reset,
    Disown,
    SError,
    ToEl1 {
        esr: u64,
        far: u64,
        elr: u64,
        spsr: u64,
    },
}

/// How a call into the monitor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The trap is handled, the guest goes on.
    Returned,
    /// A guest was entered anew.
    Resumed,
    /// The core waits at EL2.
    Waits,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) now: Cell<u64>,
    pub(crate) memory: RefCell<HashMap<u64, u8>>,
    pub(crate) effects: RefCell<Vec<Effect>>,
    pub(crate) vbar: Cell<u64>,
    pub(crate) sctlr: Cell<u64>,
    /// Value of bytes that were never written.
    pub(crate) background: Cell<u8>,
    /// Waits that return before one ends the call.
    pub(crate) patience: Cell<u32>,
    /// Actions of other cores while this one spins.
    pub(crate) meanwhile: RefCell<Option<Box<dyn Fn()>>>,
}

/// A core's machine.
#[derive(Clone, Copy)]
pub(crate) struct Fake(pub(crate) &'static State);

pub(crate) const FREQUENCY: u64 = 1_000_000;

impl Fake {
    pub(crate) fn new() -> Self {
        Self(Box::leak(Box::default()))
    }

    pub(crate) fn run(self, call: impl FnOnce()) -> End {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(()) => End::Returned,
            Err(cause) => match cause.downcast::<End>() {
                Ok(end) => *end,
                Err(defect) => resume_unwind(defect),
            },
        }
    }

    fn note(self, effect: Effect) {
        self.0.effects.borrow_mut().push(effect);
    }

    pub(crate) fn take_effects(self) -> Vec<Effect> {
        self.0.effects.take()
    }

    pub(crate) fn read(self, pa: u64, bytes: u64) -> u64 {
        let memory = self.0.memory.borrow();
        let byte = |pa: u64| memory.get(&pa).copied().unwrap_or(self.0.background.get());
        (0..bytes)
            .rev()
            .fold(0, |value, at| value << 8 | u64::from(byte(pa + at)))
    }

    pub(crate) fn poke(self, pa: u64, bytes: u64, value: u64) {
        let mut memory = self.0.memory.borrow_mut();
        for at in 0..bytes {
            memory.insert(pa + at, (value >> (8 * at)) as u8);
        }
    }

    fn write(self, pa: u64, bytes: u64, value: u64) {
        assert_eq!(pa % bytes, 0, "unaligned access to {pa:#x}");
        self.note(Effect::Write { pa, bytes, value });
        self.poke(pa, bytes, value);
    }
}

impl Machine for Fake {
    fn counter(self) -> u64 {
        self.0.now.set(self.0.now.get() + 1);
        self.0.now.get()
    }

    fn frequency(self) -> u64 {
        FREQUENCY
    }

    fn pause(self) {
        self.0.now.set(self.0.now.get() + FREQUENCY / 10);
        if let Some(act) = self.0.meanwhile.borrow().as_ref() {
            act();
        }
    }

    fn wait(self, _mask: u64) {
        match self.0.patience.get() {
            0 => resume_unwind(Box::new(End::Waits)),
            count => self.0.patience.set(count - 1),
        }
    }

    fn alarm(self, ticks: u64) {
        self.note(Effect::Alarm(ticks));
    }

    fn notify(self) {
        self.note(Effect::Notify);
    }

    fn send_ipi(self, value: u64) {
        self.note(Effect::Ipi(value));
    }

    fn read32(self, pa: u64) -> u32 {
        self.read(pa, 4) as u32
    }

    fn write32(self, pa: u64, value: u32) {
        self.write(pa, 4, u64::from(value));
    }

    fn write8(self, pa: u64, value: u8) {
        self.write(pa, 1, u64::from(value));
    }

    fn read64(self, pa: u64) -> u64 {
        self.read(pa, 8)
    }

    fn write64(self, pa: u64, value: u64) {
        self.write(pa, 8, value);
    }

    fn order(self) {}

    fn translate(self, ipa: u64) -> Option<u64> {
        (ipa < UNMAPPED).then_some(ipa + MEMORY)
    }

    fn transfer(self, what: Transfer, to: u64, from: u64, size: u64) {
        assert!(
            size > 0 && size.is_multiple_of(64),
            "{size} bytes are no lines"
        );
        self.note(Effect::Transfer(what, to, from, size));
    }

    fn publish(self) {
        self.note(Effect::Publish);
    }

    fn forget_translations(self, vttbr: u64) {
        self.note(Effect::Forget(vttbr));
    }

    fn forget_stage1(self) {
        self.note(Effect::ForgetStage1);
    }

    fn interface(self, register: Interface, written: Option<u64>) -> u64 {
        if let Some(value) = written {
            self.note(Effect::Interface(register, value));
        }
        0x50 + register as u64
    }

    fn vbar(self) -> u64 {
        self.0.vbar.get()
    }

    fn sctlr(self) -> u64 {
        self.0.sctlr.get()
    }

    fn set_el1_syndrome(self, esr: u64, frame: &Frame) {
        let (far, elr, spsr) = (frame.far(), frame.elr(), frame.spsr());
        self.note(Effect::ToEl1 {
            esr,
            far,
            elr,
            spsr,
        });
    }

    fn raise_serror(self) {
        self.note(Effect::SError);
    }

    fn reset(self, core: &'static Core) {
        for register in 0..31 {
            core.frame.set_x(register, 0);
        }
        self.note(Effect::Reset);
    }

    fn disown(self) {
        self.note(Effect::Disown);
    }

    fn resume(self, _: &'static Core) -> ! {
        resume_unwind(Box::new(End::Resumed))
    }
}
