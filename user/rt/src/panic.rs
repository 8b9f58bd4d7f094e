//! A panic is a fault of the component
#![expect(unsafe_code, reason = "ends by an undefined instruction")]

use core::arch::asm;
use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    crate::println!("{info}");
    // SAFETY: faults; the kernel reports it to the scheduler or the client.
    unsafe { asm!("udf #1", options(noreturn)) }
}
