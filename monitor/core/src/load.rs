//! Loading an image into a partition's memory
//!
//! Destinations are guest-physical and translated by the partition's own stage 2, page by page, so that
//! coloured and scattered memory is loaded as it is mapped, and nothing else can be reached.

use crate::idle::Monitor;
use crate::machine::{Machine, Transfer};
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::config::Segment;

impl<M: Machine> Monitor<M> {
    pub(crate) fn load(self, segment: &Segment) {
        let Segment {
            ipa,
            pa,
            copy_size,
            zero_size,
            clean_size,
        } = *segment;
        let zeros = self.transfer(Transfer::Copy, ipa, pa, copy_size);
        let rest = self.transfer(Transfer::Zero, zeros, 0, zero_size);
        self.transfer(Transfer::Clean, rest, 0, clean_size);
    }

    /// The guest-physical address behind what was transferred.
    #[inline(never)]
    fn transfer(self, what: Transfer, mut ipa: u64, mut from: u64, size: u64) -> u64 {
        let end = ipa.wrapping_add(size);
        while ipa < end {
            let part = PAGE_SIZE
                .wrapping_sub(ipa % PAGE_SIZE)
                .min(end.wrapping_sub(ipa));
            if let Some(to) = self.machine.translate(ipa) {
                self.machine.transfer(what, to, from, part);
            }
            ipa = ipa.wrapping_add(part);
            from = from.wrapping_add(part);
        }
        end
    }
}
