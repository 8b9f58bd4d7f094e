//! Mapping a window of the module into this program
//!
//! A mapping lives until the program ends, so that what points into it never dangles. That is what
//! channels are for; one mapped on demand is given back when the program ends.
#![expect(unsafe_code, reason = "shared memory enters the address space here")]

use crate::error::Error;
use bulkhead_buffers::{AttachError, Region, View};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const WORD_BYTES: usize = 8;
/// The smallest page of any kernel.
const PAGE_BYTES: usize = 4096;

/// Memory of a window.
pub(crate) struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
    writable: bool,
}

// SAFETY: the memory stays mapped until the program ends, and is accessed through nothing but atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` bytes of `file`.
    pub(crate) fn new(
        path: &Path,
        file: &File,
        bytes: usize,
        writable: bool,
    ) -> Result<Self, Error> {
        let nothing = || Error::Unexpected {
            path: path.into(),
            text: "no memory".into(),
        };
        let length = NonZeroUsize::new(bytes).ok_or_else(nothing)?;
        let protection = match writable {
            true => ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
            false => ProtFlags::PROT_READ,
        };
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of this program.
        let address = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, file, 0) }
            .map_err(Error::errno(path))?;
        let mapping = Self {
            address: address.cast(),
            bytes,
            writable,
        };
        if writable {
            mapping.write_nothing();
        }
        Ok(mapping)
    }

    /// The first write to a page is a fault, in which the kernel notes that it is written: now, and
    /// not in a stage that has no time to wait until other threads have changed the address space.
    /// Nothing that others write meanwhile is lost.
    fn write_nothing(&self) {
        for word in self.words().iter().step_by(PAGE_BYTES / WORD_BYTES) {
            word.fetch_or(0, Ordering::Relaxed);
        }
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The memory for an end that writes; `None` where the mapping is read-only.
    pub(crate) fn region(&self) -> Option<Result<Region<'static>, AttachError>> {
        self.writable.then(|| {
            // SAFETY: mapped read-write for the rest of the program's life, cacheable (the module's
            // promise), and accessed through nothing but atomics.
            unsafe { Region::from_raw(self.address.as_ptr(), self.bytes) }
        })
    }

    /// The memory for an end that only reads.
    pub(crate) fn view(&self) -> Result<View<'static>, AttachError> {
        // SAFETY: as above, mapped at least readable.
        unsafe { View::from_raw(self.address.as_ptr(), self.bytes) }
    }

    /// The word at `offset` bytes, a multiple of 8 inside.
    pub(crate) fn word(&self, offset: usize) -> u64 {
        self.words()[offset / WORD_BYTES].load(Ordering::Acquire)
    }

    /// A copy, word by word, of memory that others write meanwhile.
    pub(crate) fn copy(&self) -> Vec<u8> {
        self.words()
            .iter()
            .flat_map(|word| word.load(Ordering::Acquire).to_ne_bytes())
            .collect()
    }

    fn words(&self) -> &[AtomicU64] {
        let words = self.address.cast::<AtomicU64>();
        // SAFETY: mapped and page-aligned for `bytes`; atomics may be written by others.
        unsafe { std::slice::from_raw_parts(words.as_ptr(), self.bytes / WORD_BYTES) }
    }
}
