//! Measures the used part of a thread's stack
//!
//! The memory of stacks is zero at first, so words that are still zero at the lower end were never
//! written, except for a few at the boundary that may have been written with zeros.
#![expect(unsafe_code, reason = "reads the stack of a thread that may run")]

use bulkhead_abi::PAGE_SIZE;

/// Memory of a stack, for good.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Its lower end, the address of a word.
    pub(crate) bottom: u64,
    /// Its pages.
    pub(crate) pages: u64,
}

impl Stack {
    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.pages * PAGE_SIZE
    }

    /// Bytes that were ever used.
    #[must_use]
    pub fn used(&self) -> u64 {
        let words = self.bytes() / 8;
        let zero = |word: &u64| {
            let word: *const u64 =
                core::ptr::with_exposed_provenance((self.bottom + word * 8) as usize);
            // SAFETY: mapped for good when the stack was made; any value will do, and a word is read whole.
            unsafe { word.read_volatile() == 0 }
        };
        self.bytes() - (0..words).take_while(zero).count() as u64 * 8
    }
}
