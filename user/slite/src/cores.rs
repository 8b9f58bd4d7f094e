//! Schedulers of further cores
//!
//! The capabilities of a core stand at fixed places of the first component's table, so that each core's
//! machine is a type of its own and knows them without looking; those of the first core stand where the
//! kernel put them.
#![expect(unsafe_code, reason = "a scheduler's block is found by its address")]

use bulkhead_abi::dispatch::Scb;
use bulkhead_abi::kernel::{MAX_CORES, Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::{First, dispatch};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

/// Capabilities to each further core: its first thread, its scheduler, its time.
const EACH: u64 = 3;

/// First empty slot of the table of a component that schedules several cores.
pub const FREE: u64 = first::FREE + EACH * (MAX_CORES as u64 - 1);

/// Where a core's capabilities stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub(crate) thread: u64,
    pub(crate) scheduler: u64,
    pub(crate) time: u64,
}

pub(crate) const fn slots(rank: usize) -> Slots {
    if rank == 0 {
        return Slots {
            thread: first::THREAD,
            scheduler: first::SCHEDULER,
            time: first::TIME,
        };
    }
    let thread = first::FREE + EACH * (rank as u64 - 1);
    Slots {
        thread,
        scheduler: thread + 1,
        time: thread + 2,
    }
}

/// Blocks of the further cores' schedulers, by rank.
static BLOCKS: [AtomicPtr<Scb>; MAX_CORES] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_CORES];

/// What the scheduler of a core shares with the kernel; asked on cores that were prepared.
#[inline(always)]
pub(crate) fn scb<const RANK: usize>() -> &'static Scb {
    let block = BLOCKS.get(RANK).map(|block| block.load(Acquire));
    let block = block.filter(|block| RANK != 0 && !block.is_null());
    block.map_or_else(dispatch::scb, |block| {
        // SAFETY: `prepare` mapped it for good; all of it is atomic.
        unsafe { &*block }
    })
}

/// Has the core of `rank` (not 0) schedule threads of the calling component once it is started; that hands
/// out slots from [`FREE`] on. `BadArgument` where the partition has no such core.
///
/// # Errors
/// The kernel's refusal.
pub fn prepare(first: &mut First, rank: usize) -> Result<(), Status> {
    let block = BLOCKS.get(rank).ok_or(Status::BadArgument)?;
    let root = first.prepare_core(rank as u64)?;
    let places = slots(rank);
    for (place, from) in [
        (places.thread, root.thread),
        (places.scheduler, root.scheduler),
        (places.time, root.time),
    ] {
        call(first::LEAF, Operation::Copy, [place, from])?;
    }
    block.store(core::ptr::from_ref(root.scb).cast_mut(), Release);
    Ok(())
}
