//! `SIGSEGV` on a stack of its own, so that an overflow can still be reported.
#![expect(unsafe_code, reason = "signal handling")]

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

const STACK_BYTES: usize = 32 << 10;

static EXPLAIN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes a valid structure.
    let Some(info) = (unsafe { info.as_ref() }) else {
        return;
    };
    // SAFETY: SIGSEGV comes with an address.
    let address = unsafe { info.si_addr() } as usize;
    let explain = EXPLAIN.load(Ordering::Relaxed);
    if explain != 0 {
        // SAFETY: only `watch` stores here: a function of this type.
        let explain = unsafe { core::mem::transmute::<usize, fn(usize)>(explain) };
        explain(address);
    }
    // The fault is the program's own: with the default action the instruction faults again.
    set_action(signal, libc::SIG_DFL);
}

fn set_action(signal: i32, handler: usize) {
    // SAFETY: plain data.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: a complete action.
    unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
}

fn is_default(signal: i32) -> bool {
    // SAFETY: plain data.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: asks only.
    unsafe { libc::sigaction(signal, ptr::null(), &mut action) };
    action.sa_sigaction == libc::SIG_DFL
}

/// Gives the calling thread a stack for the handler unless the program did.
fn give_stack() {
    // SAFETY: plain data.
    let mut current: libc::stack_t = unsafe { core::mem::zeroed() };
    // SAFETY: asks only.
    unsafe { libc::sigaltstack(ptr::null(), &mut current) };
    if current.ss_flags & libc::SS_DISABLE == 0 {
        return;
    }
    if let Some(pages) = super::map_pages(STACK_BYTES, 0) {
        let stack = libc::stack_t {
            ss_sp: pages.as_ptr().cast(),
            ss_flags: 0,
            ss_size: STACK_BYTES,
        };
        // SAFETY: fresh memory that stays mapped.
        unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
    }
}

/// Calls `explain` with the address of each fault of the calling thread that no other handler handles.
pub(super) fn watch(explain: fn(usize)) {
    give_stack();
    if EXPLAIN.swap(explain as usize, Ordering::Relaxed) == 0 && is_default(libc::SIGSEGV) {
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) = handle;
        set_action(libc::SIGSEGV, handler as usize);
    }
}
