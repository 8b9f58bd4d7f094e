//! Reservations of processor time: SCHED_DEADLINE (`sched(7)`, `sched_setattr(2)`)
#![expect(unsafe_code, reason = "a system call that the library does not know")]

use crate::error::Error;
use nix::errno::Errno;
use nix::libc;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::ClockId;
use nix::unistd::Pid;

/// The calling thread gets `runtime_ns` in every `period_ns`, and no more, with the period as its
/// deadline.
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

/// Features of the scheduler, in kernels built with that choice.
const FEATURES: &str = "/sys/kernel/debug/sched/features";

/// From now on reservations are cut by a timer of their own, not by the next tick, until which
/// others would wait: for up to 4 ms at 250 ticks a second.
///
/// # Errors
/// The kernel has no such timers (`CONFIG_SCHED_HRTICK`, `CONFIG_SCHED_DEBUG`), or debugfs is not
/// mounted.
pub fn cut_exactly() -> Result<(), Error> {
    std::fs::write(FEATURES, "HRTICK_DL").map_err(Error::file(FEATURES))
}

/// Processor time that the calling thread has used, nanoseconds: by what the kernel charges a
/// reservation with (`clock_gettime(2)`). `None` if the kernel does not report it.
#[must_use]
pub fn used_ns() -> Option<u64> {
    let used = ClockId::CLOCK_THREAD_CPUTIME_ID.now().ok()?;
    u64::try_from(std::time::Duration::from(used).as_nanos()).ok()
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
