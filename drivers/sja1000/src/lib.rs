//! SJA1000 CAN controller, PeliCAN mode
//!
//! Philips SJA1000 stand-alone CAN controller, data sheet of 2000-01-04. The registers are behind
//! [`Registers`], so that the driver runs in tests on a model of them. It keeps no frames: it says what
//! an interrupt brought, takes frames out one by one and puts one in.
//!
//! A controller that made too many errors takes no part in the bus any more (*bus-off*) and stands in
//! reset mode. [`Sja1000::attend`] starts it again; it comes back after the recovery that the protocol
//! demands, 128 times 11 recessive bits (ISO 11898-1, 8.3.4).

#![no_std]
#![forbid(unsafe_code)]

mod frame;
pub mod registers;
#[cfg(test)]
mod tests;

pub use frame::Malformed;

use bulkhead_abi::can::Frame;
use registers as r;

/// The registers of a controller, one byte each.
pub trait Registers {
    /// Reads one.
    fn read(&self, register: u8) -> u8;
    /// Writes one.
    fn write(&self, register: u8, value: u8);
}

/// How fast the bus is, and how the controller is wired to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Contents of the two bus timing registers.
    pub timing: [u8; 2],
    /// Bits per second.
    pub bits_per_s: u32,
    /// Clock divider, with the bit of PeliCAN mode.
    pub clock_divider: u8,
    /// Output control.
    pub output: u8,
}

impl Settings {
    /// 500 kbit/s by a crystal of 16 MHz: 16 quanta of 125 ns a bit, sampled at 87.5 % (CiA 301); input
    /// comparator bypassed, clock passed on, both outputs push-pull, as on the Kvaser PCIcan.
    pub const PCICAN_KBIT_500: Self = Self {
        timing: [0x00, 0x1c],
        bits_per_s: 500_000,
        clock_divider: 1 << 7 | 1 << 6 | 7,
        output: 0xda,
    };
}

/// How often things went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of overruns: frames were lost because the receive buffer was full.
    pub overruns: u32,
    /// Frames that are none.
    pub malformed: u32,
    /// Times at which the controller left the bus, and was brought back.
    pub bus_offs: u32,
}

/// Why a frame is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The former one is still on its way.
    Busy,
    /// The controller is off the bus.
    Off,
}

/// There is no controller that answers like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absent;

/// A controller.
#[derive(Clone, Copy, Debug)]
pub struct Sja1000<R> {
    registers: R,
    settings: Settings,
}

impl<R: Registers> Sja1000<R> {
    /// Starts a controller: everything is received.
    ///
    /// # Errors
    /// [`Absent`].
    pub fn start(registers: R, settings: Settings) -> Result<Self, Absent> {
        let controller = Self::running(registers, settings);
        controller.enter();
        if controller.registers.read(r::MODE) & r::RESET_MODE == 0 {
            return Err(Absent);
        }
        controller.set_up();
        controller.leave();
        Ok(controller)
    }

    /// Returns a further sender for a controller that was started before.
    #[must_use]
    pub const fn running(registers: R, settings: Settings) -> Self {
        Self {
            registers,
            settings,
        }
    }

    /// Puts the controller into the state in which too many errors leave it.
    pub fn leave_bus(&self) {
        self.enter();
    }

    fn enter(&self) {
        self.registers.write(r::MODE, r::RESET_MODE);
    }

    /// Normal operation with two acceptance filters, as Linux has it: QEMU before 8.2.1 misreads a single one and drops
    /// frames with odd identifiers.
    fn leave(&self) {
        self.registers.write(r::MODE, r::OPERATION);
    }

    /// In reset mode: all that operation needs.
    fn set_up(&self) {
        let write = |register, value| self.registers.write(register, value);
        write(r::CLOCK_DIVIDER, self.settings.clock_divider);
        for (register, value) in r::BUS_TIMING.into_iter().zip(self.settings.timing) {
            write(register, value);
        }
        write(r::OUTPUT_CONTROL, self.settings.output);
        for byte in 0..4 {
            write(r::ACCEPTANCE + byte, 0);
            write(r::ACCEPTANCE + 4 + byte, 0xff);
        }
        r::ERRORS
            .into_iter()
            .for_each(|register| write(register, 0));
        write(r::INTERRUPT_ENABLE, r::INTERRUPTS);
    }

    /// After an interrupt: acknowledges it, brings a controller that is off the bus back, and counts.
    /// Frames are then to be taken out until there are none.
    pub fn attend(&self, counters: &mut Counters) {
        let _acknowledged = self.registers.read(r::INTERRUPT);
        let status = self.registers.read(r::STATUS);
        if status & r::OVERRUN != 0 {
            counters.overruns = counters.overruns.saturating_add(1);
            self.registers.write(r::COMMAND, r::CLEAR_OVERRUN);
        }
        if self.is_off() {
            counters.bus_offs = counters.bus_offs.saturating_add(1);
            self.set_up();
            self.leave();
        }
    }

    /// Off the bus: the controller has put itself into reset mode.
    fn is_off(&self) -> bool {
        self.registers.read(r::MODE) & r::RESET_MODE != 0
    }

    /// Takes the oldest frame out.
    pub fn receive(&self, counters: &mut Counters) -> Option<Frame> {
        // As often as the receive buffer of 64 bytes has frames, of 3 bytes at least.
        for _ in 0..22 {
            if self.registers.read(r::STATUS) & r::RECEIVED == 0 {
                return None;
            }
            let bytes = core::array::from_fn(|byte| self.registers.read(r::FRAME + byte as u8));
            self.registers.write(r::COMMAND, r::RELEASE);
            match frame::decode(&bytes) {
                Ok(frame) => return Some(frame),
                Err(Malformed) => counters.malformed = counters.malformed.saturating_add(1),
            }
        }
        None
    }

    /// Puts a frame on the bus.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn send(&self, frame: &Frame) -> Result<(), Refused> {
        if self.is_off() {
            return Err(Refused::Off);
        }
        if self.registers.read(r::STATUS) & r::TRANSMITTER_FREE == 0 {
            return Err(Refused::Busy);
        }
        let (bytes, length) = frame::encode(frame);
        for (byte, &value) in (0..).zip(bytes.iter().take(length)) {
            self.registers.write(r::FRAME + byte, value);
        }
        self.registers.write(r::COMMAND, r::TRANSMIT);
        Ok(())
    }
}
