//! Constant registers of EL2
//!
//! What is trapped, routed and hidden on a core (Arm ARM D19.2, facts 3). Set once; at run time only a virtual
//! SError is added to `HCR_EL2` and withdrawn.

use crate::features::{Features, field};
use bulkhead_abi::boot::MAIR_EL2;
use bulkhead_abi::config::{Config, PartitionConfig, flags};
use bulkhead_arch::registers::{midr_el1, mpidr_el1, pmcr_el0};

/// Loaded by the last instructions of the boot part, in this order.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct El2Registers {
    hcr: u64,
    vttbr: u64,
    vtcr: u64,
    cptr: u64,
    mdcr: u64,
    vmpidr: u64,
    vpidr: u64,
    ttbr0: u64,
    tcr: u64,
    mair: u64,
}

/// MMU, alignment of the stack, caches, and nothing writable is executable.
pub(crate) const SCTLR_EL2: u64 = 0x30C5_1835 | 1 << 19;

impl El2Registers {
    pub(crate) fn of(
        config: &Config,
        partition: Option<&PartitionConfig>,
        features: Features,
    ) -> Self {
        Self {
            hcr: hcr(partition.map_or(0, |partition| partition.flags), features),
            vttbr: partition.map_or(0, |partition| partition.vttbr),
            vtcr: partition.map_or(0, |partition| partition.vtcr),
            cptr: cptr(features),
            mdcr: mdcr(features),
            vmpidr: mpidr_el1::read(),
            vpidr: midr_el1::read(),
            ttbr0: config.el2_ttbr,
            tcr: config.el2_tcr,
            mair: MAIR_EL2,
        }
    }
}

/// Bits of HCR_EL2.
mod hcr_bit {
    pub(super) const VM: u64 = 1 << 0;
    pub(super) const SWIO: u64 = 1 << 1;
    pub(super) const PTW: u64 = 1 << 2;
    pub(super) const FMO: u64 = 1 << 3;
    pub(super) const AMO: u64 = 1 << 5;
    pub(super) const TWI: u64 = 1 << 13;
    pub(super) const TID3: u64 = 1 << 18;
    pub(super) const TSC: u64 = 1 << 19;
    pub(super) const TIDCP: u64 = 1 << 20;
    pub(super) const TACR: u64 = 1 << 21;
    pub(super) const TSW: u64 = 1 << 22;
    pub(super) const TTLB: u64 = 1 << 25;
    pub(super) const RW: u64 = 1 << 31;
    pub(super) const TLOR: u64 = 1 << 35;
    pub(super) const TERR: u64 = 1 << 36;
    pub(super) const APK: u64 = 1 << 40;
    pub(super) const API: u64 = 1 << 41;
    pub(super) const TTLBIS: u64 = 1 << 54;
    pub(super) const TTLBOS: u64 = 1 << 55;
}

/// IRQs go to the guest (IMO = 0), FIQs and system errors to the monitor.
pub(crate) fn hcr(partition: u32, features: Features) -> u64 {
    use hcr_bit::{
        AMO, API, APK, FMO, PTW, RW, SWIO, TACR, TERR, TID3, TIDCP, TLOR, TSC, TSW, TTLB, TTLBIS,
        TTLBOS, TWI, VM,
    };
    let always = VM | SWIO | PTW | FMO | AMO | TID3 | TSC | TIDCP | TACR | TSW | RW;
    let has = |flag| partition & flag != 0;
    // Only the broadcast operations, where the core can tell them apart.
    let tlbi = if field(features.mmfr2, 56) >= 2 {
        TTLBIS | TTLBOS
    } else {
        TTLB
    };
    let optional = [
        (has(flags::TRAP_WFI), TWI),
        (has(flags::TRAP_TLBI), tlbi),
        (features.pointer_authentication(), APK | API),
        (field(features.pfr0, 28) != 0, TERR),
        (field(features.mmfr1, 16) != 0, TLOR),
    ];
    let set = optional
        .iter()
        .filter(|(wanted, _)| *wanted)
        .fold(always, |bits, (_, bit)| bits | bit);
    // SGIs are trapped as long as either interrupt is routed to EL2.
    if has(flags::DIRECT_IPI) {
        set & !FMO
    } else {
        set
    }
}

/// SVE, SME, trace and activity monitors are trapped, floating point is not.
fn cptr(features: Features) -> u64 {
    const TRAP_SVE_SME: u64 = 0x33FF;
    const TRAP_TRACE: u64 = 1 << 20;
    const TRAP_ACTIVITY: u64 = 1 << 30;
    let activity = if field(features.pfr0, 44) != 0 {
        TRAP_ACTIVITY
    } else {
        0
    };
    let trace = if field(features.dfr0, 4) != 0 {
        TRAP_TRACE
    } else {
        0
    };
    TRAP_SVE_SME | trace | activity
}

/// All event counters are the guest's and stand still at EL2; profiling and trace filters are trapped.
fn mdcr(features: Features) -> u64 {
    const COUNTERS_STOP: u64 = 1 << 17;
    const TRAP_PROFILING: u64 = 1 << 14;
    const TRAP_TRACE_FILTER: u64 = 1 << 19;
    let counters = pmcr_el0::read() >> 11 & 0x1F;
    let stop = if field(features.dfr0, 8) >= 4 {
        COUNTERS_STOP
    } else {
        0
    };
    let profiling = if field(features.dfr0, 32) != 0 {
        TRAP_PROFILING
    } else {
        0
    };
    let filter = if field(features.dfr0, 40) != 0 {
        TRAP_TRACE_FILTER
    } else {
        0
    };
    counters | stop | profiling | filter
}
