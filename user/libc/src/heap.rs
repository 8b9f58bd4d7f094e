//! Blocks given out by TLSF
//!
//! TLSF (Masmano et al., ECRTS 2004) answers within a bounded number of instructions. Every block is
//! requested at least at [`LEAST_ALIGN`], so that a caller can give one back without its alignment.

use core::alloc::Layout;
use core::ptr::NonNull;
use rlsf::Tlsf;

/// With it a block's header is found alike for every block.
const LEAST_ALIGN: usize = rlsf::GRANULARITY;

/// The heap of a program.
pub trait Heap {
    /// Returns a block of `bytes` bytes; `align` is a power of two.
    fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>>;

    /// Takes a block back.
    ///
    /// # Safety
    /// `block` is this heap's and is not used again.
    unsafe fn release(block: NonNull<u8>);

    /// Changes the size of a block and keeps its content as far as it fits. Returns `None` if there is no memory
    /// for it; the block is unchanged then.
    ///
    /// # Safety
    /// `block` is this heap's with an alignment of at most 16 bytes; it is not used again unless `None` is returned.
    unsafe fn resize(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>>;
}

/// Free memory, in lists by 16 sizes of each power of two up to 16 MiB.
pub struct Blocks(Tlsf<'static, u32, u16, 19, 16>);

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

impl Blocks {
    /// No memory.
    #[must_use]
    pub const fn new() -> Self {
        Self(Tlsf::new())
    }

    /// Adds a range of memory.
    ///
    /// # Safety
    /// No other code uses it.
    pub unsafe fn add(&mut self, range: NonNull<[u8]>) {
        // SAFETY: the caller's promise.
        let _too_small = unsafe { self.0.insert_free_block_ptr(range) };
    }

    /// As [`Heap::allocate`].
    pub fn allocate(&mut self, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(bytes.max(1), align.max(LEAST_ALIGN)).ok()?;
        self.0.allocate(layout)
    }

    /// As [`Heap::release`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn release(&mut self, block: NonNull<u8>) {
        // SAFETY: the caller's promise; all blocks are aligned to that at least.
        unsafe { self.0.deallocate(block, LEAST_ALIGN) };
    }

    /// As [`Heap::resize`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn resize(&mut self, block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(bytes.max(1), LEAST_ALIGN).ok()?;
        // SAFETY: the caller's promise.
        unsafe { self.0.reallocate(block, layout) }
    }
}
