//! Carriers: the one thread of each core that runs the program.
//!
//! *Parking.* A thread that parks records the word in its core's record, and then looks at the word; a thread that unparks
//! has changed the word, and then looks at the records, at most one for each core. Both have a whole fence
//! in between, so one of them sees the other (the store-buffering pattern; Alglave et al., TOPLAS 2014).
//! A notification that comes before the wait is kept by the end-point, so none is lost; one that comes for
//! a former word only makes the waiter look again.
//!
//! *Thread-local storage.* TPIDR_EL0 is the core's and no component of the partition but this one runs, so
//! no switch saves it: it is set once for each core. It points to a thread control block of two words (Arm,
//! ELF for the Arm 64-bit Architecture, "Thread Local Storage"), the first of which is the core's record.
#![expect(
    unsafe_code,
    reason = "registers, stacks, and a record behind a register"
)]

use super::super::System;
use super::super::interface::{Backend, Stack};
use super::{heap, processor};
use bulkhead_abi::kernel::{MAX_CORES, Operation, Status};
use bulkhead_component::First;
use bulkhead_component::call::call;
use core::arch::{asm, global_asm, naked_asm};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Alignment of a thread's block, made that of the segment by `bulkhead_omp_tls`, so that offsets the
/// linker computed hold; a program with larger variables does not link.
const TLS_ALIGN: usize = 64;
/// The control block, rounded up to that.
const CONTROL: usize = TLS_ALIGN;

global_asm!(
    ".pushsection .tdata.bulkhead_omp_tls,\"awTR\",@progbits",
    ".p2align 6",
    ".quad 0",
    ".popsection",
);

unsafe extern "C" {
    /* The linker script's: the initial image of a thread's block, its initialised part, its end. */
    safe static __tls_start: u8;
    safe static __tls_data_end: u8;
    safe static __tls_end: u8;
}

/// A core and its carrier.
pub(crate) struct Carrier {
    rank: AtomicUsize,
    /// The word at which it is parked, or 0.
    parked_at: AtomicUsize,
    receive: AtomicU64,
    send: AtomicU64,
    /// The carrier has work that never ends.
    taken: AtomicBool,
    /// Function that it runs (0: none yet), its argument, and its stack. `main` is written last.
    main: AtomicUsize,
    argument: AtomicUsize,
    stack: [AtomicUsize; 2],
}

static CARRIERS: [Carrier; MAX_CORES] = [const {
    Carrier {
        rank: AtomicUsize::new(0),
        parked_at: AtomicUsize::new(0),
        receive: AtomicU64::new(0),
        send: AtomicU64::new(0),
        taken: AtomicBool::new(false),
        main: AtomicUsize::new(0),
        argument: AtomicUsize::new(0),
        stack: [const { AtomicUsize::new(0) }; 2],
    }
}; MAX_CORES];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// How many there are.
pub(crate) fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// Carrier of the calling core.
pub(crate) fn current() -> &'static Carrier {
    let block: *const *const Carrier;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) block, options(nomem, nostack, preserves_flags)) };
    // SAFETY: `open` set it, for good, before anything else ran on the core.
    let carrier = unsafe { block.read() };
    // SAFETY: as above; it points to one of `CARRIERS`.
    unsafe { &*carrier }
}

/// Makes the calling core, the `rank`th, ready to run a carrier.
pub(crate) fn open(first: &mut First, rank: usize) -> Result<(), Status> {
    let carrier = CARRIERS.get(rank).ok_or(Status::BadArgument)?;
    carrier.rank.store(rank, Ordering::Relaxed);
    set_block(carrier).ok_or(Status::NoCapability)?;
    let [receive, send] = processor::of(rank).furnish(first)?;
    carrier.receive.store(receive, Ordering::Relaxed);
    carrier.send.store(send, Ordering::Relaxed);
    COUNT.fetch_max(rank + 1, Ordering::Release);
    Ok(())
}

