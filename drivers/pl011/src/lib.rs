//! PL011 UART
//!
//! Polled output, for messages before a guest owns the device (Arm DDI 0183, chapter 3).
#![no_std]
#![expect(
    unsafe_code,
    reason = "device registers lie at an address that the board tells"
)]

use core::fmt;
use core::ptr::{read_volatile, with_exposed_provenance_mut, write_volatile};

const DATA: usize = 0x00;
const FLAGS: usize = 0x18;
const LINE_CONTROL: usize = 0x2C;
const CONTROL: usize = 0x30;

const TRANSMIT_FULL: u32 = 1 << 5;
const BUSY: u32 = 1 << 3;
const EIGHT_BITS_FIFO: u32 = 0x70;
const ENABLE_TRANSMIT: u32 = 0x101;
/// Polls before a byte is given up: a UART that is not there must not stop a boot.
const PATIENCE: u32 = 1_000_000;

/// A PL011 for output.
#[derive(Debug)]
pub struct Pl011 {
    base: usize,
}

impl Pl011 {
    /// Takes the UART at `base` and enables its transmitter; the bit rate stays.
    ///
    /// # Safety
    /// A PL011 is mapped at `base` as device memory, and no other code uses it meanwhile.
    #[must_use]
    pub unsafe fn new(base: usize) -> Self {
        let uart = Self { base };
        uart.write(LINE_CONTROL, EIGHT_BITS_FIFO);
        uart.write(CONTROL, ENABLE_TRANSMIT);
        uart
    }

    /// Waits, not for ever, until everything has left.
    pub fn flush(&self) {
        self.wait_while(BUSY);
    }

    fn send(&self, byte: u8) {
        self.wait_while(TRANSMIT_FULL);
        self.write(DATA, u32::from(byte));
    }

    fn wait_while(&self, flag: u32) {
        for _ in 0..PATIENCE {
            if self.read(FLAGS) & flag == 0 {
                return;
            }
        }
    }

    fn read(&self, offset: usize) -> u32 {
        // SAFETY: a register of the device promised to `new`.
        unsafe { read_volatile(with_exposed_provenance_mut::<u32>(self.base + offset)) }
    }

    fn write(&self, offset: usize, value: u32) {
        // SAFETY: a register of the device promised to `new`.
        unsafe {
            write_volatile(
                with_exposed_provenance_mut::<u32>(self.base + offset),
                value,
            )
        }
    }
}

impl fmt::Write for Pl011 {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if byte == b'\n' {
                self.send(b'\r');
            }
            self.send(byte);
        }
        Ok(())
    }
}
