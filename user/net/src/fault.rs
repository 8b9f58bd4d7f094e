//! Fault injection
#![expect(unsafe_code, reason = "it is one")]

use bulkhead_component::{Environment, println};
use core::arch::asm;

/// Below everything that a component can have.
const NOWHERE: u64 = 8;

/// The argument words `fault=NAME-wild-write` or `fault=NAME-storm`, and `fault_after=N`: the component of that name,
/// after so many frames or messages, writes where nothing is mapped, or no longer acknowledges its interrupt, which is
/// then always raised.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    after: Option<u64>,
    is_storm: bool,
}

impl Fault {
    /// Decodes the argument words.
    #[must_use]
    pub fn of(env: &Environment) -> Self {
        let (named, kind) = env
            .argument("fault")
            .and_then(|fault| fault.split_once('-'))
            .unwrap_or_default();
        let is_storm = kind == "storm";
        let here = named == env.name() && (is_storm || kind == "wild-write");
        Self {
            after: here.then(|| env.number("fault_after", 0)),
            is_storm,
        }
    }

    /// Returns whether the interrupt is no longer acknowledged after `count` frames.
    #[must_use]
    pub fn is_storming(self, count: u64) -> bool {
        self.is_storm && self.after.is_some_and(|after| count >= after)
    }

    /// Writes after `count` frames or messages, counted since the component was created.
    pub fn after(self, count: u64) {
        if !self.is_storm && self.after.is_some_and(|after| count >= after) {
            println!("fault: writing to {NOWHERE:#x}");
            // SAFETY: nothing of any component lies there; this one ends here.
            unsafe { asm!("str xzr, [{}]", in(reg) NOWHERE, options(nostack, preserves_flags)) }
        }
    }
}