/// Thread-local storage of the calling core.
fn set_block(carrier: &'static Carrier) -> Option<()> {
    let start = &raw const __tls_start;
    let size = |end: *const u8| end.addr() - start.addr();
    let (data, all) = (size(&raw const __tls_data_end), size(&raw const __tls_end));
    let block = System::map(CONTROL + all)?.as_ptr();
    let image = block.wrapping_add(CONTROL);
    // SAFETY: fresh memory of that size; the image is the linker's.
    unsafe { ptr::copy_nonoverlapping(start, image, data) };
    let place = block.cast::<*const Carrier>();
    // SAFETY: fresh, aligned to a page.
    unsafe { place.write(carrier) };
    // SAFETY: no thread-local variable was reached on this core before.
    unsafe { asm!("msr tpidr_el0, {}", in(reg) block, options(nostack, preserves_flags)) };
    Some(())
}

/// Gives work that never ends to a carrier that has none.
pub(crate) fn employ(main: extern "C" fn(usize), argument: usize, stack: usize) -> Option<()> {
    let idle = |carrier: &&Carrier| !carrier.taken.swap(true, Ordering::Relaxed);
    let carrier = CARRIERS.iter().take(count()).find(idle)?;
    let Some(stack) = heap::stack(stack) else {
        carrier.taken.store(false, Ordering::Relaxed);
        return None;
    };
    for (place, bound) in carrier.stack.iter().zip([stack.low, stack.high]) {
        place.store(bound, Ordering::Relaxed);
    }
    carrier.argument.store(argument, Ordering::Relaxed);
    carrier.main.store(main as usize, Ordering::Release);
    carrier.notify();
    Some(())
}

/// First function of a carrier: waits on the kernel's small stack until there is something to run.
pub(crate) extern "C" fn carry(_: u64) -> ! {
    let carrier = current();
    while carrier.main.load(Ordering::Acquire) == 0 {
        carrier.wait();
    }
    let [main, argument] = [&carrier.main, &carrier.argument];
    let [main, argument] = [main, argument].map(|word| word.load(Ordering::Relaxed));
    // SAFETY: the stack is the carrier's own; `employ` stored a function, which does not return.
    unsafe { enter(argument, main, carrier.stack().high) }
}

/// Calls `main(argument)` on the stack that ends at `high`.
///
/// # Safety
/// The stack is the caller's alone, `main` a function that does not return.
#[unsafe(naked)]
unsafe extern "C" fn enter(argument: usize, main: usize, high: usize) -> ! {
    naked_asm!(
        "mov sp, x2",
        "mov x29, xzr",
        "mov x30, xzr",
        "blr x1",
        "udf #4"
    )
}

impl Carrier {
    /// Its place among the partition's cores.
    pub(crate) fn rank(&self) -> usize {
        self.rank.load(Ordering::Relaxed)
    }

    /// Bounds of its stack.
    pub(crate) fn stack(&self) -> Stack {
        let [low, high] = [0, 1].map(|bound: usize| self.stack[bound].load(Ordering::Relaxed));
        Stack { low, high }
    }

    fn notify(&self) {
        let _counts = call(self.send.load(Ordering::Relaxed), Operation::Send, []);
    }

    fn wait(&self) {
        let receive = self.receive.load(Ordering::Relaxed);
        processor::of(self.rank.load(Ordering::Relaxed)).wait(receive);
    }

    pub(crate) fn sleep_until(&self, until: u64) {
        processor::of(self.rank.load(Ordering::Relaxed)).sleep_until(until);
    }

    /// The calling carrier sleeps while `*word == expected`; may wake without cause.
    pub(crate) fn park(&self, word: &AtomicU32, expected: u32) {
        self.parked_at
            .store(word.as_ptr() as usize, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if word.load(Ordering::Acquire) == expected {
            self.wait();
        }
        self.parked_at.store(0, Ordering::Relaxed);
    }
}

/// Wakes the carrier that is parked at `word`, which was changed.
pub(crate) fn unpark(word: &AtomicU32) {
    let word = word.as_ptr() as usize;
    fence(Ordering::SeqCst);
    let parked = |one: &&Carrier| one.parked_at.load(Ordering::Relaxed) == word;
    if let Some(carrier) = CARRIERS.iter().take(count()).find(parked) {
        carrier.notify();
    }
}
