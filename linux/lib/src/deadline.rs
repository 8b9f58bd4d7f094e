//! Reservations of processor time: SCHED_DEADLINE (`sched(7)`, `sched_setattr(2)`)
#![expect(unsafe_code, reason = "a system call that the library does not know")]

use crate::Error;
use nix::errno::Errno;
use nix::libc;

/// The calling thread gets `runtime_ns` in every `period_ns`, and no more, with the period as its deadline.
///
/// # Errors
/// More is reserved than the kernel gives away, or the period is none it admits (100 us to 4 s).
pub fn reserve(runtime_ns: u64, period_ns: u64) -> Result<(), Error> {
    const DEADLINE: u32 = 6;
    /// `struct sched_attr`, first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: DEADLINE,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: runtime_ns,
        deadline: period_ns,
        period: period_ns,
    };
    // SAFETY: attributes of the size they say, which the kernel alone reads, for the calling thread.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    Errno::result(set).map_err(Error::errno("sched_setattr"))?;
    Ok(())
}

/// Keeps all memory of the process, now and later, where it is.
///
/// # Errors
/// The kernel refuses.
pub fn lock_memory() -> Result<(), Error> {
    // SAFETY: no memory is passed.
    let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    Errno::result(locked).map_err(Error::errno("mlockall"))?;
    Ok(())
}
