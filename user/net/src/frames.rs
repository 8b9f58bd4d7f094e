//! Frames between a card's driver and the protocols, in shared memory
//!
//! A line of words about the card, then a ring each way. The driver puts received frames into one ring and wakes the
//! protocols. The protocols put frames into the other ring and invoke the driver, which sends them on their thread and budget. If the
//! receive ring is full, the driver leaves frames to the card, which drops frames without a buffer, until the protocols
//! wake the driver. A flood is therefore charged to the driver's budget, and to the protocols' budget at most as far as it lasts.
//!
//! Each side treats the other's words as hostile input. Both continue with the rings as they are
//! after a restart.

use crate::Wire;
use bulkhead_abi::component::frames::{NAME, SEND};
use bulkhead_buffers::ring::{Consumer, Layout, Producer};
use bulkhead_buffers::{AttachError, Error, LayoutError, Region};
use bulkhead_component::Environment;
use bulkhead_component::invocation::invoke;
use bulkhead_virtio_net::FRAME;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::fence;

/// A message of a ring: the frame's length, the frame, and what fills the last word.
pub const MESSAGE: usize = HEAD + FRAME.next_multiple_of(8);
const HEAD: usize = 8;
/// Frames that wait for the protocols, and for the card.
const RECEIVED: usize = 32;
const TO_SEND: usize = 8;
/// Words before the rings: a cache line.
const LINE: usize = 8;
/// The card's address with [`KNOWN`]; whether the driver waits for room.
const ADDRESS: usize = 0;
const FULL: usize = 1;
/// The driver has written the address.
const KNOWN: u64 = 1 << 63;

/// Why there are no frames.
#[derive(Clone, Copy, Debug)]
pub enum Missing {
    /// The component shares no memory of that name.
    Memory,
    /// The component needs no interface `frames`.
    Interface,
    /// The memory is too small.
    Small(AttachError),
    /// Not to happen: the shape of a ring is a constant.
    Shape(LayoutError),
}

impl From<AttachError> for Missing {
    fn from(error: AttachError) -> Self {
        Self::Small(error)
    }
}

impl From<LayoutError> for Missing {
    fn from(error: LayoutError) -> Self {
        Self::Shape(error)
    }
}

/// The words about the card, and the two rings.
struct Parts {
    about: &'static [AtomicU64],
    received: (Region<'static>, Layout),
    to_send: (Region<'static>, Layout),
}

impl Parts {
    fn of(words: &'static [AtomicU64]) -> Result<Self, Missing> {
        let received = Layout::for_messages(MESSAGE, RECEIVED)?;
        let to_send = Layout::for_messages(MESSAGE, TO_SEND)?;
        let small = Missing::Small(AttachError::TooSmall {
            needed: 8 * LINE + received.bytes() + to_send.bytes(),
            given: 8 * words.len(),
        });
        let (about, rings) = words.split_at_checked(LINE).ok_or(small)?;
        let rings = rings.split_at_checked(received.bytes() / 8).ok_or(small)?;
        Ok(Self {
            about,
            received: (Region::from_words(rings.0), received),
            to_send: (Region::from_words(rings.1), to_send),
        })
    }

    fn word(&self, number: usize) -> &'static AtomicU64 {
        &self.about[number % LINE]
    }
}

/// The length that a message says, as far as there can be such a frame.
fn length(message: &[u8; MESSAGE]) -> usize {
    let [low, high, ..] = *message;
    usize::from(u16::from_le_bytes([low, high])).min(FRAME)
}

fn set_length(message: &mut [u8; MESSAGE], length: usize) {
    let [low, high] = (length as u16).to_le_bytes();
    (message[0], message[1]) = (low, high);
}

/// The driver's end for received frames.
pub struct Received {
    shared: u64,
    ring: Producer<'static>,
    full: &'static AtomicU64,
    message: [u8; MESSAGE],
    /// The message is one that there was no room for.
    held: bool,
}

/// The driver's end for frames to send.
pub struct ToSend {
    ring: Consumer<'static>,
    message: [u8; MESSAGE],
}

/// Result of handing a frame over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Frames.
    pub count: u64,
    /// There is no room for the next, and the protocols know.
    pub is_full: bool,
}

