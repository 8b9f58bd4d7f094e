//! Bounded message queues with one consumer
#![expect(
    unsafe_code,
    reason = "the content is reached under the scheduler's lock"
)]

use crate::threads::{index_of, own_index};
use crate::wait::{TimedOut, WaitError, Waiters};
use crate::{Machine, NEVER, Threads, Time};
use bulkhead_sched::policy::Policy;
use core::cell::UnsafeCell;

/// A queue of up to `N` messages for one consumer; a power of two. Any thread sends.
#[derive(Debug)]
pub struct Queue<T, const N: usize>(UnsafeCell<Content<T, N>>);

#[derive(Debug)]
struct Content<T, const N: usize> {
    messages: [T; N],
    sent: usize,
    received: usize,
    /// Index of the consumer while it waits.
    waiting: Option<u64>,
    /// Threads that wait for room.
    senders: Waiters,
}

/// There is no room.
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
            senders: Waiters::new(),
        }))
    }

    /// Sends a message; a consumer that waits for it runs at once if the policy says so.
    ///
    /// # Errors
    /// [`Full`].
    #[inline(always)]
    pub fn send<M: Machine, P: Policy, const K: usize>(
        &self,
        threads: &Threads<M, P, K>,
        message: &T,
    ) -> Result<(), Full> {
        let caller = own_index::<M>();
        threads.take(caller);
        // SAFETY: the scheduler's lock is held.
        let content = unsafe { &mut *self.0.get() };
        if content.is_full() {
            threads.give_back(caller);
            return Err(Full);
        }
        content.put_and_pass(threads, caller, message);
        Ok(())
    }

    /// Sends, waiting for room until `until`.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`].
    pub fn send_until<M: Machine, P: Policy, const K: usize>(
        &self,
        threads: &Threads<M, P, K>,
        message: &T,
        until: Time,
    ) -> Result<(), WaitError> {
        let caller = own_index::<M>();
        threads.take(caller);
        loop {
            // SAFETY: the scheduler's lock is held.
            let content = unsafe { &mut *self.0.get() };
            if !content.is_full() {
                content.put_and_pass(threads, caller, message);
                return Ok(());
            }
            // Room that came with the end of the wait is used.
            let waited = threads.wait_in(caller, &content.senders, until);
            // SAFETY: the scheduler's lock is held.
            let full = unsafe { &*self.0.get() }.is_full();
            if waited.is_err() && full {
                threads.give_back(caller);
                return Err(TimedOut);
            }
        }
    }

    /// Receives the oldest message, waiting for one.
    #[inline(always)]
    pub fn receive<M: Machine, P: Policy, const K: usize>(&self, threads: &Threads<M, P, K>) -> T {
        loop {
            if let Ok(message) = self.receive_until(threads, NEVER) {
                return message;
            }
        }
    }

    /// Receives, waiting until `until`; [`Time`] 0 does not wait.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`].
    #[inline(always)]
    pub fn receive_until<M: Machine, P: Policy, const K: usize>(
        &self,
        threads: &Threads<M, P, K>,
        until: Time,
    ) -> Result<T, WaitError> {
        let caller = own_index::<M>();
        loop {
            threads.take(caller);
            // SAFETY: the scheduler's lock is held.
            let content = unsafe { &mut *self.0.get() };
            if content.sent != content.received {
                let message = content.messages[content.received % N];
                content.received = content.received.wrapping_add(1);
                if content.senders.is_empty() {
                    threads.give_back(caller);
                } else {
                    content.call_sender(threads, caller);
                }
                return Ok(message);
            }
            if until != NEVER && M::now() >= until {
                content.waiting = None;
                threads.give_back(caller);
                return Err(TimedOut);
            }
            content.waiting = Some(caller);
            threads.block_locked(caller, until);
        }
    }

    /// Messages in it.
    #[must_use]
    pub fn len(&self) -> usize {
        // SAFETY: two words, read whole; the answer may be old when it is used.
        let content = unsafe { &*self.0.get() };
        content.sent.wrapping_sub(content.received)
    }

    /// Returns true if the queue holds no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Copy, const N: usize> Content<T, N> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.sent.wrapping_sub(self.received) >= N
    }

    /// Adds a message, for which there is room, and hands over to the consumer that waits for it. The
    /// lock is held, and released.
    #[inline(always)]
    fn put_and_pass<M: Machine, P: Policy, const K: usize>(
        &mut self,
        threads: &Threads<M, P, K>,
        caller: u64,
        message: &T,
    ) {
        self.messages[self.sent % N] = *message;
        self.sent = self.sent.wrapping_add(1);
        match self.waiting.take() {
            Some(consumer) => threads.hand_to(caller, consumer),
            None => threads.give_back(caller),
        }
    }

    /// There is room for one sender. The lock is held, and released.
    #[cold]
    fn call_sender<M: Machine, P: Policy, const K: usize>(
        &self,
        threads: &Threads<M, P, K>,
        caller: u64,
    ) {
        match threads.state_locked().next_waiter(&self.senders) {
            Some(sender) => threads.rouse(caller, index_of(sender)),
            None => threads.give_back(caller),
        }
    }
}
