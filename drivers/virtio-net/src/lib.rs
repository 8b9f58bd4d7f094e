//! Virtio network card behind PCI
//!
//! Virtual I/O Device (VIRTIO) 1.2: the modern transport (4.1), split queues (2.7), the network device (5.1)
//! with one queue each way. The card reads and writes memory by itself, at the addresses that it is
//! told: its queues and buffers lie in one stretch ([`Dma`]) and nothing else is ever named to it. What it writes
//! there is taken as what an adversary could have written: a number out of range is passed over, a length
//! is cut to the buffer.
#![no_std]

mod memory;
mod queue;
mod registers;
mod transport;

pub use memory::Dma;
pub use transport::{Refused, Registers, Space, Transport};

use core::sync::atomic::{Ordering, fence};
use queue::{Layout, Queue};
use registers as r;

/// Buffers each way: a power of two.
pub const BUFFERS: u16 = 64;
/// Bytes of a buffer: header and the longest frame.
const BUFFER: usize = 2048;
/// Longest frame, without its check sequence.
pub const FRAME: usize = 1514;
/// Bytes of the header before each frame (5.1.6), all of them zeros in what is sent.
const HEADER: usize = 12;
/// Bytes of a queue's place.
const QUEUE: usize = 4096;
/// Bytes that the card needs: two queues, buffers each way.
pub const MEMORY: usize = 2 * QUEUE + 2 * BUFFERS as usize * BUFFER;

/// Queue numbers (5.1.2).
const RECEIVE: u16 = 0;
const SEND: u16 = 1;

/// No buffer is free: frames that were sent before have not left yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A network card.
#[derive(Debug)]
pub struct Card<'a, S> {
    incoming: Incoming<'a, S>,
    outgoing: Outgoing<'a, S>,
    address: [u8; 6],
}

/// The half of a card that receives.
#[derive(Debug)]
pub struct Incoming<'a, S> {
    transport: Transport<S>,
    memory: Dma<'a>,
    queue: Queue,
}

/// The half of a card that sends: it has nothing in common with the other one but the registers, each of which one of
/// them alone writes.
#[derive(Debug)]
pub struct Outgoing<'a, S> {
    transport: Transport<S>,
    memory: Dma<'a>,
    queue: Queue,
    /// Buffers that were never used.
    fresh: u16,
}

/// Place of a queue's buffer in the memory.
const fn buffer(queue: u16, number: u16) -> usize {
    let before = queue as usize * BUFFERS as usize + number as usize;
    2 * QUEUE + before * BUFFER
}

impl<'a, S: Space + Clone> Card<'a, S> {
    /// Starts a card, whatever it did before: it may receive at once.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn start(mut transport: Transport<S>, memory: Dma<'a>) -> Result<Self, Refused> {
        if memory.bytes() < MEMORY {
            return Err(Refused::Memory);
        }
        // A reset card no longer accesses buffers of its former driver.
        transport.negotiate(r::FEATURE_ADDRESS)?;
        let [incoming, outgoing] = [0, QUEUE].map(|at| Layout { at });
        for (number, layout) in [(RECEIVE, incoming), (SEND, outgoing)] {
            layout.clear(memory);
            transport.queue(number, BUFFERS, layout.addresses(memory))?;
        }
        let outgoing = Outgoing {
            transport: transport.clone(),
            memory,
            queue: Queue::new(outgoing),
            fresh: 0,
        };
        outgoing.queue.set_mute(memory, true);
        let mut incoming = Incoming {
            transport,
            memory,
            queue: Queue::new(incoming),
        };
        for number in 0..BUFFERS {
            incoming.offer(number);
        }
        incoming.transport.run()?;
        incoming.transport.notify(RECEIVE);
        Ok(Self {
            address: incoming.transport.address(),
            incoming,
            outgoing,
        })
    }

    /// Its hardware address.
    #[must_use]
    pub const fn address(&self) -> [u8; 6] {
        self.address
    }

    /// Splits the card into halves for two components that do not wait for each other.
    #[must_use]
    pub fn split(self) -> (Incoming<'a, S>, Outgoing<'a, S>) {
        (self.incoming, self.outgoing)
    }

    /// As [`Incoming::acknowledge`].
    pub fn acknowledge(&self) -> bool {
        self.incoming.acknowledge()
    }

    /// As [`Incoming::receive`].
    pub fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        self.incoming.receive(into)
    }

    /// As [`Outgoing::send`].
    ///
    /// # Errors
    /// [`Full`].
    pub fn send(&mut self, frame: &[u8]) -> Result<(), Full> {
        self.outgoing.send(frame)
    }
}

impl<S: Space> Incoming<'_, S> {
    /// Returns true if the card has raised its interrupt since the last call; lowers the line.
    pub fn acknowledge(&self) -> bool {
        self.transport.acknowledge()
    }

    /// Asks the card not to interrupt for what it receives, or to do so again; what came meanwhile is there to be
    /// taken, and [`Incoming::has_frame`] then says so.
    pub fn set_mute(&self, mute: bool) {
        self.queue.set_mute(self.memory, mute);
        order();
    }

    /// Gives a buffer to the card to receive into.
    fn offer(&mut self, number: u16) {
        let at = buffer(RECEIVE, number);
        self.queue.describe(self.memory, number, at, BUFFER, true);
        self.queue.publish(self.memory, number);
    }

    /// Takes the oldest frame out; its length, cut to `into`. Frames shorter than a header are dropped.
    pub fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        let (number, written) = self.queue.used(self.memory)?;
        let length = written.clamp(HEADER, BUFFER) - HEADER;
        let length = length.min(into.len());
        let at = buffer(RECEIVE, number) + HEADER;
        self.memory.read(at, into.get_mut(..length)?);
        self.offer(number);
        if self.queue.wants_notice(self.memory) {
            self.transport.notify(RECEIVE);
        }
        Some(length)
    }

    /// Returns true if [`Incoming::receive`] would return a frame.
    #[must_use]
    pub fn has_frame(&self) -> bool {
        self.queue.has_used(self.memory)
    }
}

impl<S: Space> Outgoing<'_, S> {
    /// Sends a frame, of which no more than [`FRAME`] bytes.
    ///
    /// # Errors
    /// [`Full`].
    pub fn send(&mut self, frame: &[u8]) -> Result<(), Full> {
        let number = self.free().ok_or(Full)?;
        let frame = frame.get(..frame.len().min(FRAME)).unwrap_or(frame);
        let at = buffer(SEND, number);
        self.memory.write(at, &[0; HEADER]);
        self.memory.write(at + HEADER, frame);
        let bytes = HEADER + frame.len();
        self.queue.describe(self.memory, number, at, bytes, false);
        self.queue.publish(self.memory, number);
        if self.queue.wants_notice(self.memory) {
            self.transport.notify(SEND);
        }
        Ok(())
    }

    /// A buffer to send from.
    fn free(&mut self) -> Option<u16> {
        if self.fresh < BUFFERS {
            self.fresh += 1;
            return Some(self.fresh - 1);
        }
        self.queue.used(self.memory).map(|(number, _)| number)
    }
}

/// Orders all earlier writes before all later ones.
fn order() {
    fence(Ordering::SeqCst);
}

#[cfg(test)]
mod tests;
