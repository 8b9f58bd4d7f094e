//! Linux: pthreads, futexes, `mmap`, `membarrier`.
#![expect(unsafe_code, reason = "every line is a system call")]

mod fault;

use super::interface::{Backend, Policy, Stack, SystemError};
use crate::core_set::CoreSet;
use core::ffi::{CStr, c_long, c_void};
use core::fmt;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence, fence};

/// See the module.
#[derive(Debug)]
pub enum Linux {}

const PAGE: usize = 4096;

/// Linux 6.13: a guard that does not split the mapping, so that stacks are not limited by
/// `vm.max_map_count`.
const MADV_GUARD_INSTALL: i32 = 102;

const MEMBARRIER_PRIVATE_EXPEDITED: c_long = 1 << 3;
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: c_long = 1 << 4;

fn membarrier(command: c_long) -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

fn map_pages(bytes: usize, flags: i32) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a fresh private mapping.
    let pages = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if pages == libc::MAP_FAILED {
        None
    } else {
        NonNull::new(pages.cast())
    }
}

fn guard(page: *mut c_void) -> bool {
    // SAFETY: the page belongs to a mapping that is not in use yet.
    if unsafe { libc::madvise(page, PAGE, MADV_GUARD_INSTALL) } == 0 {
        return true;
    }
    // SAFETY: as above.
    unsafe { libc::mprotect(page, PAGE, libc::PROT_NONE) == 0 }
}

struct Start {
    main: extern "C" fn(usize),
    argument: usize,
}

extern "C" fn start(start: *mut c_void) -> *mut c_void {
    let start = start.cast::<Start>();
    // SAFETY: `spawn` passes a block it filled and does not use again.
    let Start { main, argument } = unsafe { start.read() };
    if let Some(block) = NonNull::new(start.cast()) {
        // SAFETY: as above.
        unsafe { Linux::release(block) };
    }
    main(argument);
    ptr::null_mut()
}

fn create_detached(start_block: *mut c_void, stack_bytes: usize) -> i32 {
    // SAFETY: plain data, initialised by the next call.
    let mut attributes: libc::pthread_attr_t = unsafe { core::mem::zeroed() };
    // SAFETY: a valid attribute object.
    unsafe { libc::pthread_attr_init(&mut attributes) };
    // SAFETY: a valid attribute object.
    unsafe { libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED) };
    // SAFETY: a valid attribute object; a size out of range leaves the default.
    unsafe { libc::pthread_attr_setstacksize(&mut attributes, stack_bytes) };
    let mut thread: libc::pthread_t = 0;
    // SAFETY: `start` takes over the block.
    let status = unsafe { libc::pthread_create(&mut thread, &attributes, start, start_block) };
    // SAFETY: a valid attribute object, not used again.
    unsafe { libc::pthread_attr_destroy(&mut attributes) };
    status
}

const EXIT_KEY_NONE: u32 = u32::MAX;
static EXIT_KEY: AtomicU32 = AtomicU32::new(EXIT_KEY_NONE);

fn exit_key(leave: extern "C" fn(*mut c_void)) -> Option<libc::pthread_key_t> {
    let stored = EXIT_KEY.load(Ordering::Acquire);
    if stored != EXIT_KEY_NONE {
        return Some(stored);
    }
    let mut key = 0;
    // SAFETY: the destructor has the right type.
    if unsafe { libc::pthread_key_create(&mut key, Some(leave)) } != 0 {
        return None;
    }
    let (won, lost) = (Ordering::AcqRel, Ordering::Acquire);
    match EXIT_KEY.compare_exchange(EXIT_KEY_NONE, key, won, lost) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: this call made it and has passed it to no other thread.
            unsafe { libc::pthread_key_delete(key) };
            Some(other)
        }
    }
}

#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

impl SchedAttr {
    fn new(policy: Policy) -> Self {
        let (number, priority, [runtime_ns, deadline_ns, period_ns]) = match policy {
            Policy::Other => (libc::SCHED_OTHER, 0, [0; 3]),
            Policy::Fifo { priority } => (libc::SCHED_FIFO, priority, [0; 3]),
            Policy::Deadline {
                runtime_ns,
                deadline_ns,
                period_ns,
            } => (
                libc::SCHED_DEADLINE,
                0,
                [runtime_ns, deadline_ns, period_ns],
            ),
        };
        let size = size_of::<Self>() as u32;
        let policy = number as u32;
        Self {
            size,
            policy,
            flags: 0,
            nice: 0,
            priority,
            runtime_ns,
            deadline_ns,
            period_ns,
        }
    }
}

