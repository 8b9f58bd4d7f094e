//! Faults, in the names of the description

use crate::call::{Answer, call};
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::kernel::{Operation, STACK_TOP, ThreadWord};
use bulkhead_formats::archive::Component;
use bulkhead_formats::syndrome::deed;

/// Names who faulted, how and where on the console; `thread` is a capability to the component's thread. The syndrome
/// (Arm ARM D17.2.37).
///
/// # Errors
/// The kernel's refusal to tell of the thread.
pub fn report(partition: &str, component: &Component<'_>, thread: u64) -> Answer {
    let word = |word: ThreadWord| call(thread, Operation::Inspect, [word as u64]);
    let syndrome = word(ThreadWord::FaultSyndrome)?;
    let stack = STACK_TOP - u64::from(component.wiring.stack_pages) * PAGE_SIZE;
    println!(
        "{partition}.{}: {} at {:#x}",
        component.name(),
        deed(
            syndrome,
            word(ThreadWord::FaultAddress)?,
            &(stack - PAGE_SIZE..stack)
        ),
        word(ThreadWord::FaultPc)?,
    );
    Ok(syndrome)
}
