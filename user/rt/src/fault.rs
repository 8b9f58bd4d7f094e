//! Fault reports, in the names of the description

use crate::call::{Answer, call};
use crate::first::image_end;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::stack_top;
use bulkhead_abi::kernel::{Operation, STACK_TOP, ThreadWord};
use bulkhead_formats::archive::Component;
use bulkhead_formats::syndrome::deed;
use core::fmt::Arguments;
use core::ops::Range;

/// Prints which thread faulted, how and where; `thread` is a capability to the component's thread of that
/// number.
/// Returns the syndrome (Arm ARM D17.2.37).
///
/// # Errors
/// The kernel's refusal to describe the thread.
pub fn report(partition: &str, component: &Component<'_>, number: u64, thread: u64) -> Answer {
    let pages = u64::from(component.wiring.stack_pages);
    let guard_end = stack_top(number, pages) - pages * PAGE_SIZE;
    let name = format_args!("{partition}.{}", component.name());
    tell(name, thread, &(guard_end - PAGE_SIZE..guard_end))
}

/// Prints what a pipe function of a component did, how and where; `thread` is a capability to the stage's thread that executed it.
/// Returns the syndrome.
///
/// # Errors
/// The kernel's refusal to describe the thread.
pub fn report_job(partition: &str, component: &Component<'_>, thread: u64) -> Answer {
    let pages = u64::from(component.wiring.stack_pages);
    let lowest = stack_top(component.wiring.stacks().into(), pages);
    let name = format_args!("{partition}.{}", component.name());
    // Addresses among the stacks that are not mapped are their guards.
    tell(name, thread, &(lowest..stack_top(0, pages)))
}

/// Does so for a thread of this component, by its index. Stacks lie behind the component's image,
/// with unmapped pages below them.
///
/// # Errors
/// The kernel's refusal to describe the thread.
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