/// A thread's name: Linux keeps 15 bytes and a terminating zero.
#[derive(Default)]
struct Name {
    text: [u8; 16],
    length: usize,
}

impl fmt::Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let last = self.text.len() - 1;
        for (to, from) in self
            .text
            .iter_mut()
            .take(last)
            .skip(self.length)
            .zip(text.bytes())
        {
            *to = from;
            self.length += 1;
        }
        Ok(())
    }
}

type ForkHandler = Option<extern "C" fn()>;

/* POSIX; the `libc` crate declares it with unsafe handlers only. */
unsafe extern "C" {
    fn pthread_atfork(before: ForkHandler, parent: ForkHandler, child: ForkHandler) -> i32;
}

fn errno() -> i32 {
    // SAFETY: no arguments.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the calling thread's own variable.
    unsafe { place.read() }
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    let timeout = ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, timeout) };
}

impl Backend for Linux {
    /// Linux's default for a thread; untouched pages cost address space only.
    const STACK_BYTES: usize = 8 << 20;
    const STACK_TEXT: &'static str = "8M";
    const WATCH_ROUNDS: u32 = 4_000;
    const YIELDS: u32 = 200;

    fn map(bytes: usize) -> Option<NonNull<u8>> {
        map_pages(bytes.next_multiple_of(PAGE), 0)
    }

    fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let mut block = ptr::null_mut();
        // SAFETY: a valid place for the answer; the alignment is a power of two.
        let status = unsafe { libc::posix_memalign(&mut block, align.max(16), bytes.max(1)) };
        if status == 0 {
            NonNull::new(block.cast()).inspect(|block| crate::tsan::release(block.as_ptr()))
        } else {
            None
        }
    }

    unsafe fn release(block: NonNull<u8>) {
        crate::tsan::acquire(block.as_ptr());
        // SAFETY: the caller's promise.
        unsafe { libc::free(block.as_ptr().cast()) };
    }

    fn map_stack(bytes: usize) -> Option<Stack> {
        let bytes = bytes.next_multiple_of(PAGE);
        let pages = map_pages(bytes + PAGE, libc::MAP_NORESERVE | libc::MAP_STACK)?;
        if !guard(pages.as_ptr().cast()) {
            return None;
        }
        let low = pages.as_ptr() as usize + PAGE;
        Some(Stack {
            low,
            high: low + bytes,
        })
    }

    fn own_stack() -> Stack {
        // SAFETY: plain data, initialised by the next call.
        let mut attributes: libc::pthread_attr_t = unsafe { core::mem::zeroed() };
        // SAFETY: no arguments.
        let thread = unsafe { libc::pthread_self() };
        // SAFETY: the calling thread exists.
        unsafe { libc::pthread_getattr_np(thread, &mut attributes) };
        let (mut low, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: a valid attribute object.
        unsafe { libc::pthread_attr_getstack(&attributes, &mut low, &mut bytes) };
        // SAFETY: a valid attribute object, not used again.
        unsafe { libc::pthread_attr_destroy(&mut attributes) };
        Stack {
            low: low as usize,
            high: low as usize + bytes,
        }
    }

    fn spawn(
        main: extern "C" fn(usize),
        argument: usize,
        stack_bytes: usize,
    ) -> Result<(), SystemError> {
        let block = Self::allocate(size_of::<Start>(), align_of::<Start>());
        let block = block.ok_or(SystemError(libc::ENOMEM))?;
        let start = block.cast::<Start>();
        // SAFETY: fresh and large enough.
        unsafe { start.write(Start { main, argument }) };
        match create_detached(start.as_ptr().cast(), stack_bytes) {
            0 => Ok(()),
            status => {
                // SAFETY: no thread was made that could use it.
                unsafe { Self::release(block) };
                Err(SystemError(status))
            }
        }
    }

    fn watch_exit(leave: extern "C" fn(*mut c_void)) {
        if let Some(key) = exit_key(leave) {
            // SAFETY: a live key; any non-null value makes the destructor run.
            unsafe { libc::pthread_setspecific(key, ptr::dangling()) };
        }
    }

    fn park(word: &AtomicU32, expected: u32) {
        futex(word, libc::FUTEX_WAIT, expected);
    }

    fn unpark(word: &AtomicU32) {
        futex(word, libc::FUTEX_WAKE, 1);
    }

    fn yield_now() {
        // SAFETY: no arguments.
        unsafe { libc::sched_yield() };
    }

    fn watch_fork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
        // SAFETY: functions that live as long as the library; without memory fork is not watched.
        unsafe { pthread_atfork(Some(before), Some(parent), Some(child)) };
    }

    fn watch_faults(explain: fn(usize)) {
        fault::watch(explain);
    }

    /// While the process has one thread this takes no time; among several the kernel waits until each
    /// of its processors has passed through the scheduler, ten milliseconds and more.
    fn prepare_fences() {
        membarrier(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED);
    }

    fn heavy_fence() {
        fence(Ordering::SeqCst);
        if !membarrier(MEMBARRIER_PRIVATE_EXPEDITED) {
            Self::write_error(
                b"bulkhead-omp: the kernel has no membarrier (Linux 4.14 or newer is needed)\n",
            );
            Self::abort();
        }
    }

    #[inline(always)]
    fn light_fence() {
        compiler_fence(Ordering::SeqCst);
    }

    fn core_set() -> CoreSet {
        let mut set = CoreSet::EMPTY;
        // SAFETY: plain data.
        let mut mask: libc::cpu_set_t = unsafe { core::mem::zeroed() };
        // SAFETY: a valid place of the size given.
        if unsafe { libc::sched_getaffinity(0, size_of_val(&mask), &mut mask) } != 0 {
            return CoreSet::single(0);
        }
        for core in 0..CoreSet::CAPACITY {
            // SAFETY: the mask has room for 1024 cores.
            if unsafe { libc::CPU_ISSET(core as usize, &mask) } {
                set.insert(core);
            }
        }
        set
    }

    fn run_on(cores: &CoreSet) {
        let words = cores.words();
        let mask = words.as_ptr().cast::<libc::cpu_set_t>();
        // SAFETY: the mask is as long as said; a refusal leaves the thread where it was.
        unsafe { libc::sched_setaffinity(0, size_of_val(words), mask) };
    }

    const THREADS_END: bool = true;

    fn thread_id() -> u32 {
        // SAFETY: no arguments.
        unsafe { libc::gettid() as u32 }
    }

    fn name_thread(index: u32) {
        let mut name = Name::default();
        let _ = fmt::Write::write_fmt(&mut name, format_args!("omp-{index}"));
        // SAFETY: a terminated text of at most 16 bytes.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.text.as_ptr()) };
    }

    fn process_id() -> u32 {
        // SAFETY: no arguments.
        unsafe { libc::getpid() as u32 }
    }

    fn write_host_name(out: &mut dyn fmt::Write) -> fmt::Result {
        let mut name = [0u8; 65];
        // SAFETY: one byte less than there is, so that the name ends.
        unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
        let name = CStr::from_bytes_until_nul(&name).unwrap_or(c"");
        out.write_str(name.to_str().unwrap_or("?"))
    }

    fn now_ns() -> u64 {
        clock_ns(libc::CLOCK_MONOTONIC)
    }

    fn environment(name: &CStr) -> Option<&'static CStr> {
        // SAFETY: a terminated name.
        let value = unsafe { libc::getenv(name.as_ptr()) };
        // SAFETY: a terminated value that lives as long as the environment.
        (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
    }

    fn write_error(text: &[u8]) {
        // SAFETY: a valid buffer; a lost message cannot be reported anywhere.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    }

    fn abort() -> ! {
        // SAFETY: ends the process as a failed program does, running no handlers of the runtime.
        unsafe { libc::exit(1) }
    }

    fn save(path: &CStr, contents: &[u8]) {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
        // SAFETY: a terminated path.
        let file = unsafe { libc::open(path.as_ptr(), flags, 0o644) };
        let mut rest = contents;
        while let [_, ..] = rest {
            // SAFETY: a valid buffer.
            let written = unsafe { libc::write(file, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written)
                .ok()
                .and_then(|written| rest.get(written..))
            {
                Some(unwritten) if written > 0 => rest = unwritten,
                _ => break,
            }
        }
        // SAFETY: ours.
        unsafe { libc::close(file) };
    }

    fn set_policy(policy: Policy) -> Result<(), SystemError> {
        let attr = SchedAttr::new(policy);
        // SAFETY: a complete attribute structure of the size it names.
        let status = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
        if status == 0 {
            Ok(())
        } else {
            Err(SystemError(errno()))
        }
    }
}
