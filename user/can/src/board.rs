//! The board around the controller: Kvaser PCIcan-S
//!
//! An AMCC S5920 makes PCI of a local bus with an SJA1000 on it: its own registers behind the first
//! base address register, those of the controller behind the second, one byte each.
#![expect(unsafe_code, reason = "the function's registers are mapped")]

use bulkhead_abi::guest::Function;
use bulkhead_component::device::{Device, Other, Registers};
use bulkhead_sja1000::Registers as Controller;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

const BRIDGE: usize = 0;
const CONTROLLER: usize = 1;
/// Registers of the controller in use: one chip.
const BYTES: u64 = 0x20;
/// S5920: interrupt control; interrupts of the local bus are let through (data book, 4.8).
const INTCSR: usize = 0x38;
const ADD_ON_INTERRUPTS: u32 = 1 << 13;

/// The controller's registers.
pub(crate) struct Board {
    base: AtomicU64,
    /// The controller has been set up.
    pub(crate) ready: AtomicBool,
}

impl Board {
    pub(crate) const fn new() -> Self {
        Self {
            base: AtomicU64::new(0),
            ready: AtomicBool::new(false),
        }
    }

    /// From now on the registers are those of the device.
    pub(crate) fn connect(&self, device: &Device) {
        self.base.store(device.bar(CONTROLLER).base(), Relaxed);
    }

    fn registers(&self) -> Registers {
        let base = self.base.load(Relaxed);
        // SAFETY: what the boot component mapped for the second register, or nothing yet.
        unsafe { Registers::at(base, if base == 0 { 0 } else { BYTES }) }
    }
}

impl Controller for &Board {
    fn read(&self, register: u8) -> u8 {
        self.registers().read(register.into())
    }

    fn write(&self, register: u8, value: u8) {
        self.registers().write(register.into(), value);
    }
}

pub(crate) fn open(function: &Function) -> Result<Device, Other> {
    // SAFETY: from the component's own page: the boot component has mapped what it names.
    unsafe { Device::open(function) }
}

pub(crate) fn let_interrupts_through(device: &Device) {
    let bridge = device.bar(BRIDGE);
    bridge.write_word(INTCSR, bridge.read_word(INTCSR) | ADD_ON_INTERRUPTS);
}
