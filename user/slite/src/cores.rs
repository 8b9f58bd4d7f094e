//! Threads of one component on several cores
//!
//! A component that the kernel starts, or one with capabilities to cores, has a scheduler on each of them:
//! each scheduler is a [`Threads`](crate::Threads) of its core. Its machine looks up the calling core at each use.
//! Threads stay on their cores. They share the component's memory, and wait for each other by a [`Parker`]: everything
//! else of this crate is between threads of one core.
#![expect(unsafe_code, reason = "data that one core passes to another")]

use crate::machine::{Kernel, Place};
use bulkhead_abi::dispatch::Scb;
use bulkhead_abi::kernel::{MAX_CORES, Operation, SCB_ADDRESS, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::{First, cores};
use bulkhead_sched::policy::Policy;
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Threads of one of the cores of a component, under policy `P`, at most `N`. For an array with an element
/// for each core, by rank: an element is used by its core alone.
pub type CoreThreads<P, const N: usize> = bulkhead_threads::Threads<Kernel<EachCore>, P, N>;

/// Objects of one core for a component that schedules several.
#[derive(Debug)]
pub struct EachCore;

/// Names of what a core has: address of the SCB, and slots. Written before the core runs.
struct Names {
    scb: AtomicU64,
    thread: AtomicU64,
    scheduler: AtomicU64,
    time: AtomicU64,
}

static NAMES: [Names; MAX_CORES] = [const {
    Names {
        scb: AtomicU64::new(SCB_ADDRESS),
        thread: AtomicU64::new(first::THREAD),
        scheduler: AtomicU64::new(first::SCHEDULER),
        time: AtomicU64::new(first::TIME),
    }
}; MAX_CORES];

/// Names of the calling core.
#[inline(always)]
fn names() -> &'static Names {
    &NAMES[cores::rank() as usize % MAX_CORES]
}

impl Place for EachCore {
    #[inline(always)]
    fn scb() -> &'static Scb {
        let scb = names().scb.load(Relaxed);
        let scb: *const Scb = core::ptr::with_exposed_provenance(scb as usize);
        // SAFETY: mapped before the core ran, for good; all of it is atomic.
        unsafe { &*scb }
    }

    #[inline(always)]
    fn thread() -> u64 {
        names().thread.load(Relaxed)
    }

    #[inline(always)]
    fn scheduler() -> u64 {
        names().scheduler.load(Relaxed)
    }

    #[inline(always)]
    fn time() -> u64 {
        names().time.load(Relaxed)
    }
}

/// Part and function with which a core begins.
struct Beginning(UnsafeCell<Option<Work>>);

type Work = (First, fn(First) -> !);

// SAFETY: written by the core that starts another one, before; read by that one, once.
unsafe impl Sync for Beginning {}

static BEGINNINGS: [Beginning; MAX_CORES] = [const { Beginning(UnsafeCell::new(None)) }; MAX_CORES];

/// Has the core of `rank`, which does not run, run `function`, on the own thread of its scheduler, with
/// `pages` pages of memory and addresses for as many to make threads of. It makes its threads and runs them:
/// `THREADS[rank].prepare`, `spawn`, `run`.
///
/// # Errors
/// The kernel's refusal: there is no such core, or it runs; no free addresses.
pub fn start_core(
    first: &mut First,
    rank: u64,
    pages: u64,
    function: fn(First) -> !,
) -> Result<(), Status> {
    let number = rank as usize;
    let (Some(names), Some(beginning)) = (NAMES.get(number), BEGINNINGS.get(number)) else {
        return Err(Status::BadArgument);
    };
    let root = first.prepare_core(rank)?;
    for (word, value) in [
        (
            &names.scb,
            core::ptr::from_ref(root.scb).expose_provenance() as u64,
        ),
        (&names.thread, root.thread),
        (&names.scheduler, root.scheduler),
        (&names.time, root.time),
    ] {
        word.store(value, Relaxed);
    }
    let part = first.part(pages)?;
    // SAFETY: prepared once, so no other call is here for this core, and it does not run yet.
    unsafe { *beginning.0.get() = Some((part, function)) };
    first.start_core(rank, begin, rank)
}

extern "C" fn begin(rank: u64) -> ! {
    let beginning = &BEGINNINGS[rank as usize % MAX_CORES];
    // SAFETY: what was left for this core, before it was started.
    match unsafe { (*beginning.0.get()).take() } {
        Some((first, function)) => function(first),
        None => unreachable!("a core is started with what it does"),
    }
}

/// A place at which one thread waits until any other one, on whatever core, wakes it: a wake-up that comes early is kept.
#[derive(Debug, Default)]
pub struct Parker {
    receive: AtomicU64,
    send: AtomicU64,
}

impl Parker {
    /// A parker without a thread.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            receive: AtomicU64::new(0),
            send: AtomicU64::new(0),
        }
    }

    /// Gives it to a thread of the calling core. To be called before it is used.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn attach<P: Policy, const N: usize>(
        &self,
        threads: &CoreThreads<P, N>,
        first: &mut First,
        index: u64,
    ) -> Result<(), Status> {
        let [receive, send] = threads.receive_end(first, index)?;
        self.receive.store(receive, Relaxed);
        self.send.store(send, Relaxed);
        Ok(())
    }

    /// Waits until it is unparked, unless it has been since the last time; how often it was.
    ///
    /// # Errors
    /// The parker belongs to another thread.
    pub fn park<P: Policy, const N: usize>(
        &self,
        threads: &CoreThreads<P, N>,
    ) -> Result<u64, Status> {
        threads.wait_notified(self.receive.load(Relaxed))
    }

    /// Has its thread go on.
    ///
    /// # Errors
    /// The parker has no thread.
    pub fn unpark(&self) -> Result<(), Status> {
        call(self.send.load(Relaxed), Operation::Send, []).map(|_| ())
    }
}
