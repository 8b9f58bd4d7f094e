//! A device that interrupts as fast as it is let: a PL011 whose transmitter is never satisfied
//!
//! It raises its line, a level, when it has sent, and nobody clears that at the device (Arm DDI 0183, 2.8):
//! each time an interrupt has been dealt with the next one is there. The argument words `uart=ADDRESS`
//! and `line=INTID` ask for it.
#![expect(unsafe_code, reason = "registers of a device")]

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::GuestInfo;
use bulkhead_abi::kernel::{Operation, Rights, Status, first};
use bulkhead_component::First;
use bulkhead_component::call::call;
use bulkhead_component::first::argument;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};

/// Registers of the PL011 (Arm DDI 0183, 3.2).
const DATA: usize = 0x00;
const CONTROL: usize = 0x30;
const MASK: usize = 0x38;
/// UARTEN and TXE.
const ENABLED: u32 = 1 | 1 << 8;
/// TXIM.
const TRANSMIT: u32 = 1 << 5;

/// Where its registers are, or 0.
static DEVICE: AtomicUsize = AtomicUsize::new(0);
/// Its interrupt, or 0.
static LINE: AtomicU64 = AtomicU64::new(0);

/// Maps it, if it is asked for; its interrupt.
pub(crate) fn open(first: &mut First, info: &GuestInfo) -> Result<Option<u64>, Status> {
    let (Some(address), Some(line)) = (argument(info, "uart"), argument(info, "line")) else {
        return Ok(None);
    };
    let device = first.map(first::DEVICES, address / PAGE_SIZE, 1, Rights::Write)?;
    DEVICE.store(device as usize, Relaxed);
    LINE.store(line, Relaxed);
    Ok(Some(line))
}

/// Lets it begin.
pub(crate) fn raise() {
    let device = DEVICE.load(Relaxed);
    if device == 0 {
        return;
    }
    for (register, value) in [(CONTROL, ENABLED), (MASK, TRANSMIT), (DATA, b'!'.into())] {
        let address: *mut u32 = core::ptr::with_exposed_provenance_mut(device + register);
        // SAFETY: a register of the device, mapped before.
        unsafe { address.write_volatile(value) };
    }
}

/// One interrupt of it has been dealt with.
pub(crate) fn complete() {
    let line = LINE.load(Relaxed);
    if line != 0 {
        // Refused where none is held: then the next one will be.
        let _held = call(first::INTERRUPT, Operation::Complete, [line]);
    }
}
