//! The bits of a word that are set

/// The bits of a word that are set, lowest first.
pub(crate) struct Bits(pub(crate) u64);

impl Iterator for Bits {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        let bit = u64::from(self.0.trailing_zeros());
        self.0 &= self.0.wrapping_sub(1);
        (bit < 64).then_some(bit)
    }
}
