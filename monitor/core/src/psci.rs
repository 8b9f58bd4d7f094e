//! Power State Coordination Interface, for a partition's own cores
//!
//! Arm DEN0022F, section 5. What is not answered here does not exist, as the specification
//! lets it: no suspend, no migration, no system suspend.

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::{Power, View};
use bulkhead_abi::psci::{
    AFFINITY_INFO, AFFINITY_INFO_32, ALREADY_ON, CPU_OFF, CPU_ON, CPU_ON_32, FEATURES,
    INTERNAL_FAILURE, INVALID_PARAMETERS, MIGRATE_INFO_TYPE, NOT_SUPPORTED, ON_PENDING, SMCCC_1_1,
    SMCCC_VERSION, SUCCESS, SYSTEM_OFF, SYSTEM_RESET, VERSION, VERSION_1_1,
};
use bulkhead_abi::status::Cause;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

impl<M: Machine> Monitor<M> {
    pub(crate) fn psci(self, number: u64) -> i64 {
        match function(number) {
            Some(Function::Version) => VERSION_1_1.cast_signed(),
            Some(Function::MigrateInfoType) => 2,
            Some(Function::Features) => match function(self.x(1) & 0xFFFF_FFFF) {
                Some(_) => SUCCESS,
                None => NOT_SUPPORTED,
            },
            Some(Function::AffinityInfo) => self.affinity_info(self.x(1)),
            Some(Function::CpuOn) => self.cpu_on(self.x(1)),
            Some(Function::CpuOff) => {
                self.core.set_power(Power::Off);
                self.idle()
            }
            Some(Function::SystemOff) => self.surrender(Cause::Off),
            Some(Function::SystemReset) => self.surrender(Cause::Reset),
            None => NOT_SUPPORTED,
        }
    }

    fn affinity_info(self, target: u64) -> i64 {
        match self.core.partition.core_at(View::Guest, target) {
            Some(core) => core
                .power
                .load(Relaxed)
                .min(Power::Pending as u64)
                .cast_signed(),
            None => INVALID_PARAMETERS,
        }
    }

    fn cpu_on(self, target: u64) -> i64 {
        let Some(core) = self.core.partition.core_at(View::Guest, target) else {
            return INVALID_PARAMETERS;
        };
        if self.is_cut() {
            return INTERNAL_FAILURE;
        }
        let (off, claimed) = (Power::Off as u64, Power::Claimed as u64);
        match core.power.compare_exchange(off, claimed, AcqRel, Acquire) {
            Ok(_) => {
                core.entry.store(self.x(2), Relaxed);
                core.context.store(self.x(3), Relaxed);
                core.power.store(Power::Pending as u64, Release);
                self.wake(core);
                SUCCESS
            }
            Err(power) if power == Power::On as u64 => ALREADY_ON,
            Err(_) => ON_PENDING,
        }
    }
}

const _: () = assert!(VERSION_1_1 == SMCCC_1_1);

const FUNCTIONS: [(u64, Function); 11] = [
    (VERSION, Function::Version),
    (SMCCC_VERSION, Function::Version),
    (MIGRATE_INFO_TYPE, Function::MigrateInfoType),
    (FEATURES, Function::Features),
    (AFFINITY_INFO, Function::AffinityInfo),
    (AFFINITY_INFO_32, Function::AffinityInfo),
    (CPU_ON, Function::CpuOn),
    (CPU_ON_32, Function::CpuOn),
    (CPU_OFF, Function::CpuOff),
    (SYSTEM_OFF, Function::SystemOff),
    (SYSTEM_RESET, Function::SystemReset),
];

#[derive(Clone, Copy, Debug)]
enum Function {
    /// Of PSCI and of the calling convention, 1.1.
    Version,
    MigrateInfoType,
    Features,
    AffinityInfo,
    CpuOn,
    CpuOff,
    SystemOff,
    SystemReset,
}

#[inline(never)]
fn function(number: u64) -> Option<Function> {
    FUNCTIONS
        .iter()
        .find(|&&(listed, _)| listed == number)
        .map(|&(_, function)| function)
}
