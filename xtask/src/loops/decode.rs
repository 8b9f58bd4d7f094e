//! Successors of A64 instructions (Arm ARM C4.1)
//!
//! Instructions have one length, and those that change the flow are one group of encodings, so a
//! whole disassembler is not needed. Unknown encodings of that group are reported as unknown.

/// Successors of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Jump(u64),
    /// Or the next instruction.
    Branch(u64),
    Call(u64),
    JumpTo(Register),
    CallTo(Register),
    Return,
    ExceptionReturn,
    /// `brk`, `hlt`, `udf`: what compilers put where nothing may come.
    Trap,
    Unknown,
}

pub(super) type Register = u32;

/// One of a pair that retries when another core was quicker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exclusive {
    Load(Register),
    Store(Register),
}

pub(super) fn flow(word: u32, at: u64) -> Flow {
    if word >> 16 == 0 {
        return Flow::Trap;
    }
    if word >> 26 & 0b111 != 0b101 {
        return Flow::Next;
    }
    let to = |offset: i64| at.wrapping_add_signed(offset * 4);
    match word >> 24 {
        0x14..=0x17 => Flow::Jump(to(signed(word, 0, 26))),
        0x94..=0x97 => Flow::Call(to(signed(word, 0, 26))),
        0x34 | 0x35 | 0xb4 | 0xb5 | 0x54 => Flow::Branch(to(signed(word, 5, 19))),
        0x36 | 0x37 | 0xb6 | 0xb7 => Flow::Branch(to(signed(word, 5, 14))),
        0xd4 => exception(word),
        0xd5 => Flow::Next,
        0xd6 | 0xd7 => to_register(word),
        _ => Flow::Unknown,
    }
}

/// Calls to another exception level come back, as a call does.
fn exception(word: u32) -> Flow {
    match word >> 21 & 0b111 {
        0 => Flow::Next,
        1 | 2 => Flow::Trap,
        _ => Flow::Unknown,
    }
}

/// Plain and authenticated forms differ in bit 24.
fn to_register(word: u32) -> Flow {
    let register = word >> 5 & 31;
    match word >> 21 & 0b111 {
        0 => Flow::JumpTo(register),
        1 => Flow::CallTo(register),
        2 => Flow::Return,
        4 => Flow::ExceptionReturn,
        _ => Flow::Unknown,
    }
}

/// The field of `bits` bits from bit `from`, with its sign.
pub(super) fn signed(word: u32, from: u32, bits: u32) -> i64 {
    i64::from((word << (32 - from - bits)) as i32 >> (32 - bits))
}

pub(super) fn exclusive(word: u32) -> Option<Exclusive> {
    let is_ordered_or_swap = word >> 23 & 1 == 1;
    let is_pair_swap = word >> 21 & 1 == 1 && word >> 31 == 0;
    if word & 0x3f00_0000 != 0x0800_0000 || is_ordered_or_swap || is_pair_swap {
        return None;
    }
    let base = word >> 5 & 31;
    Some(match word >> 22 & 1 {
        0 => Exclusive::Store(base),
        _ => Exclusive::Load(base),
    })
}

/// Returns true if the instruction computes in registers or branches to a named address: only such may stand between the
/// halves of an exclusive pair with guaranteed progress (Arm ARM B2.9.5).
pub(super) fn is_plain(word: u32) -> bool {
    let computes = matches!(word >> 25 & 0b1111, 0b1000 | 0b1001 | 0b0101 | 0b1101);
    computes || matches!(flow(word, 0), Flow::Jump(_) | Flow::Branch(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_go_where_they_say() {
        let cases = [
            (0x1400_0002, Flow::Jump(0x1008)),    // b .+8
            (0x17ff_ffff, Flow::Jump(0xffc)),     // b .-4
            (0x9400_025d, Flow::Call(0x1974)),    // bl
            (0x5400_75e8, Flow::Branch(0x1ebc)),  // b.hi
            (0xb4ff_ffe0, Flow::Branch(0xffc)),   // cbz x0, .-4
            (0x3700_00ea, Flow::Branch(0x101c)),  // tbnz w10, #0
            (0xd61f_0200, Flow::JumpTo(16)),      // br x16
            (0xd63f_0120, Flow::CallTo(9)),       // blr x9
            (0xd65f_03c0, Flow::Return),          // ret
            (0xd65f_0bff, Flow::Return),          // retaa
            (0xd69f_03e0, Flow::ExceptionReturn), // eret
            (0xd400_0002, Flow::Next),            // hvc #0
            (0xd420_0020, Flow::Trap),            // brk #1
            (0x0000_0000, Flow::Trap),            // udf #0
            (0x7400_0000, Flow::Unknown),         // compare and branch, Armv9.6
            (0xd503_207f, Flow::Next),            // wfi
            (0xf940_1803, Flow::Next),            // ldr x3, [x0, #48]
        ];
        for (word, goes) in cases {
            assert_eq!(flow(word, 0x1000), goes, "{word:#x}");
        }
    }

    #[test]
    fn exclusive_pairs_are_told_from_their_neighbours() {
        assert_eq!(exclusive(0xc85f_fd0e), Some(Exclusive::Load(8))); // ldaxr x14, [x8]
        assert_eq!(exclusive(0xc80c_7d4b), Some(Exclusive::Store(10))); // stxr w12, x11, [x10]
        assert_eq!(exclusive(0xc87f_0861), Some(Exclusive::Load(3))); // ldxp x1, x2, [x3]
        assert_eq!(exclusive(0xc8df_fc00), None); // ldar x0, [x0]
        assert_eq!(exclusive(0xc8e0_fc41), None); // casal x0, x1, [x2]
        assert_eq!(exclusive(0x4860_fc82), None); // caspal x0, x1, x2, x3, [x4]
        assert_eq!(exclusive(0xf940_1803), None); // ldr x3, [x0, #48]
    }

    #[test]
    fn between_the_halves_only_registers_may_change() {
        assert!(is_plain(0x8b02_0060)); // add x0, x3, x2
        assert!(is_plain(0xd100_05ce)); // sub x14, x14, #1
        assert!(is_plain(0x5400_75e8)); // b.hi
        assert!(!is_plain(0xf940_1803)); // ldr
        assert!(!is_plain(0xd503_207f)); // wfi
        assert!(!is_plain(0xd63f_0120)); // blr
    }
}
