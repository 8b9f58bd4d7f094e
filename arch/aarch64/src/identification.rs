//! The identification registers that HCR_EL2.TID3 traps
//!
//! Op0 3, Op1 0, CRn 0, CRm 1 to 7 (Arm ARM D19.2, "ID group 3"); places without a register read 0.
#![expect(unsafe_code, reason = "system registers are accessed by instructions")]

use core::arch::asm;

/// Number of registers.
pub const COUNT: usize = 7 * 8;

macro_rules! row {
    ($crm:literal) => {
        [
            read!($crm, 0),
            read!($crm, 1),
            read!($crm, 2),
            read!($crm, 3),
            read!($crm, 4),
            read!($crm, 5),
            read!($crm, 6),
            read!($crm, 7),
        ]
    };
}

macro_rules! read {
    ($crm:literal, $op2:literal) => {{
        let value: u64;
        // SAFETY: reading an identification register changes nothing.
        unsafe {
            asm!(concat!("mrs {}, s3_0_c0_c", $crm, "_", $op2),
                out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }};
}

/// Reads all; register (CRm, Op2) is at `[CRm - 1][Op2]`.
#[must_use]
pub fn read() -> [[u64; 8]; 7] {
    [
        row!(1),
        row!(2),
        row!(3),
        row!(4),
        row!(5),
        row!(6),
        row!(7),
    ]
}
