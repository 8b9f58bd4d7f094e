//! Identification registers as guests see them
//!
//! Fields that are not listed read as zero, "not implemented". Hidden are EL2, EL3, RAS, SVE, SME, MTE, AMU, MPAM, SPE,
//! trace, limited ordering regions, and every feature that needs enable bits of EL2. Field layouts: Arm ARM D19.2. Read
//! once at boot; at run time a trapped read is a look-up.

use bulkhead_formats::address::PHYSICAL_SIZES;
use bulkhead_monitor_core::IDENTITY_REGISTERS;
use core::sync::atomic::AtomicU64;

/// Register (CRm, Op2), bits passed on, and fields cut to a maximum: (shift, maximum).
type Row = (usize, usize, u64, &'static [(u32, u64)]);

const ROWS: [Row; 11] = [
    // ID_AA64PFR0: EL0, EL1 (AArch64 only), FP, AdvSIMD, GIC, DIT, CSV2 (no SCXTNUM), CSV3.
    (4, 0, 0xFF0F_0000_0FFF_00FF, &[(4, 1), (56, 1)]),
    // ID_AA64PFR1: BT, SSBS.
    (4, 1, 0x0000_0000_0000_00FF, &[]),
    // ID_AA64DFR0: DebugVer, PMUVer, BRPs, WRPs, CTX_CMPs, DoubleLock.
    (5, 0, 0x0000_00F0_F0F0_FF0F, &[]),
    // ID_AA64ISAR0: all but TME.
    (6, 0, 0xFFFF_FFFF_F0FF_FFFF, &[]),
    // ID_AA64ISAR1: all but SPECRES, XS and LS64.
    (6, 1, 0x00FF_F0FF_FFFF_FFFF, &[]),
    // ID_AA64ISAR2: RPRES, GPA3, APA3, BC, PAC_frac, CLRBHB.
    (6, 2, 0x0000_0000_FFF0_FFF0, &[]),
    // ID_AA64MMFR0: PARange (cut to what stage 2 has), ASIDBits, BigEnd, SNSMem, BigEndEL0, granules, ExS.
    (7, 0, 0x0000_F000_FFFF_FFFF, &[]),
    // ID_AA64MMFR1: HAFDBS, HPDS, PAN, SpecSEI, ETS, AFP, nTLBPA.
    (7, 1, 0x000F_F0F0_0FF0_F00F, &[]),
    // ID_AA64MMFR2: CnP, UAO, LSM, VARange, CCIDX, ST, AT, IDS, TTL, BBM, E0PD.
    (7, 2, 0xF0FF_00FF_F0FF_0FFF, &[]),
    // ID_PFR0: 32-bit state, without RAS and AMU.
    (1, 0, 0x0000_0000_0F0F_FFFF, &[]),
    // ID_DFR0: debug and performance monitor, without trace.
    (1, 2, 0x0000_0000_0F00_0FFF, &[]),
];

/// The table of the core's state, from the registers as they are.
pub(crate) fn guest_registers(
    registers: &[[u64; 8]; 7],
    vtcr: u64,
) -> [AtomicU64; IDENTITY_REGISTERS] {
    let value = |index| match index {
        MEMORY_MODEL => limit(filter(registers, index), 0, physical_range(vtcr)),
        _ => filter(registers, index),
    };
    core::array::from_fn(|index| AtomicU64::new(value(index)))
}

/// ID_AA64MMFR0 among the registers.
const MEMORY_MODEL: usize = 6 * 8;

/// Code of the guest's physical addresses: those that stage 2 translates, 40 bits at least.
fn physical_range(vtcr: u64) -> u64 {
    const FORTY: u64 = 2;
    let bits = 64 - (vtcr & 0x3F);
    let within = |size: &&u32| u64::from(**size) <= bits;
    let sizes = PHYSICAL_SIZES.iter().take_while(within).count() as u64;
    sizes.saturating_sub(1).max(FORTY)
}

fn filter(registers: &[[u64; 8]; 7], index: usize) -> u64 {
    let (crm, op2) = (index / 8 + 1, index % 8);
    let value = registers
        .get(index / 8)
        .and_then(|row| row.get(op2))
        .copied()
        .unwrap_or(0);
    match ROWS.iter().find(|row| (row.0, row.1) == (crm, op2)) {
        Some(&(_, _, mask, limits)) => limits
            .iter()
            .fold(value & mask, |value, &(shift, maximum)| {
                limit(value, shift, maximum)
            }),
        // The other registers of the 32-bit state describe instructions, which stage 2 does not change.
        None if crm <= 3 => value,
        None => 0,
    }
}

fn limit(value: u64, shift: u32, maximum: u64) -> u64 {
    let field = value >> shift & 0xF;
    value & !(0xF << shift) | field.min(maximum) << shift
}
