//! Stream and message buffers: bytes, or messages of different lengths, between threads
#![expect(
    unsafe_code,
    reason = "copies bytes under the scheduler's lock, in memory that its maker gave it"
)]

use crate::threads::own_index;
use crate::wait::{WaitError, Waiters};
use crate::{Machine, Threads, Time};
use bulkhead_sched::policy::Policy;
use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};

/// Bytes of the length before each message.
const HEAD: usize = size_of::<u32>();

/// Content of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Bytes without boundaries. A reader waits until so many are there, or takes what is there when its time-out comes.
    Stream {
        /// At least 1, at most the bytes of the buffer.
        trigger: usize,
    },
    /// Messages, each sent and received as a whole; each takes 4 bytes more.
    Messages,
}

/// A buffer of any number of writers and readers.
#[derive(Debug)]
pub struct StreamBuffer(UnsafeCell<Content>);

#[derive(Debug)]
struct Content {
    memory: NonNull<u8>,
    size: usize,
    framing: Framing,
    /// Place of the first byte.
    start: usize,
    length: usize,
    writers: Waiters,
    readers: Waiters,
}

/// Why nothing was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// The time to give up came first.
    TimedOut,
    /// The buffer was deleted.
    Deleted,
    /// The message is longer than the buffer, or than the reader's memory; it stays in the buffer.
    TooLong,
}

// SAFETY: its memory is its own.
unsafe impl Send for StreamBuffer {}

// SAFETY: the content is reached under the scheduler's lock.
unsafe impl Sync for StreamBuffer {}

impl StreamBuffer {
    /// An empty buffer of `size` bytes.
    ///
    /// # Safety
    /// No other code uses the memory as long as the buffer is used.
    #[must_use]
    pub const unsafe fn new(memory: NonNull<u8>, size: usize, framing: Framing) -> Self {
        Self(UnsafeCell::new(Content {
            memory,
            size,
            framing,
            start: 0,
            length: 0,
            writers: Waiters::new(),
            readers: Waiters::new(),
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

    /// Sends `bytes`, waiting for room until `until`; [`Time`] 0 does not wait. Returns how many were sent: a message is sent
    /// as a whole, of a stream what there is room for.
    ///
    /// # Errors
    /// [`StreamError`]: nothing was sent.
    pub fn send<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        bytes: &[u8],
        until: Time,
    ) -> Result<usize, StreamError> {
        let mut sent = 0;
        let done = self.work(threads, until, true, |content, _| {
            let Some(count) = content.write(&bytes[sent..])? else {
                return Ok(None);
            };
            sent += count;
            Ok((sent == bytes.len()).then_some(sent))
        });
        match done {
            Err(StreamError::TimedOut) if sent > 0 => Ok(sent),
            done => done,
        }
    }

    /// Receives a message, or bytes of a stream, into `place`, waiting until `until`. Returns how many bytes.
    ///
    /// # Errors
    /// [`StreamError`]: nothing was received.
    pub fn receive<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        place: &mut [u8],
        until: Time,
    ) -> Result<usize, StreamError> {
        self.work(threads, until, false, |content, is_last| {
            content.read(place, is_last)
        })
    }

    /// Lets `step` work on the content until it has a result, and waits in between. `step` learns if it is the last time.
    fn work<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
        is_writer: bool,
        mut step: impl FnMut(&mut Content, bool) -> Result<Option<usize>, StreamError>,
    ) -> Result<usize, StreamError> {
        let caller = own_index::<M>();
        threads.take(caller);
        let mut is_last = until == 0;
        loop {
            let content = self.content();
            let before = content.length;
            let done = step(content, is_last);
            let state = threads.state_locked();
            let mut has_roused = false;
            if content.length != before {
                // A thread that continues looks again, and rouses the next one where it leaves something.
                if content.is_readable() {
                    has_roused |= state.grant_next::<M>(&content.readers).is_some();
                }
                if content.length < content.size {
                    has_roused |= state.grant_next::<M>(&content.writers).is_some();
                }
            }
            let result = match done {
                Ok(None) if !is_last => None,
                done => Some(done.and_then(|count| count.ok_or(StreamError::TimedOut))),
            };
            if let Some(result) = result {
                match has_roused {
                    true => threads.run_others(caller),
                    false => threads.give_back(caller),
                }
                return result;
            }
            let waiters = match is_writer {
                true => &content.writers,
                false => &content.readers,
            };
            match threads.wait_in(caller, waiters, until) {
                Ok(()) => {}
                Err(WaitError::TimedOut) => is_last = true,
                Err(WaitError::Deleted) => {
                    threads.give_back(caller);
                    return Err(StreamError::Deleted);
                }
            }
        }
    }

    /// Drops its content; writers that wait continue.
    pub fn reset<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        let content = self.content();
        (content.start, content.length) = (0, 0);
        let _first = threads.state_locked().grant_next::<M>(&content.writers);
        threads.run_others(caller);
    }

    /// Bytes in it, with the lengths of messages.
    #[must_use]
    pub fn length(&self) -> usize {
        // SAFETY: one word, read whole; the answer may be old when it is used.
        unsafe { (*self.0.get()).length }
    }

    /// Ends all waits with [`StreamError::Deleted`]. No thread uses the buffer afterwards.
    pub fn delete<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        let content = self.content();
        threads.end_waits(caller, &[&content.writers, &content.readers]);
    }
}

impl Content {
    const fn is_readable(&self) -> bool {
        match self.framing {
            Framing::Stream { trigger } => self.length >= trigger,
            Framing::Messages => self.length > 0,
        }
    }

