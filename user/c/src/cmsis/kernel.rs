//! Kernel information and control, and delays

use super::{ERROR, OK, PARAMETER, TICK_FREQUENCY, clock_ticks, may_wait, status, until};
use crate::program::slite_up;
use crate::{THREADS, guard};
use bulkhead_component::clock;
use bulkhead_sched::policy::Priority;
use bulkhead_slite::NEVER;
use core::arch::global_asm;
use core::ffi::c_char;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU64};

// `osKernelState_t`.
const INACTIVE: i32 = 0;
const READY: i32 = 1;
const RUNNING: i32 = 2;
const LOCKED: i32 = 3;

static STATE: AtomicI32 = AtomicI32::new(INACTIVE);
/// The instant at which the kernel started.
static START: AtomicU64 = AtomicU64::new(0);

// A program for CMSIS-RTOS begins with `main`. One for `slite.h` has its own `slite_main`.
global_asm!(
    r#"
.section .text.slite_main, "ax"
.weak slite_main
.weak main
slite_main:
    b       main
"#
);

/// True once the kernel is initialised.
pub(super) fn is_initialised() -> bool {
    STATE.load(Relaxed) != INACTIVE
}

#[unsafe(no_mangle)]
extern "C" fn osKernelInitialize() -> i32 {
    match STATE.compare_exchange(INACTIVE, READY, Relaxed, Relaxed) {
        Ok(_) | Err(READY) => OK,
        Err(_) => ERROR,
    }
}

/// The structure of the header.
#[repr(C)]
struct Version {
    api: u32,
    kernel: u32,
}

/// 2.3.0 of the interface, 1.0.0 of this layer.
const VERSION: Version = Version {
    api: 20_030_000,
    kernel: 10_000_000,
};
const NAME: &[u8] = b"Bulkhead SliteOS\0";

#[unsafe(no_mangle)]
unsafe extern "C" fn osKernelGetInfo(version: *mut Version, place: *mut c_char, size: u32) -> i32 {
    if !version.is_null() {
        // SAFETY: the caller's place.
        unsafe { version.write(VERSION) };
    }
    if !place.is_null() && size > 0 {
        let count = NAME.len().min(size as usize);
        // SAFETY: the caller's place of that size.
        unsafe { NAME.as_ptr().copy_to_nonoverlapping(place.cast(), count) };
        // SAFETY: as above.
        unsafe { place.wrapping_add(count - 1).write(0) };
    }
    OK
}

#[unsafe(no_mangle)]
extern "C" fn osKernelGetState() -> i32 {
    match guard::LOCKED.load(Relaxed) {
        true => LOCKED,
        false => STATE.load(Relaxed),
    }
}

/// Reports that the partition is up and runs the threads; returns with an error, or when no thread will ever be ready again.
#[unsafe(no_mangle)]
extern "C" fn osKernelStart() -> i32 {
    if THREADS.current() != 0 || STATE.load(Relaxed) != READY {
        return ERROR;
    }
    bulkhead_libc::flush();
    START.store(clock::now(), Relaxed);
    STATE.store(RUNNING, Relaxed);
    slite_up();
    THREADS.run(NEVER);
    loop {
        clock::wait_for_interrupt();
    }
}

/// Sets the lock. Returns the lock before, or an error.
fn set_lock(locked: bool) -> i32 {
    if THREADS.current() == 0 || STATE.load(Relaxed) != RUNNING {
        return ERROR;
    }
    if locked && !THREADS.set_ceiling(Some(Priority(0))) {
        return ERROR;
    }
    let before = guard::LOCKED.swap(locked, Relaxed);
    if !locked {
        THREADS.set_ceiling(None);
    }
    before.into()
}

#[unsafe(no_mangle)]
extern "C" fn osKernelLock() -> i32 {
    set_lock(true)
}

#[unsafe(no_mangle)]
extern "C" fn osKernelUnlock() -> i32 {
    set_lock(false)
}

#[unsafe(no_mangle)]
extern "C" fn osKernelRestoreLock(lock: i32) -> i32 {
    match lock {
        0 | 1 => match set_lock(lock == 1) {
            0 | 1 => lock,
            error => error,
        },
        _ => ERROR,
    }
}

/// There is no tick to suspend: the clock wakes the kernel only at the next time-out.
#[unsafe(no_mangle)]
extern "C" fn osKernelSuspend() -> u32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn osKernelResume(_ticks: u32) {}

/// Clock ticks since the kernel started.
fn uptime() -> u64 {
    match START.load(Relaxed) {
        0 => 0,
        start => clock::now() - start,
    }
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn osKernelGetTickCount() -> u32 {
    (uptime() / clock_ticks(1)) as u32
}

#[unsafe(no_mangle)]
extern "C" fn osKernelGetTickFreq() -> u32 {
    TICK_FREQUENCY as u32
}

#[unsafe(no_mangle)]
extern "C" fn osKernelGetSysTimerCount() -> u32 {
    uptime() as u32
}

#[unsafe(no_mangle)]
extern "C" fn osKernelGetSysTimerFreq() -> u32 {
    clock::frequency() as u32
}

#[unsafe(no_mangle)]
extern "C" fn osDelay(ticks: u32) -> i32 {
    status(may_wait(ticks.max(1)).map(|()| {
        if ticks > 0 {
            THREADS.sleep_until(until(ticks));
        }
    }))
}

#[unsafe(no_mangle)]
extern "C" fn osDelayUntil(ticks: u32) -> i32 {
    let now = osKernelGetTickCount();
    let distance = ticks.wrapping_sub(now);
    if distance == 0 || distance > i32::MAX as u32 {
        return PARAMETER;
    }
    status(may_wait(distance).map(|()| {
        let due = uptime() / clock_ticks(1) + u64::from(distance);
        THREADS.sleep_until(START.load(Relaxed) + clock_ticks(due));
    }))
}
