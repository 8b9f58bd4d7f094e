//! Bounded message queues with one consumer
#![expect(
    unsafe_code,
    reason = "the content is reached under the scheduler's lock"
)]

use crate::Threads;
use crate::threads::own_index;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::Policy;
use core::cell::UnsafeCell;

/// A queue of up to `N` messages for one consumer; a power of two.
#[derive(Debug)]
pub struct Queue<T, const N: usize>(UnsafeCell<Content<T, N>>);

#[derive(Debug)]
struct Content<T, const N: usize> {
    messages: [T; N],
    sent: usize,
    received: usize,
    /// Index of the consumer while it waits.
    waiting: Option<u64>,
}

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

// SAFETY: the content is reached under the scheduler's lock.
unsafe impl<T: Send, const N: usize> Sync for Queue<T, N> {}

impl<T: Copy, const N: usize> Queue<T, N> {
    /// An empty queue; `fill` stands in unused places.
    pub const fn new(fill: T) -> Self {
        assert!(N.is_power_of_two(), "places are counted modulo N");
        Self(UnsafeCell::new(Content {
            messages: [fill; N],
            sent: 0,
            received: 0,
            waiting: None,
        }))
    }

    /// Sends a message; a consumer that waits for it runs at once if the policy says so.
    ///
    /// # Errors
    /// [`Full`].
    #[inline(always)]
    pub fn send<P: Policy, const M: usize>(
        &self,
        threads: &Threads<P, M>,
        message: &T,
    ) -> Result<(), Full> {
        let own = own_index();
        threads.take(own);
        // SAFETY: the scheduler's lock is held.
        let content = unsafe { &mut *self.0.get() };
        if content.sent.wrapping_sub(content.received) >= N {
            threads.give_back(own);
            return Err(Full);
        }
        content.messages[content.sent % N] = *message;
        content.sent = content.sent.wrapping_add(1);
        match content.waiting.take() {
            Some(consumer) => threads.hand_to(own, consumer),
            None => threads.give_back(own),
        }
        Ok(())
    }

    /// Receives the oldest message, waiting for one.
    #[inline(always)]
    pub fn receive<P: Policy, const M: usize>(&self, threads: &Threads<P, M>) -> T {
        let own = own_index();
        loop {
            threads.take(own);
            // SAFETY: the scheduler's lock is held.
            let content = unsafe { &mut *self.0.get() };
            if content.sent != content.received {
                let message = content.messages[content.received % N];
                content.received = content.received.wrapping_add(1);
                threads.give_back(own);
                return message;
            }
            content.waiting = Some(own);
            threads.block_locked(own, NEVER);
        }
    }
}
