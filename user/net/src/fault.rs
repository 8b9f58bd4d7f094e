//! Fault injection
#![expect(unsafe_code, reason = "it is one")]

use bulkhead_component::{Environment, println};
use core::arch::asm;

/// Below everything that a component can have.
const NOWHERE: u64 = 8;

/// The argument words `fault=NAME-wild-write` and `fault_after=N`: the component of that name
/// writes, after so many frames or messages, where nothing is mapped.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    after: Option<u64>,
}

impl Fault {
    /// Decodes the argument words.
    #[must_use]
    pub fn of(env: &Environment) -> Self {
        let named = env.argument("fault");
        let named = named.and_then(|fault| fault.strip_suffix("-wild-write"));
        let here = named == Some(env.name());
        Self {
            after: here.then(|| env.number("fault_after", 0)),
        }
    }

    /// Writes after `count` frames or messages, counted since the component was created.
    pub fn after(self, count: u64) {
        if self.after.is_some_and(|after| count >= after) {
            println!("fault: writing to {NOWHERE:#x}");
            // SAFETY: nothing of any component lies there; this one ends here.
            unsafe { asm!("str xzr, [{}]", in(reg) NOWHERE, options(nostack, preserves_flags)) }
        }
    }
}
