//! A device that interrupts as often as possible: a PL011 with a transmit interrupt that is never
//! cleared
//!
//! The UART raises its level-triggered line when it has sent, and this program never clears the
//! interrupt (Arm DDI 0183, 2.8): after each interrupt the next one is pending immediately. The
//! argument words `uart=ADDRESS` and `line=INTID` select it.
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

/// Address of its registers, or 0.
static DEVICE: AtomicUsize = AtomicUsize::new(0);
/// Its interrupt, or 0.
static LINE: AtomicU64 = AtomicU64::new(0);

/// Maps the device, if the arguments select it. Returns its interrupt.
pub(crate) fn open(first: &mut First, info: &GuestInfo) -> Result<Option<u64>, Status> {
    let (Some(address), Some(line)) = (argument(info, "uart"), argument(info, "line")) else {
        return Ok(None);
    };
    let device = first.map(first::DEVICES, address / PAGE_SIZE, 1, Rights::Write)?;
    DEVICE.store(device as usize, Relaxed);
    LINE.store(line, Relaxed);
    Ok(Some(line))
}

/// Starts the device.
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

/// Completes one of its interrupts.
pub(crate) fn complete() {
    let line = LINE.load(Relaxed);
    if line != 0 {
        // Rejected if no interrupt is held: then the next one will be.
        let _held = call(first::INTERRUPT, Operation::Complete, [line]);
    }
}
