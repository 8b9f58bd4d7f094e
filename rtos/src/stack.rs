//! Stacks that end at a hole
//!
//! A core runs on one stack (SP_EL0) and takes exceptions on another (SP_EL1), so that an overflow
//! of the first is still reported. Below each lies a page that is never mapped.

use core::cell::UnsafeCell;

/// Bytes of the stack for exceptions: a frame of 816 bytes and the report of a fault.
const EXCEPTION_BYTES: usize = 8192;
const GUARD_BYTES: usize = 4096;

/// Memory for the two stacks of a core, `N` bytes for the program; `N` is a multiple of 16.
#[repr(C, align(4096))]
pub struct Stack<const N: usize>(UnsafeCell<Parts<N>>);

#[repr(C)]
struct Parts<const N: usize> {
    lower_guard: [u8; GUARD_BYTES],
    exception: [u8; EXCEPTION_BYTES],
    upper_guard: [u8; GUARD_BYTES],
    program: [u8; N],
}

mod sync {
    //! The promise that a stack may be a static
    #![expect(
        unsafe_code,
        reason = "Sync for memory that only addresses are taken of"
    )]

    // SAFETY: nothing reads or writes the memory through this type; one core uses it as its stack.
    unsafe impl<const N: usize> Sync for super::Stack<N> {}
}

impl<const N: usize> Stack<N> {
    /// An empty stack.
    #[must_use]
    pub const fn new() -> Self {
        assert!(
            N.is_multiple_of(16) && N > 0,
            "the stack pointer moves in steps of 16 bytes"
        );
        Self(UnsafeCell::new(Parts {
            lower_guard: [0; GUARD_BYTES],
            exception: [0; EXCEPTION_BYTES],
            upper_guard: [0; GUARD_BYTES],
            program: [0; N],
        }))
    }

    /// Returns the top of the program's stack, which grows down.
    pub(crate) fn program_top(&self) -> usize {
        self.0.get().addr() + size_of::<Parts<N>>()
    }

    /// Returns the top of the stack for exceptions.
    pub(crate) fn exception_top(&self) -> usize {
        self.0.get().addr() + GUARD_BYTES + EXCEPTION_BYTES
    }

    /// The two pages to leave unmapped.
    pub(crate) fn guards(&self) -> [usize; 2] {
        [self.0.get().addr(), self.exception_top()]
    }
}

impl<const N: usize> Default for Stack<N> {
    fn default() -> Self {
        Self::new()
    }
}
