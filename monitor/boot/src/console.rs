//! Boot console, and the end of a boot that fails
#![expect(unsafe_code, reason = "the UART's address comes from the header")]

use crate::refusal::Refusal;
use bulkhead_abi::device::PL011;
use bulkhead_arch::wait;
use bulkhead_pl011::Pl011;
use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The UART; 0 = there is none. With the caches off, plain loads and stores only.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// Reports on the UART of that kind from now on, if it has a driver.
pub(crate) fn open(base: u64, kind: u64) {
    if kind == PL011 {
        BASE.store(base as usize, Relaxed);
    }
}

/// One line on the boot console, if there is one.
pub(crate) fn say(line: core::fmt::Arguments<'_>) {
    let base = BASE.load(Relaxed);
    if base == 0 {
        return;
    }
    // SAFETY: the header names the board's PL011; before the guests start only this core uses it.
    let mut uart = unsafe { Pl011::new(base) };
    // Writing to a UART cannot fail.
    let _ = writeln!(uart, "bulkhead: {line}");
    uart.flush();
}

/// Says why, and stays.
pub(crate) fn refuse(refusal: &Refusal) -> ! {
    say(format_args!("not started: {refusal}"));
    halt()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    say(format_args!("not started: defect of the boot part: {info}"));
    halt()
}

/// Ends a boot.
pub(crate) fn halt() -> ! {
    loop {
        wait::wfi();
    }
}
