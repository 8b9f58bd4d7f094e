//! A preempted thread's registers, as the signal frame holds them
#![expect(unsafe_code, reason = "reads and writes signal frames")]

use libc::ucontext_t;

/// Largest extended state kept: legacy area, header and AVX-512.
const EXTENDED: usize = 2816;
/// Offset of the software-reserved bytes in the legacy area (Linux `struct _fpx_sw_bytes`).
const SOFTWARE_BYTES: usize = 464;
/// First word of the software-reserved bytes where extended state follows.
const EXTENDED_MAGIC: u32 = 0x4650_5853;

/// All registers of a preempted thread.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct Context {
    general: libc::mcontext_t,
    extended: [u8; EXTENDED],
    length: usize,
}

impl Context {
    /// Copies the interrupted registers.
    ///
    /// # Safety
    /// `frame` is the context that a signal handler was given.
    pub(crate) unsafe fn of(frame: *const ucontext_t) -> Self {
        // SAFETY: the kernel built the frame.
        let general = unsafe { (*frame).uc_mcontext };
        let source = general.fpregs.cast::<u8>();
        // SAFETY: the frame's own state pointer.
        let length = unsafe { extended_length(source) };
        let mut extended = [0; EXTENDED];
        // SAFETY: the frame holds `length` bytes there; `length` is at most the array's.
        unsafe { source.copy_to_nonoverlapping(extended.as_mut_ptr(), length) };
        Self {
            general,
            extended,
            length,
        }
    }

    /// Puts the registers into the frame, so that the handler returns to them.
    ///
    /// # Safety
    /// As for [`Context::of`]; frames of one process all have the same extended state.
    pub(crate) unsafe fn put(&self, frame: *mut ucontext_t) {
        // SAFETY: the kernel built the frame.
        let target = unsafe { (*frame).uc_mcontext.fpregs };
        // SAFETY: as above.
        unsafe { (*frame).uc_mcontext = self.general };
        // SAFETY: the frame's state stays where the frame has it.
        unsafe { (*frame).uc_mcontext.fpregs = target };
        // SAFETY: `target` has room for as much as was saved from such a frame.
        unsafe {
            target
                .cast::<u8>()
                .copy_from_nonoverlapping(self.extended.as_ptr(), self.length)
        };
    }
}

/// Bytes of extended state in a signal frame.
///
/// # Safety
/// `state` is the state pointer of a signal frame.
unsafe fn extended_length(state: *const u8) -> usize {
    let software = state.wrapping_add(SOFTWARE_BYTES).cast::<u32>();
    // SAFETY: within the legacy area of 512 bytes.
    let magic = unsafe { software.read_unaligned() };
    // SAFETY: likewise.
    let length = unsafe { software.wrapping_add(1).read_unaligned() } as usize;
    if magic == EXTENDED_MAGIC {
        length.min(EXTENDED)
    } else {
        512
    }
}

/// Makes the handler return to `ip` on the stack at `sp`.
///
/// # Safety
/// As for [`Context::of`]; `ip` and `sp` are what a thread stored in its own block.
pub(crate) unsafe fn resume_at(frame: *mut ucontext_t, ip: u64, sp: u64) {
    // SAFETY: the kernel built the frame.
    let general = unsafe { &mut (*frame).uc_mcontext.gregs };
    general[libc::REG_RIP as usize] = ip.cast_signed();
    general[libc::REG_RSP as usize] = sp.cast_signed();
    // Direction and alignment flags as the ABI demands at a function boundary.
    general[libc::REG_EFL as usize] &= !((1 << 10) | (1 << 18));
}
