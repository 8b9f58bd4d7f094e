//! How much of a thread's stack was ever used
//!
//! Stacks are made of memory that is zero, so what is zero from the lower end on was never written, but for zeros: of those at the end of what
//! was used a few may be missed.
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

    /// Bytes of it that were ever used.
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
