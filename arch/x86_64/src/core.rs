//! A core: a host thread with the kernel as signal handler
//!
//! The kernel's part of the discipline, in the order of `models/dispatch.pml`: coherence, save,
//! choose, restore. A signal bound to a thread is an interrupt: it activates that thread at once
//! if it is at least as important as the running one, else leaves an event for the scheduler.
#![expect(unsafe_code, reason = "is a signal handler")]

use std::cell::{Cell, UnsafeCell};
use std::io;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use bulkhead_abi::dispatch::{Dcb, EVENTS, EventKind, KERNEL_RESUME_OFFSET, MAX_THREADS, Scb};

use crate::context::{Context, resume_at};
use crate::stack::Stack;
use crate::switch::{Outcome, dispatch, thread_start};

/// A thread's first function; it must not return.
pub type Entry = extern "C" fn(u64) -> !;

/// Result of a request of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The thread ran; the caller is back.
    Done,
    /// Refused: an activation came between decision and request.
    Stale,
}

/// A system call: where it stands is in a register when the signal arrives, so that a thread that is
/// preempted in the middle of one finds its own again.
struct Request {
    thread: u64,
    epoch: u64,
    /// Absolute, nanoseconds; `None` leaves the one that is set.
    timeout: Option<u64>,
    done: bool,
}

struct Kernel {
    current: usize,
    exists: [bool; MAX_THREADS],
    saved: Vec<Option<Context>>,
    importance: [u64; MAX_THREADS],
    bindings: [Option<usize>; 65],
    timer: Timer,
}

/// A core. It stays on the host thread that made it and must not move.
pub struct Core {
    scb: Scb,
    dcbs: [Dcb; MAX_THREADS],
    stacks: UnsafeCell<Vec<Stack>>,
    kernel: UnsafeCell<Kernel>,
    process: u32,
}

/// Signal by which the scheduler enters the kernel.
const CALL: i32 = libc::SIGUSR1;
/// Signal of the scheduler's time-out.
const TIMEOUT: i32 = libc::SIGVTALRM;

thread_local! {
    static CORE: Cell<*const Core> = const { Cell::new(ptr::null()) };
}

impl Core {
    /// Makes the calling host thread a core; what runs is its thread 0.
    ///
    /// # Errors
    /// The operating system refuses the handler's stack.
    pub fn new() -> io::Result<Box<Self>> {
        let core = Box::new(Self {
            scb: Scb::new(),
            dcbs: [const {
                Dcb {
                    ip: zero(),
                    sp: zero(),
                }
            }; MAX_THREADS],
            stacks: UnsafeCell::new(Vec::with_capacity(MAX_THREADS)),
            kernel: UnsafeCell::new(Kernel {
                current: 0,
                exists: std::array::from_fn(|thread| thread == 0),
                saved: vec![None; MAX_THREADS],
                importance: [u64::MAX; MAX_THREADS],
                bindings: [None; 65],
                timer: Timer::new(TIMEOUT)?,
            }),
            process: std::process::id(),
        });
        CORE.set(&raw const *core);
        use_kernel_stack(Stack::new(64 * 1024)?)?;
        handle(CALL)?;
        handle(TIMEOUT)?;
        Ok(core)
    }

