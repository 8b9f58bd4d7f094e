//! Message queues with any number of producers and consumers, for messages of any size
//!
//! A message goes from the producer's memory to that of a waiting consumer in one copy; else it is copied into the queue and
//! out of it. Messages with a higher number as priority come first, and equal ones in the order in which they were sent.
#![expect(
    unsafe_code,
    reason = "copies messages under the scheduler's lock, in memory that its maker gave it"
)]

use crate::threads::{index_of, own_index, thread_of};
use crate::wait::{TimedOut, Transfer, WaitError, Waiters};
use crate::{Machine, Threads, Time};
use bulkhead_sched::policy::Policy;
use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};

/// Neighbours of a place for a message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    next: u16,
    priority: u16,
}

/// No place.
const NONE: u16 = u16::MAX;

/// A queue.
#[derive(Debug)]
pub struct MessageQueue(UnsafeCell<Content>);

#[derive(Debug)]
struct Content {
    memory: NonNull<u8>,
    links: NonNull<Link>,
    size: usize,
    capacity: u16,
    count: u16,
    /// The first message, and the free places.
    first: u16,
    last: u16,
    free: u16,
    /// Places that were never used, from here on.
    fresh: u16,
    producers: Waiters,
    consumers: Waiters,
}

// SAFETY: its memory is its own.
unsafe impl Send for MessageQueue {}

// SAFETY: the content is reached under the scheduler's lock.
unsafe impl Sync for MessageQueue {}

impl MessageQueue {
    /// Most messages of a queue.
    pub const MOST: u16 = NONE - 1;

    /// An empty queue of `capacity` messages of `size` bytes each in `memory`, with as many links.
    ///
    /// # Safety
    /// No other code uses the memory, nor the links, as long as the queue is used; the capacity is 1 to [`Self::MOST`].
    #[must_use]
    pub const unsafe fn new(
        memory: NonNull<u8>,
        links: NonNull<Link>,
        size: usize,
        capacity: u16,
    ) -> Self {
        Self(UnsafeCell::new(Content {
            memory,
            links,
            size,
            capacity,
            count: 0,
            first: NONE,
            last: NONE,
            free: NONE,
            fresh: 0,
            producers: Waiters::new(),
            consumers: Waiters::new(),
        }))
    }

    #[expect(
        clippy::mut_from_ref,
        reason = "the scheduler's lock makes it exclusive"
    )]
    fn content(&self) -> &mut Content {
        // SAFETY: the caller holds the scheduler's lock.
        unsafe { &mut *self.0.get() }
    }

    /// Sends the message at `message`, waiting for room until `until`; [`Time`] 0 does not wait.
    ///
    /// # Safety
    /// A message of the queue's size is there until this returns.
    ///
    /// # Errors
    /// [`WaitError`].
    pub unsafe fn put<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        message: *const u8,
        priority: u8,
        until: Time,
    ) -> Result<(), WaitError> {
        let caller = own_index::<M>();
        threads.take(caller);
        let state = threads.state_locked();
        let content = self.content();
        if let Some(consumer) = state.next_waiter(&content.consumers) {
            let transfer = &mut state.wait(consumer).transfer;
            transfer.priority = priority;
            // SAFETY: the caller's message, and a place that the consumer keeps while it waits.
            unsafe { ptr::copy_nonoverlapping(message, transfer.place, content.size) };
            threads.rouse(caller, index_of(consumer));
            return Ok(());
        }
        let sent = if content.count < content.capacity {
            content.insert(message, priority);
            Ok(())
        } else if until == 0 {
            Err(TimedOut)
        } else {
            state.wait(thread_of(caller)).transfer = Transfer {
                place: message.cast_mut(),
                priority,
            };
            threads.wait_in(caller, &content.producers, until)
        };
        threads.give_back(caller);
        sent
    }

    /// Receives the first message to `place`, waiting for one until `until`; its priority.
    ///
    /// # Safety
    /// There is room for a message of the queue's size until this returns.
    ///
    /// # Errors
    /// [`WaitError`].
    pub unsafe fn get<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        place: *mut u8,
        until: Time,
    ) -> Result<u8, WaitError> {
        let caller = own_index::<M>();
        threads.take(caller);
        let state = threads.state_locked();
        let content = self.content();
        if let Some(priority) = content.remove(place) {
            match state.next_waiter(&content.producers) {
                Some(producer) => {
                    let Transfer { place, priority } = state.wait(producer).transfer;
                    content.insert(place, priority);
                    threads.rouse(caller, index_of(producer));
                }
                None => threads.give_back(caller),
            }
            return Ok(priority);
        }
        let received = match until {
            0 => Err(TimedOut),
            _ => {
                state.wait(thread_of(caller)).transfer = Transfer { place, priority: 0 };
                let waited = threads.wait_in(caller, &content.consumers, until);
                waited.map(|()| threads.state_locked().transfer(caller).priority)
            }
        };
        threads.give_back(caller);
        received
    }

    /// Takes all messages out; producers that wait send theirs.
    pub fn reset<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        let state = threads.state_locked();
        let content = self.content();
        (content.count, content.first, content.last) = (0, NONE, NONE);
        (content.free, content.fresh) = (NONE, 0);
        while content.count < content.capacity
            && let Some(producer) = state.grant_next::<M>(&content.producers)
        {
            let Transfer { place, priority } = state.wait(producer).transfer;
            content.insert(place, priority);
        }
        threads.run_others(caller);
    }

    /// Messages in it.
    #[must_use]
    pub fn count(&self) -> u16 {
        // SAFETY: one word, read whole; the answer may be old when it is used.
        unsafe { (*self.0.get()).count }
    }

    /// Messages that it holds at most.
    #[must_use]
    pub fn capacity(&self) -> u16 {
        // SAFETY: it never changes.
        unsafe { (*self.0.get()).capacity }
    }

    /// Bytes of a message.
    #[must_use]
    pub fn message_size(&self) -> usize {
        // SAFETY: it never changes.
        unsafe { (*self.0.get()).size }
    }

    /// Ends all waits with [`WaitError::Deleted`]. No thread uses the queue afterwards.
    pub fn delete<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        let content = self.content();
        threads.end_waits(caller, &[&content.producers, &content.consumers]);
    }
}

