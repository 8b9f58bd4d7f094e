//! An isolated stage of a pipeline
//!
//! Takes a message, counts itself among the stages that had it, and passes it on. The capability by
//! which it invokes the pipeline's scheduler identifies the stage; neither the queues nor other
//! stages are mapped. With the argument word `fault=NAME`, the component of that name tries to
//! access them after some messages.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "does wrong where it is asked to")]

use bulkhead_abi::component::stages;
use bulkhead_abi::kernel::SCB_ADDRESS;
use bulkhead_component::Environment;
use bulkhead_component::invocation::invoke;
use core::convert::Infallible;

bulkhead_component::application!(run);

/// Messages before the injected fault.
const INNOCENT: u64 = 100;

fn run(env: &Environment) -> Result<Infallible, &'static str> {
    let line = env.interface(stages::NAME).ok_or("it needs no `stages`")?;
    let culprit = env.argument("fault") == Some(env.name());
    let mut messages = 0;
    loop {
        let message = ask(line, stages::TAKE, 0)?;
        messages += 1;
        if culprit && messages > INNOCENT {
            write_where_the_scheduler_has_its_block();
        }
        ask(line, stages::PASS, stages::counted(message))?;
    }
}

#[inline(always)]
fn ask(line: u64, what: u64, word: u64) -> Result<u64, &'static str> {
    let reply = invoke(line, [what, word, 0, 0, 0]);
    match reply.status {
        0 => Ok(reply.value),
        _ => Err("the pipeline does not answer"),
    }
}

fn write_where_the_scheduler_has_its_block() {
    let block = core::ptr::with_exposed_provenance_mut::<u64>(SCB_ADDRESS as usize);
    // SAFETY: it is not safe; the fault is the purpose.
    unsafe { block.write_volatile(0) };
}
