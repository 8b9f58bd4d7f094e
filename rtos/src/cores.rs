//! Further cores of a partition
//!
//! Started by PSCI `CPU_ON` (Arm DEN0022), which the monitor answers for the partition's own cores.

use crate::registers::{hypervisor_call, relax};
use crate::stack::Stack;
use crate::{interrupt, mmu};
use bulkhead_abi::psci;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Start parameters of a core, which its first instructions read.
#[repr(C)]
pub struct Start {
    program_top: AtomicUsize,
    exception_top: AtomicUsize,
    rank: AtomicU32,
    program: crate::Lock<Option<fn(u32)>>,
}

impl Default for Start {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a core was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The partition has no core of that rank.
    NoSuchCore,
    /// PSCI's answer, [`bulkhead_abi::psci`].
    Refused(i64),
}

impl core::fmt::Display for StartError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchCore => f.write_str("the partition has no core of that rank"),
            Self::Refused(status) => write!(f, "the core was not started: PSCI says {status}"),
        }
    }
}

impl Start {
    /// For one core.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            program_top: AtomicUsize::new(0),
            exception_top: AtomicUsize::new(0),
            rank: AtomicU32::new(0),
            program: crate::Lock::new(None),
        }
    }

    pub(crate) fn rank(&self) -> u32 {
        self.rank.load(Ordering::Relaxed)
    }

    pub(crate) fn enter(&self) {
        if let Some(program) = self.program.with(|program| *program) {
            program(self.rank());
        }
    }

    /// Starts the partition's core of `rank` in `program` on `stack`.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start<const N: usize>(
        &'static self,
        system: &crate::System,
        rank: u32,
        stack: &'static Stack<N>,
        program: fn(u32),
    ) -> Result<(), StartError> {
        if rank == 0 || rank >= system.cores() {
            return Err(StartError::NoSuchCore);
        }
        stack.guards().into_iter().for_each(mmu::unmap_page);
        self.program_top
            .store(stack.program_top(), Ordering::Relaxed);
        self.exception_top
            .store(stack.exception_top(), Ordering::Relaxed);
        self.rank.store(rank, Ordering::Relaxed);
        self.program.with(|slot| *slot = Some(program));
        let target = interrupt::affinity(rank).ok_or(StartError::NoSuchCore)?;
        turn_on(target, core::ptr::from_ref(self).addr() as u64)
    }
}

fn turn_on(target: u64, context: u64) -> Result<(), StartError> {
    let entry = crate::start::further_core_entry();
    crate::registers::synchronize();
    match hypervisor_call(psci::CPU_ON, [target, entry, context])[0].cast_signed() {
        psci::SUCCESS => Ok(()),
        status => Err(StartError::Refused(status)),
    }
}

/// Turns the calling core off.
pub fn off() -> ! {
    hypervisor_call(psci::CPU_OFF, [0; 3]);
    loop {
        relax();
    }
}
