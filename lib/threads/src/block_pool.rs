//! Pools of memory blocks of one size
#![expect(unsafe_code, reason = "hands out memory that its maker gave it")]

use crate::threads::{index_of, own_index};
use crate::wait::{TimedOut, WaitError, Waiters};
use crate::{Machine, Threads, Time};
use bulkhead_sched::policy::Policy;
use core::cell::Cell;
use core::ptr::NonNull;

/// Blocks that threads take and give back; a thread waits while there is none.
#[derive(Debug)]
pub struct BlockPool {
    memory: NonNull<u8>,
    size: usize,
    /// One bit per block, set while it is taken.
    taken: NonNull<[u32]>,
    capacity: u32,
    count: Cell<u32>,
    waiters: Waiters,
}

// SAFETY: its memory is its own.
unsafe impl Send for BlockPool {}

// SAFETY: the cells and the map are reached under the scheduler's lock.
unsafe impl Sync for BlockPool {}

/// The memory is no taken block of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoBlock;

impl BlockPool {
    /// Words of the map of a pool of so many blocks.
    #[must_use]
    pub const fn map_words(capacity: u32) -> usize {
        capacity.div_ceil(u32::BITS) as usize
    }

    /// A pool of `capacity` free blocks of `size` bytes each from `memory` on; `map` has at least
    /// [`Self::map_words`] zeros. Both are not null.
    ///
    /// # Safety
    /// No other code uses the memory, nor the map, as long as the pool is used.
    #[must_use]
    pub const unsafe fn new(
        memory: NonNull<u8>,
        size: usize,
        capacity: u32,
        map: NonNull<u32>,
    ) -> Self {
        Self {
            memory,
            size,
            taken: NonNull::slice_from_raw_parts(map, Self::map_words(capacity)),
            capacity,
            count: Cell::new(0),
            waiters: Waiters::new(),
        }
    }

    /// Takes a block, waiting for one until `until`; [`Time`] 0 does not wait.
    ///
    /// # Errors
    /// [`WaitError`].
    pub fn allocate<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
    ) -> Result<NonNull<u8>, WaitError> {
        let caller = own_index::<M>();
        threads.take(caller);
        let block = match self.take_block() {
            Some(block) => Ok(block),
            None if until == 0 => Err(TimedOut),
            None => {
                let waited = threads.wait_in(caller, &self.waiters, until);
                waited.and_then(|()| {
                    // The thread that gave it back left it here.
                    let transfer = threads.state_locked().transfer(caller);
                    NonNull::new(transfer.place).ok_or(TimedOut)
                })
            }
        };
        threads.give_back(caller);
        block
    }

    /// Gives a block back: to the most important thread that waits for one, which runs at once if the policy says so.
    ///
    /// # Errors
    /// [`NoBlock`].
    pub fn free<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        block: *mut u8,
    ) -> Result<(), NoBlock> {
        let caller = own_index::<M>();
        threads.take(caller);
        let number = self
            .number_of(block)
            .filter(|number| self.is_taken(*number));
        let Some(number) = number else {
            threads.give_back(caller);
            return Err(NoBlock);
        };
        let state = threads.state_locked();
        match state.next_waiter(&self.waiters) {
            Some(thread) => {
                state.wait(thread).transfer.place = block;
                threads.rouse(caller, index_of(thread));
            }
            None => {
                self.mark(number);
                self.count.set(self.count.get() - 1);
                threads.give_back(caller);
            }
        }
        Ok(())
    }

    fn number_of(&self, block: *mut u8) -> Option<usize> {
        let offset = block.addr().checked_sub(self.memory.addr().get())?;
        let number = offset.checked_div(self.size)?;
        let is_start = offset.is_multiple_of(self.size) && number < self.capacity as usize;
        is_start.then_some(number)
    }

    #[expect(
        clippy::mut_from_ref,
        reason = "the scheduler's lock makes it exclusive"
    )]
    fn map(&self) -> &mut [u32] {
        // SAFETY: the pool's alone; the scheduler's lock is held, and no reference outlives a statement here.
        unsafe { &mut *self.taken.as_ptr() }
    }

    fn is_taken(&self, number: usize) -> bool {
        self.map()[number / 32] >> (number % 32) & 1 != 0
    }

    /// Changes whether a block is taken.
    fn mark(&self, number: usize) {
        self.map()[number / 32] ^= 1 << (number % 32);
    }

    fn take_block(&self) -> Option<NonNull<u8>> {
        if self.count.get() == self.capacity {
            return None;
        }
        let mut words = self.map().iter().enumerate();
        let (word, taken) = words.find(|(_, taken)| **taken != u32::MAX)?;
        let number = word * 32 + taken.trailing_ones() as usize;
        self.mark(number);
        self.count.set(self.count.get() + 1);
        // SAFETY: a free bit below the capacity, since fewer blocks than that are taken and lower ones come first.
        Some(unsafe { self.memory.add(number * self.size) })
    }

    /// Blocks of the pool.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Bytes of a block.
    #[must_use]
    pub const fn block_size(&self) -> usize {
        self.size
    }

    /// Blocks that are taken.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count.get()
    }

    /// Ends all waits for blocks with [`WaitError::Deleted`]. No thread uses the pool afterwards.
    pub fn delete<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        threads.end_waits(caller, &[&self.waiters]);
    }
}
