//! Measures the used part of a thread's stack
//!
//! The memory of stacks is zero at first, so words that are still zero at the lower end were never
//! written, except for a few at the boundary that may have been written with zeros.
#![expect(unsafe_code, reason = "reads the stack of a thread that may run")]

/// Memory of a stack, for good.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Its lower end, the address of a word.
    pub(crate) bottom: u64,
    /// Its bytes, whole words.
    pub(crate) bytes: u64,
}

impl Stack {
    /// Alignment of both ends (AAPCS64).
    pub const ALIGN: u64 = 16;

    /// The whole units of [`Self::ALIGN`] of given memory, cleared, so that the used part can be measured.
    ///
    /// # Safety
    /// The memory is the stack's alone from now on, for good.
    #[must_use]
    pub unsafe fn of(start: *mut u8, bytes: u64) -> Self {
        let start = start.expose_provenance() as u64;
        let bottom = start.next_multiple_of(Self::ALIGN);
        let end = (start + bytes) / Self::ALIGN * Self::ALIGN;
        let stack = Self {
            bottom,
            bytes: end.saturating_sub(bottom),
        };
        // SAFETY: the caller's promise.
        unsafe { stack.clear() };
        stack
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its upper end.
    #[must_use]
    pub const fn top(&self) -> u64 {
        self.bottom + self.bytes
    }

    /// Clears it for another thread.
    ///
    /// # Safety
    /// No thread uses it.
    pub unsafe fn clear(&self) {
        let start: *mut u8 = core::ptr::with_exposed_provenance_mut(self.bottom as usize);
        // SAFETY: mapped for good; no thread uses it.
        unsafe { start.write_bytes(0, self.bytes as usize) };
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
