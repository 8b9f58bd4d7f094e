//! Addresses of a component behind its image, to which pieces of the window are mapped

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::kernel::{IMAGE_END, Operation, Rights, Status, first};
use bulkhead_component::First;
use bulkhead_component::call::call;
use bulkhead_component::first::Component;

/// Bytes that one level-3 table maps.
const SPAN: u64 = 2 << 20;

/// Hands out addresses upwards from the end of the first level-3 table.
pub(crate) struct Space {
    middle: u64,
    last: u64,
    next: u64,
}

impl Space {
    pub(crate) const fn new(component: &Component) -> Self {
        let [_, middle, last] = component.pages;
        Self {
            middle,
            last,
            next: IMAGE_END,
        }
    }

    /// Addresses from `address` on, a multiple of what a level-3 table maps.
    pub(crate) const fn at(&self, address: u64) -> Self {
        Self {
            middle: self.middle,
            last: 0,
            next: address,
        }
    }

    /// Maps a piece of the partition's window, `[guest-physical address, bytes]`. Returns its
    /// address and bytes, or nothing for address 0.
    pub(crate) fn window(
        &mut self,
        first: &mut First,
        [at, bytes]: [u64; 2],
        rights: Rights,
    ) -> Result<[u64; 2], Status> {
        if at == 0 {
            return Ok([0, 0]);
        }
        let number = first.window_page(at)?;
        let pages = bytes.div_ceil(PAGE_SIZE);
        let address = self.memory(first, first::WINDOW, [number, pages], rights)?;
        Ok([address, bytes])
    }

    /// Maps one page of the window for reading.
    pub(crate) fn page(&mut self, first: &mut First, at: u64) -> Result<u64, Status> {
        let [address, _] = self.window(first, [at, PAGE_SIZE], Rights::Read)?;
        Ok(address)
    }

    /// Maps `pages` pages of the memory at a slot, from page `number` on.
    pub(crate) fn memory(
        &mut self,
        first: &mut First,
        slot: u64,
        [number, pages]: [u64; 2],
        rights: Rights,
    ) -> Result<u64, Status> {
        let address = self.next;
        for page in 0..pages {
            if self.next.is_multiple_of(SPAN) {
                self.last = first.make(Operation::MakePages, [3])?;
                let index = self.next / SPAN % 512;
                call(self.middle, Operation::Attach, [index, self.last])?;
            }
            let index = self.next % SPAN / PAGE_SIZE;
            let words = [index, slot, number + page, rights as u64];
            call(self.last, Operation::Map, words)?;
            self.next += PAGE_SIZE;
        }
        Ok(address)
    }
}
