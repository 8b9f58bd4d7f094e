//! Guarded stacks
#![expect(unsafe_code, reason = "maps memory")]

use std::io;

/// A thread's stack: `size` bytes above a page that cannot be touched.
#[derive(Debug)]
pub struct Stack {
    base: *mut libc::c_void,
    length: usize,
}

const PAGE: usize = 4096;

impl Stack {
    /// Maps a stack of at least `size` bytes.
    ///
    /// # Errors
    /// The operating system refuses the mapping.
    pub fn new(size: usize) -> io::Result<Self> {
        let length = size.next_multiple_of(PAGE) + PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, rights, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self { base, length };
        // SAFETY: the first page of the mapping just made.
        match unsafe { libc::mprotect(base, PAGE, libc::PROT_NONE) } {
            0 => Ok(stack),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// One past the highest byte, a multiple of 16.
    #[must_use]
    pub fn top(&self) -> *mut u64 {
        self.base.cast::<u8>().wrapping_add(self.length).cast()
    }

    /// Lowest usable byte and number of usable bytes.
    #[must_use]
    pub fn usable(&self) -> (*mut libc::c_void, usize) {
        (
            self.base.cast::<u8>().wrapping_add(PAGE).cast(),
            self.length - PAGE,
        )
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; the thread on it has ended.
        unsafe { libc::munmap(self.base, self.length) };
    }
}