    /// The core of the calling host thread.
    ///
    /// # Panics
    /// The calling thread is no core.
    #[inline(always)]
    #[must_use]
    pub fn here() -> &'static Self {
        // SAFETY: null, or a core, which outlives all that runs on it.
        unsafe { CORE.get().as_ref() }.expect("a core was made on this host thread")
    }

    /// The control block that scheduler and kernel share.
    #[inline(always)]
    #[must_use]
    pub const fn scb(&self) -> &Scb {
        &self.scb
    }

    /// A thread's dispatch block.
    #[inline(always)]
    #[must_use]
    pub fn dcb(&self, thread: usize) -> &Dcb {
        &self.dcbs[thread]
    }

    /// Creates thread `index`, which will run `entry(index)`.
    ///
    /// # Errors
    /// There is one of that index, or no such index; or what the operating system says about its stack.
    pub fn spawn(&self, index: usize, entry: Entry) -> io::Result<()> {
        let stack = Stack::new(64 * 1024)?;
        let sp = prepare(&stack, entry, index);
        let _masked = Masked::new();
        // SAFETY: signals are masked, so the handler does not run.
        let kernel = unsafe { &mut *self.kernel.get() };
        match kernel.exists.get_mut(index) {
            Some(exists) if !*exists => *exists = true,
            _ => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        // SAFETY: only this host thread touches the list, and no signal handler does.
        unsafe { (*self.stacks.get()).push(stack) };
        self.dcbs[index].ip.store(thread_start(), Relaxed);
        self.dcbs[index].sp.store(sp, Release);
        Ok(())
    }

    /// Binds a signal to a thread: it becomes that thread's interrupt. Smaller `importance` is
    /// more important; a thread without one is least important.
    ///
    /// # Errors
    /// The operating system refuses the handler.
    pub fn bind(&self, signal: i32, thread: usize) -> io::Result<()> {
        let _masked = Masked::new();
        // SAFETY: signals are masked, so the handler does not run.
        unsafe { (*self.kernel.get()).bindings[signal as usize] = Some(thread) };
        handle(signal)
    }

    /// Sets how important a thread is to the kernel's comparison at an interrupt.
    pub fn set_importance(&self, thread: usize, importance: u64) {
        let _masked = Masked::new();
        // SAFETY: signals are masked, so the handler does not run.
        unsafe { (*self.kernel.get()).importance[thread] = importance };
    }

    /// Switches to `next` in user mode where possible, else through the kernel.
    ///
    /// # Safety
    /// Called by the running thread of this core, which is `caller`; `next` is another thread.
    #[inline(always)]
    pub unsafe fn switch(&self, caller: usize, next: usize, epoch: u64) -> Activation {
        // SAFETY: the caller's contract; blocks of this core, `next` filled by its thread alone.
        let outcome = unsafe {
            dispatch(
                self.dcb(caller),
                self.dcb(next),
                next as u64,
                &self.scb,
                epoch,
            )
        };
        match outcome {
            Outcome::Resumed => Activation::Done,
            Outcome::Stale => Activation::Stale,
            Outcome::NeedsKernel => self.dispatch(next, None, epoch),
        }
    }

    /// Asks the kernel to run `thread`, and thread 0 at `timeout`, nanoseconds of the monotonic clock;
    /// `None` keeps the one that is set.
    #[cold]
    pub fn dispatch(&self, thread: usize, timeout: Option<u64>, epoch: u64) -> Activation {
        let thread = thread as u64;
        let mut request = Request {
            thread,
            epoch,
            timeout,
            done: false,
        };
        // SAFETY: no arguments.
        let host_thread = unsafe { libc::gettid() };
        // SAFETY: raises a signal that has a handler, which reads and writes the request while this
        // thread stands at the instruction behind the call.
        unsafe {
            ::core::arch::asm!("syscall",
                inlateout("rax") libc::SYS_tgkill => _,
                in("rdi") u64::from(self.process), in("rsi") i64::from(host_thread),
                in("rdx") i64::from(CALL), in("r9") &raw mut request,
                out("rcx") _, out("r11") _);
        }
        if request.done {
            Activation::Done
        } else {
            Activation::Stale
        }
    }

    /// Reads the next event: thread and kind.
    pub fn next_event(&self) -> Option<(usize, u32)> {
        let consumed = self.scb.consumed.load(Relaxed);
        if consumed == self.scb.produced.load(Acquire) {
            return None;
        }
        let event = &self.scb.events[consumed as usize % EVENTS];
        let (thread, kind) = (event.thread.load(Relaxed), event.kind.load(Relaxed));
        self.scb.consumed.store(consumed.wrapping_add(1), Release);
        Some((thread as usize, kind))
    }

    /// Kernel entry.
    ///
    /// # Safety
    /// Called by the signal handler, on the host thread of this core.
    unsafe fn enter(&self, signal: i32, frame: *mut libc::ucontext_t) {
        // SAFETY: handlers of this core do not nest (all signals are masked in a handler).
        let kernel = unsafe { &mut *self.kernel.get() };
        let claimed = self.scb.current.load(Relaxed) as usize;
        if kernel.exists.get(claimed) == Some(&true) {
            kernel.current = claimed;
        }
        let target = match signal {
            // SAFETY: the frame is the handler's, and stands behind a system call.
            CALL => unsafe { self.decide_request(kernel, frame) },
            TIMEOUT => Some(self.activate(0)),
            _ => self.decide_interrupt(kernel, signal),
        };
        if let Some(target) = target.filter(|&target| target != kernel.current) {
            // SAFETY: the frame is the handler's.
            kernel.saved[kernel.current] = Some(unsafe { Context::of(frame) });
            // SAFETY: likewise.
            unsafe { self.restore(kernel, target, frame) };
        }
    }

    /// # Safety
    /// `frame` is the handler's, behind a system call.
    unsafe fn decide_request(
        &self,
        kernel: &mut Kernel,
        frame: *mut libc::ucontext_t,
    ) -> Option<usize> {
        // SAFETY: the kernel built the frame.
        let place = unsafe { (*frame).uc_mcontext.gregs[libc::REG_R9 as usize] };
        let request: *mut Request = ::core::ptr::with_exposed_provenance_mut(place as usize);
        // SAFETY: on the stack of the thread that called.
        let request = unsafe { &mut *request };
        let exists = kernel.exists.get(request.thread as usize) == Some(&true);
        request.done = exists && request.epoch == self.scb.epoch.load(Relaxed);
        if !request.done {
            return None;
        }
        if let Some(timeout) = request.timeout {
            kernel.timer.set(timeout);
        }
        Some(request.thread as usize)
    }

    /// A thread runs without being asked.
    fn activate(&self, thread: usize) -> usize {
        self.scb.epoch.fetch_add(1, Relaxed);
        thread
    }

    fn decide_interrupt(&self, kernel: &mut Kernel, signal: i32) -> Option<usize> {
        let thread = kernel.bindings[signal as usize]?;
        // One that finds no room is merged with those that wait to be read.
        let _merged = self.push_event(thread, EventKind::Activated);
        let preempts = kernel.importance[thread] <= kernel.importance[kernel.current];
        (preempts && thread != kernel.current).then(|| self.activate(thread))
    }

    fn push_event(&self, thread: usize, kind: EventKind) -> bool {
        let produced = self.scb.produced.load(Relaxed);
        if produced.wrapping_sub(self.scb.consumed.load(Acquire)) as usize >= EVENTS {
            return false;
        }
        let event = &self.scb.events[produced as usize % EVENTS];
        event.thread.store(thread as u32, Relaxed);
        event.kind.store(kind as u32, Relaxed);
        self.scb.produced.store(produced.wrapping_add(1), Release);
        true
    }

    /// Leaves to `target`: from its block where it dispatched away in user mode, else from the
    /// registers that were saved.
    ///
    /// # Safety
    /// `frame` is the running handler's.
    unsafe fn restore(&self, kernel: &mut Kernel, target: usize, frame: *mut libc::ucontext_t) {
        let block = &self.dcbs[target];
        let sp = block.sp.load(Relaxed);
        kernel.current = target;
        self.scb.current.store(target as u64, Relaxed);
        if sp != 0 {
            let ip = block.ip.load(Relaxed) + KERNEL_RESUME_OFFSET;
            // SAFETY: stored by the thread itself when it dispatched away (invariants 3 and 5).
            unsafe { resume_at(frame, ip, sp) };
            block.sp.store(0, Relaxed);
        } else if let Some(context) = kernel.saved[target].take() {
            // SAFETY: saved from a frame of this process.
            unsafe { context.put(frame) };
        }
    }
}