impl Content {
    #[expect(
        clippy::mut_from_ref,
        reason = "one reference at a time, under the lock"
    )]
    fn link(&self, place: u16) -> &mut Link {
        // SAFETY: places below the capacity are named alone.
        unsafe { &mut *self.links.as_ptr().wrapping_add(place.into()) }
    }

    fn at(&self, place: u16) -> *mut u8 {
        self.memory
            .as_ptr()
            .wrapping_add(usize::from(place) * self.size)
    }

    /// Copies a message, for which there is room, behind those of its priority.
    fn insert(&mut self, message: *const u8, priority: u8) {
        let place = match self.free {
            NONE => {
                self.fresh += 1;
                self.fresh - 1
            }
            place => {
                self.free = self.link(place).next;
                place
            }
        };
        // SAFETY: the sender's message, and a place of the queue.
        unsafe { ptr::copy_nonoverlapping(message, self.at(place), self.size) };
        let priority = u16::from(priority);
        let (mut before, mut after) = (NONE, self.first);
        if self.last != NONE && self.link(self.last).priority >= priority {
            (before, after) = (self.last, NONE);
        }
        while after != NONE && self.link(after).priority >= priority {
            (before, after) = (after, self.link(after).next);
        }
        *self.link(place) = Link {
            next: after,
            priority,
        };
        match before {
            NONE => self.first = place,
            before => self.link(before).next = place,
        }
        if after == NONE {
            self.last = place;
        }
        self.count += 1;
    }

    /// Copies the first message out; its priority.
    fn remove(&mut self, to: *mut u8) -> Option<u8> {
        let place = self.first;
        if place == NONE {
            return None;
        }
        // SAFETY: a place of the queue, and the receiver's memory.
        unsafe { ptr::copy_nonoverlapping(self.at(place), to, self.size) };
        let Link { next, priority } = *self.link(place);
        self.first = next;
        if next == NONE {
            self.last = NONE;
        }
        self.link(place).next = self.free;
        self.free = place;
        self.count -= 1;
        Some(priority as u8)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn messages_come_by_priority_and_then_in_order() {
        const CAPACITY: usize = 4;
        let mut memory = [0_u8; 3 * CAPACITY];
        let mut links = [Link::default(); CAPACITY];
        // SAFETY: used by the queue alone.
        let queue = unsafe {
            let memory = NonNull::from(&mut memory).cast();
            let links = NonNull::from(&mut links).cast();
            MessageQueue::new(memory, links, 3, CAPACITY as u16)
        };
        let content = queue.content();
        // A model: a stable sort of the messages in the queue.
        let mut model: Vec<(u8, [u8; 3])> = Vec::new();
        let mut seed = 1_u32;
        for step in 0..2000_u32 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 && model.len() < CAPACITY {
                let message = [step as u8, (step >> 8) as u8, 7];
                let priority = (seed >> 28) as u8 & 3;
                content.insert(message.as_ptr(), priority);
                let place = model.iter().position(|(other, _)| *other < priority);
                model.insert(place.unwrap_or(model.len()), (priority, message));
            } else {
                let mut message = [0; 3];
                let removed = content.remove(message.as_mut_ptr());
                let expected = (!model.is_empty()).then(|| model.remove(0));
                assert_eq!(removed.map(|priority| (priority, message)), expected);
            }
            assert_eq!(usize::from(content.count), model.len());
        }
    }
}