/// Opens the driver's ends in the memory of that name, for a card with this hardware address.
///
/// # Errors
/// [`Missing`].
pub fn driver(
    env: &Environment,
    name: &str,
    address: [u8; 6],
) -> Result<(Received, ToSend), Missing> {
    let (shared, words) = env.shared(name).ok_or(Missing::Memory)?;
    let parts = Parts::of(words)?;
    let received = Received {
        shared,
        ring: Producer::attach(parts.received.0, &parts.received.1)?,
        full: parts.word(FULL),
        message: [0; MESSAGE],
        held: false,
    };
    let to_send = ToSend {
        ring: Consumer::attach(parts.to_send.0, &parts.to_send.1)?,
        message: [0; MESSAGE],
    };
    let [a, b, c, d, e, f] = address;
    let address = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    parts.word(ADDRESS).store(address | KNOWN, Release);
    Ok((received, to_send))
}

impl Received {
    /// Passes on what `take` gives, which answers the length of a frame, until it has none or there is no room.
    pub fn pass(&mut self, mut take: impl FnMut(&mut [u8]) -> Option<usize>) -> Passed {
        let mut count = 0;
        loop {
            if !self.held {
                let Some(length) = take(&mut self.message[HEAD..HEAD + FRAME]) else {
                    let is_full = false;
                    return Passed { count, is_full };
                };
                set_length(&mut self.message, length);
            }
            self.held = !self.put();
            if self.held {
                let is_full = true;
                return Passed { count, is_full };
            }
            count += 1;
        }
    }

    /// Has the protocols look.
    pub fn wake(&self, env: &Environment) {
        // Protocols that are gone wait for nothing.
        let _nobody = env.wake(self.shared);
    }

    /// Puts a frame into the ring; returns false if it is full, after the other side was told.
    fn put(&mut self) -> bool {
        if self.ring.try_push(&self.message).is_ok() {
            return true;
        }
        self.full.store(1, Relaxed);
        fence(SeqCst);
        let pushed = self.ring.try_push(&self.message).is_ok();
        if pushed {
            self.full.store(0, Relaxed);
        }
        pushed
    }
}

impl ToSend {
    /// Gives what waits to `send`; how many frames.
    pub fn drain(&mut self, mut send: impl FnMut(&[u8])) -> u64 {
        let mut count = 0;
        // A bounded number: a peer that refills the ring meanwhile invokes again.
        for _ in 0..TO_SEND {
            match self.ring.try_pop(&mut self.message) {
                Ok(()) => send(&self.message[HEAD..HEAD + length(&self.message)]),
                Err(Error::Corrupt) => continue,
                Err(_) => break,
            }
            count += 1;
        }
        count
    }
}

/// The protocols' ends.
pub struct Port<'a> {
    env: &'a Environment,
    shared: u64,
    driver: u64,
    received: Consumer<'static>,
    to_send: Producer<'static>,
    about: Parts,
    message: [u8; MESSAGE],
    /// Frames that did not get to the driver.
    lost: u64,
}

impl<'a> Port<'a> {
    /// In the memory of that name.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn open(env: &'a Environment, name: &str) -> Result<Self, Missing> {
        let (shared, words) = env.shared(name).ok_or(Missing::Memory)?;
        let driver = env.interface(NAME).ok_or(Missing::Interface)?;
        let about = Parts::of(words)?;
        Ok(Self {
            env,
            shared,
            driver,
            received: Consumer::attach(about.received.0, &about.received.1)?,
            to_send: Producer::attach(about.to_send.0, &about.to_send.1)?,
            about,
            message: [0; MESSAGE],
            lost: 0,
        })
    }

    /// Returns true if the driver has its card.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.about.word(ADDRESS).load(Acquire) & KNOWN != 0
    }

    /// Frames that did not get to the driver.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// All that came was taken: a driver that waits for room goes on.
    pub fn taken(&self) {
        fence(SeqCst);
        if self.about.word(FULL).swap(0, Relaxed) != 0 {
            // A driver that is gone waits for nothing.
            let _nobody = self.env.wake(self.shared);
        }
    }
}

impl Wire for Port<'_> {
    fn address(&self) -> [u8; 6] {
        let [a, b, c, d, e, f, ..] = self.about.word(ADDRESS).load(Acquire).to_le_bytes();
        [a, b, c, d, e, f]
    }

    fn receive(&mut self, into: &mut [u8; FRAME]) -> Option<usize> {
        self.received.try_pop(&mut self.message).ok()?;
        let length = length(&self.message);
        into[..length].copy_from_slice(&self.message[HEAD..HEAD + length]);
        Some(length)
    }

    fn send(&mut self, frame: &[u8]) {
        let frame = frame.get(..FRAME).unwrap_or(frame);
        set_length(&mut self.message, frame.len());
        self.message[HEAD..HEAD + frame.len()].copy_from_slice(frame);
        let put = self.to_send.try_push(&self.message).is_ok();
        let reply = invoke(self.driver, [SEND, 0, 0, 0, 0]);
        if !put || reply.status != 0 {
            self.lost += 1;
        }
    }
}
