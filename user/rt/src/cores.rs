//! Further cores of the partition
//!
//! A core begins with a thread of this component, which is the own thread of a root scheduler with
//! a block of its own. Memory and capabilities are common to all.
#![expect(
    unsafe_code,
    reason = "the first instructions, and mapped addresses become memory"
)]

use crate::First;
use crate::call::call;
use bulkhead_abi::dispatch::Scb;
use bulkhead_abi::kernel::{Operation, Rights, Status, first};
use core::arch::{asm, global_asm};

const STACK_PAGES: u64 = 2;

global_asm!(
    r#"
// x1 = stack, x2 = function, x3 = its argument.
.section .text.bulkhead_further_core, "ax"
.global bulkhead_further_core
bulkhead_further_core:
    mov     sp, x1
    mov     x29, xzr
    mov     x30, xzr
    mov     x0, x3
    br      x2
"#
);

unsafe extern "C" {
    safe static bulkhead_further_core: u8;
}

/// The rank of the core that runs the caller: a thread stays on its core.
#[inline(always)]
#[must_use]
pub fn rank() -> u64 {
    let rank: u64;
    // SAFETY: reads a register that only the kernel writes, once.
    unsafe { asm!("mrs {}, tpidrro_el0", out(reg) rank, options(pure, nomem, nostack)) };
    rank
}

/// A core's root scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Root {
    /// Slot of its own thread.
    pub thread: u64,
    /// Slot of the scheduler.
    pub scheduler: u64,
    /// Slot of all the core's time.
    pub time: u64,
    /// The scheduler control block that it shares with the kernel.
    pub scb: &'static Scb,
}

impl Root {
    /// The block of the first core, which the kernel has started.
    #[must_use]
    pub fn first() -> Self {
        Self {
            thread: first::THREAD,
            scheduler: first::SCHEDULER,
            time: first::TIME,
            scb: crate::dispatch::scb(),
        }
    }
}

impl First {
    /// Gives the core of `rank` a first thread of this component.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn prepare_core(&mut self, rank: u64) -> Result<Root, Status> {
        let [page, ..] = [(); 4].map(|()| self.page());
        let scb = self.map(first::MEMORY, page + 3, 1, Rights::Write)?;
        self.keep_together(3);
        let [thread, scheduler, time] = [(); 3].map(|()| self.slot());
        let entry = (&raw const bulkhead_further_core).addr() as u64;
        let words = [first::MEMORY, page, thread, first::COMPONENT, entry];
        call(first::CORES + rank, Operation::Prepare, words)?;
        let scb: *const Scb = core::ptr::with_exposed_provenance(scb as usize);
        Ok(Root {
            thread,
            scheduler,
            time,
            // SAFETY: mapped above for good; all of it is atomic.
            scb: unsafe { &*scb },
        })
    }

    /// Has the core of `rank`, which was prepared, run `function(argument)`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn start_core(
        &mut self,
        rank: u64,
        function: extern "C" fn(u64) -> !,
        argument: u64,
    ) -> Result<(), Status> {
        let stack = self.stack(STACK_PAGES)?;
        let words = [stack, function as *const () as u64, argument];
        call(first::CORES + rank, Operation::Start, words).map(|_| ())
    }
}