const fn zero() -> std::sync::atomic::AtomicU64 {
    std::sync::atomic::AtomicU64::new(0)
}

/// Lays entry and index on a new stack, aligned as the ABI wants it at a call.
fn prepare(stack: &Stack, entry: Entry, index: usize) -> u64 {
    let base = stack.top().wrapping_sub(4);
    // SAFETY: the topmost words of a stack that no thread uses yet.
    unsafe { base.write(entry as *const () as u64) };
    // SAFETY: likewise.
    unsafe { base.wrapping_add(1).write(index as u64) };
    base as u64
}

fn use_kernel_stack(stack: Stack) -> io::Result<()> {
    let (base, size) = stack.usable();
    let description = libc::stack_t {
        ss_sp: base,
        ss_flags: 0,
        ss_size: size,
    };
    // SAFETY: the stack is mapped and, forgotten below, stays so.
    let result = unsafe { libc::sigaltstack(&raw const description, ptr::null_mut()) };
    let _kept = std::mem::ManuallyDrop::new(stack);
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn handle(signal: i32) -> io::Result<()> {
    // SAFETY: all-zero is a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_signal as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: a valid set to fill.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    // SAFETY: the handler has the signature that SA_SIGINFO asks for.
    match unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The timer of a core.
struct Timer(libc::timer_t);

impl Timer {
    /// A timer that raises `signal` on the calling host thread.
    fn new(signal: i32) -> io::Result<Self> {
        // SAFETY: all-zero is a valid event description.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        // SAFETY: no arguments.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: valid pointers.
        match unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } {
            0 => Ok(Self(timer)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Raises the signal at `at`, nanoseconds of the monotonic clock; `u64::MAX`: never.
    fn set(&self, at: u64) {
        const SECOND: u64 = 1_000_000_000;
        // SAFETY: all-zero is a valid setting, which disarms.
        let mut setting: libc::itimerspec = unsafe { std::mem::zeroed() };
        if at != u64::MAX {
            setting.it_value.tv_sec = (at / SECOND) as i64;
            // Zero would disarm.
            setting.it_value.tv_nsec = (at % SECOND).max(1) as i64;
        }
        // SAFETY: the timer is there; may be called in a signal handler (signal-safety(7)).
        unsafe {
            libc::timer_settime(
                self.0,
                libc::TIMER_ABSTIME,
                &raw const setting,
                ptr::null_mut(),
            )
        };
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: made in `new`.
        unsafe { libc::timer_delete(self.0) };
    }
}

extern "C" fn on_signal(signal: i32, _info: *mut libc::siginfo_t, frame: *mut libc::c_void) {
    // SAFETY: null, or the core of this host thread, which outlives its use.
    if let Some(core) = unsafe { CORE.get().as_ref() } {
        // SAFETY: this is its handler.
        unsafe { core.enter(signal, frame.cast()) };
    }
}

/// Signals are masked while this lives.
struct Masked(libc::sigset_t);

impl Masked {
    fn new() -> Self {
        // SAFETY: all-zero is a valid set.
        let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
        let mut old = all;
        // SAFETY: a valid set to fill.
        unsafe { libc::sigfillset(&raw mut all) };
        // SAFETY: valid sets.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old) };
        Self(old)
    }
}

impl Drop for Masked {
    fn drop(&mut self) {
        // SAFETY: the set that was in force.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}
