//! Measures the kernel's primitives
#![no_std]
#![no_main]

use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::{First, clock, console, println};

bulkhead_component::component!(run);

fn run(mut first: First) -> ! {
    let Err(status) = measure(&mut first);
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn measure(first: &mut First) -> Result<core::convert::Infallible, Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    println!("hello from EL0");
    call(first::MONITOR, Operation::Up, [])?;
    loop {
        clock::wait_for_interrupt();
    }
}