    /// Writes a message, or as many bytes as there is room for; `None`: no room.
    fn write(&mut self, bytes: &[u8]) -> Result<Option<usize>, StreamError> {
        let room = self.size - self.length;
        match self.framing {
            Framing::Stream { .. } => {
                let count = room.min(bytes.len());
                self.push(&bytes[..count]);
                Ok((count > 0 || bytes.is_empty()).then_some(count))
            }
            Framing::Messages => {
                let length = u32::try_from(bytes.len()).map_err(|_| StreamError::TooLong)?;
                let whole = HEAD + bytes.len();
                if whole > self.size {
                    return Err(StreamError::TooLong);
                }
                if whole > room {
                    return Ok(None);
                }
                self.push(&length.to_ne_bytes());
                self.push(bytes);
                Ok(Some(bytes.len()))
            }
        }
    }

    /// Reads a message, or the bytes that are there; `None`: not enough.
    fn read(&mut self, place: &mut [u8], is_last: bool) -> Result<Option<usize>, StreamError> {
        let is_enough = self.is_readable() || is_last && self.length > 0;
        if !is_enough {
            return Ok(None);
        }
        let count = match self.framing {
            Framing::Stream { .. } => self.length.min(place.len()),
            Framing::Messages => {
                let mut head = [0; HEAD];
                let (start, length) = (self.start, self.length);
                self.pull(&mut head);
                let count = u32::from_ne_bytes(head) as usize;
                if count > place.len() {
                    (self.start, self.length) = (start, length);
                    return Err(StreamError::TooLong);
                }
                count
            }
        };
        self.pull(&mut place[..count]);
        Ok(Some(count))
    }

    /// Appends bytes for which there is room.
    fn push(&mut self, bytes: &[u8]) {
        let end = (self.start + self.length) % self.size;
        let (head, tail) = bytes.split_at(bytes.len().min(self.size - end));
        for (part, at) in [(head, end), (tail, 0)] {
            // SAFETY: within the buffer, which is this object's alone.
            unsafe {
                ptr::copy_nonoverlapping(
                    part.as_ptr(),
                    self.memory.as_ptr().wrapping_add(at),
                    part.len(),
                );
            }
        }
        self.length += bytes.len();
    }

    /// Takes bytes out, of which there are enough.
    fn pull(&mut self, place: &mut [u8]) {
        let count = place.len();
        let (head, tail) = place.split_at_mut(count.min(self.size - self.start));
        for (part, at) in [(head, self.start), (tail, 0)] {
            // SAFETY: within the buffer, which is this object's alone.
            unsafe {
                ptr::copy_nonoverlapping(
                    self.memory.as_ptr().wrapping_add(at),
                    part.as_mut_ptr(),
                    part.len(),
                );
            }
        }
        self.start = (self.start + count) % self.size;
        self.length -= count;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::VecDeque;
    use std::vec::Vec;

    fn content(memory: &mut [u8], framing: Framing) -> StreamBuffer {
        let start = NonNull::from(&mut memory[0]);
        // SAFETY: used by the buffer alone.
        unsafe { StreamBuffer::new(start, memory.len(), framing) }
    }

    #[test]
    fn a_stream_keeps_the_order_of_its_bytes() {
        let mut memory = [0; 13];
        let buffer = content(&mut memory, Framing::Stream { trigger: 4 });
        let content = buffer.content();
        let (mut model, mut next, mut seed) = (VecDeque::new(), 0_u8, 7_u32);
        for _ in 0..2000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let count = (seed >> 24) as usize % 8;
            if seed & 1 << 20 == 0 {
                let bytes: Vec<u8> = (0..count).map(|at| next.wrapping_add(at as u8)).collect();
                let written = content
                    .write(&bytes)
                    .expect("streams have no limit")
                    .unwrap_or(0);
                assert_eq!(written, count.min(13 - model.len()));
                next = next.wrapping_add(written as u8);
                model.extend(&bytes[..written]);
            } else {
                let mut place = [0; 8];
                let is_last = seed & 1 << 21 != 0;
                let read = content
                    .read(&mut place[..count], is_last)
                    .expect("no limit");
                let enough = model.len() >= 4 || is_last && !model.is_empty();
                assert_eq!(read, enough.then_some(count.min(model.len())));
                let expected: Vec<u8> = model.drain(..read.unwrap_or(0)).collect();
                assert_eq!(&place[..expected.len()], expected);
            }
            assert_eq!(content.length, model.len());
        }
    }

    #[test]
    fn messages_keep_their_boundaries() {
        let mut memory = [0; 16];
        let buffer = content(&mut memory, Framing::Messages);
        let content = buffer.content();
        for _ in 0..20 {
            assert_eq!(content.write(b"abc"), Ok(Some(3)));
            assert_eq!(content.write(b""), Ok(Some(0)));
            // Room for a head and one byte.
            assert_eq!(content.write(b"xy"), Ok(None));
            assert_eq!(content.write(&[0; 13]), Err(StreamError::TooLong));
            let mut place = [0; 3];
            assert_eq!(
                content.read(&mut place[..2], false),
                Err(StreamError::TooLong)
            );
            assert_eq!(content.read(&mut place, false), Ok(Some(3)));
            assert_eq!(&place, b"abc");
            assert_eq!(content.read(&mut place, false), Ok(Some(0)));
            assert_eq!(content.read(&mut place, true), Ok(None));
        }
    }
}
