//! Constant registers of EL2
//!
//! They select the trapped, routed and hidden operations of a core (Arm ARM D19.2, facts 3). They are set once; at run
//! time only a virtual SError is added to `HCR_EL2` and withdrawn.

use crate::features::{Features, field};
use bulkhead_abi::boot::MAIR_EL2;
use bulkhead_abi::config::{Config, PartitionConfig, flags};
use bulkhead_arch::registers::{midr_el1, pmcr_el0};

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
    ich_hcr: u64,
}

/// MMU, alignment of the stack, caches, and nothing writable is executable.
pub(crate) const SCTLR_EL2: u64 = 0x30C5_1835 | 1 << 19;

impl El2Registers {
    pub(crate) fn of(
        config: &Config,
        partition: Option<&PartitionConfig>,
        affinity: u64,
        features: Features,
    ) -> Self {
        let flags = partition.map_or(0, |partition| partition.flags);
        Self {
            hcr: hcr(flags, features),
            vttbr: partition.map_or(0, |partition| partition.vttbr),
            vtcr: partition.map_or(0, |partition| partition.vtcr),
            cptr: cptr(features),
            mdcr: mdcr(features),
            vmpidr: virtual_mpidr(affinity),
            vpidr: midr_el1::read(),
            ttbr0: config.el2_ttbr,
            tcr: config.el2_tcr,
            mair: MAIR_EL2,
            ich_hcr: ich_hcr(flags),
        }
    }
}

/// Bits of HCR_EL2.
mod hcr_bit {
    pub(super) const VM: u64 = 1 << 0;
    pub(super) const SWIO: u64 = 1 << 1;
    pub(super) const PTW: u64 = 1 << 2;
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

/// The guest's view of `MPIDR_EL1`: several cores, each with threads of its own only.
fn virtual_mpidr(affinity: u64) -> u64 {
    const RES1: u64 = 1 << 31;
    RES1 | affinity
}

/// Trapped registers of the GIC's CPU interface (IHI 0069, section 12.4.4): all of group 0, because firmware may
/// keep it, and those of both groups, because the registers that send interrupts are among them.
fn ich_hcr(partition: u32) -> u64 {
    const TRAP_SHARED: u64 = 1 << 10;
    const TRAP_GROUP_0: u64 = 1 << 11;
    if partition & flags::DIRECT_IPI != 0 {
        TRAP_GROUP_0
    } else {
        TRAP_GROUP_0 | TRAP_SHARED
    }
}

/// Interrupts go to the guest (IMO = FMO = 0), system errors to the monitor.
pub(crate) fn hcr(partition: u32, features: Features) -> u64 {
    use hcr_bit::{
        AMO, API, APK, PTW, RW, SWIO, TACR, TERR, TID3, TIDCP, TLOR, TSC, TSW, TTLB, TTLBIS,
        TTLBOS, TWI, VM,
    };
    let always = VM | SWIO | PTW | AMO | TID3 | TSC | TIDCP | TACR | TSW | RW;
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
    optional
        .iter()
        .filter(|(is_set, _)| *is_set)
        .fold(always, |bits, (_, bit)| bits | bit)
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
