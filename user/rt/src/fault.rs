//! Faults, in the names of the description

use crate::call::{Answer, call};
use crate::first::image_end;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::kernel::{Operation, STACK_TOP, ThreadWord};
use bulkhead_formats::archive::Component;
use bulkhead_formats::syndrome::deed;
use core::fmt::Arguments;
use core::ops::Range;

/// Names who faulted, how and where on the console; `thread` is a capability to the component's thread. The syndrome
/// (Arm ARM D17.2.37).
///
/// # Errors
/// The kernel's refusal to tell of the thread.
pub fn report(partition: &str, component: &Component<'_>, thread: u64) -> Answer {
    let stack = STACK_TOP - u64::from(component.wiring.stack_pages) * PAGE_SIZE;
    let name = format_args!("{partition}.{}", component.name());
    tell(name, thread, &(stack - PAGE_SIZE..stack))
}

/// The same of a thread of this component, by its index. Behind its image it has stacks, and pages below
/// them that are not mapped.
///
/// # Errors
/// The kernel's refusal to tell of the thread.
pub fn report_own(index: u64, thread: u64) -> Answer {
    tell(
        format_args!("thread {index}"),
        thread,
        &(image_end()..STACK_TOP),
    )
}

fn tell(name: Arguments<'_>, thread: u64, guards: &Range<u64>) -> Answer {
    let word = |word: ThreadWord| call(thread, Operation::Inspect, [word as u64]);
    let syndrome = word(ThreadWord::FaultSyndrome)?;
    let deed = deed(syndrome, word(ThreadWord::FaultAddress)?, guards);
    println!("{name}: {deed} at {:#x}", word(ThreadWord::FaultPc)?);
    Ok(syndrome)
}
