//! Reservations of processor time: SCHED_DEADLINE (`sched(7)`, `sched_setattr(2)`)
#![expect(unsafe_code, reason = "a system call that the library does not know")]

use crate::Error;
use nix::errno::Errno;
use nix::libc;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

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
    let set = Errno::result(set).map_err(|errno| Error::Refused {
        runtime_ns,
        period_ns,
        source: errno.into(),
        help: match errno {
            Errno::EBUSY => {
                "other reservations leave the core too little: fewer of them, or another core"
            }
            Errno::EPERM => {
                "the program may not, or the core is not apart from Linux's others (`isolcpus`)"
            }
            Errno::EINVAL => "no such budget can be had",
            _ => "the kernel cannot reserve",
        },
    });
    set.map(|_| ())
}

/// The calling thread runs on that core alone.
///
/// # Errors
/// Linux has no such core.
pub fn keep_to_core(core: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    let kept = set.set(core);
    let kept = kept.and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    kept.map_err(Error::errno("sched_setaffinity"))
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
