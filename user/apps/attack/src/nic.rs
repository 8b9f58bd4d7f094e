//! A network card as a way to read and write memory without the processor
//!
//! Intel 82540EM (8254x Family Software Developer's Manual, 3, 13). Looped back in its PHY, it reads a
//! packet from one address and writes it to another; connected, it writes what others send. The
//! content of the packets has no meaning.

use crate::probe;
use bulkhead_abi::guest::Function;
use core::sync::atomic::{AtomicU64, Ordering, fence};

/// Bytes moved at a time: the shortest packet without its checksum.
pub(crate) const BYTES: u64 = 64;
const WORDS: usize = BYTES as usize / 8;
/// Descriptors of a ring: the smallest one has 128 bytes.
const DESCRIPTORS: u64 = 8;

/// A ring of descriptors of two words: address; length, status and commands.
#[repr(C, align(128))]
struct Ring([AtomicU64; 2 * DESCRIPTORS as usize]);

impl Ring {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 2 * DESCRIPTORS as usize])
    }

    fn address(&self) -> u64 {
        self.0.as_ptr().addr() as u64
    }

    fn put(&self, index: u64, address: u64, rest: u64) {
        let at = (index % DESCRIPTORS) as usize * 2;
        self.0[at].store(address, Ordering::Relaxed);
        self.0[at + 1].store(rest, Ordering::Relaxed);
    }

    fn rest(&self, index: u64) -> u64 {
        self.0[(index % DESCRIPTORS) as usize * 2 + 1].load(Ordering::Relaxed)
    }
}

static RECEIVE: Ring = Ring::new();
static SEND: Ring = Ring::new();

/// A packet's bytes in the partition's own memory.
#[repr(C, align(2048))]
pub(crate) struct Buffer([AtomicU64; 256]);

impl Buffer {
    pub(crate) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 256])
    }

    fn address(&self) -> u64 {
        self.0.as_ptr().addr() as u64
    }

    pub(crate) fn fill(&self, word: u64) {
        let words = self.0.iter().take(WORDS);
        words.for_each(|place| place.store(word, Ordering::Relaxed));
    }

    /// Its first word, if all that a packet has are alike.
    pub(crate) fn content(&self) -> Option<u64> {
        let mut words = self.0.iter().take(WORDS);
        let first = words.next()?.load(Ordering::Relaxed);
        words
            .all(|word| word.load(Ordering::Relaxed) == first)
            .then_some(first)
    }

    pub(crate) fn first(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }
}

/// Configuration words.
const COMMAND: u64 = 0x04;
const FIRST_BAR: u64 = 0x10;
const PORTS_MEMORY_MASTER: u64 = 7;
/// Registers (13.4).
const PHY: u64 = 0x20;
const INTERRUPTS_OFF: u64 = 0xD8;
const RECEIVE_CONTROL: u64 = 0x100;
const SEND_CONTROL: u64 = 0x400;
const RECEIVE_RING: u64 = 0x2800;
const SEND_RING: u64 = 0x3800;
/// Offsets in a ring's registers.
const UPPER: u64 = 0x04;
const LENGTH: u64 = 0x08;
const HEAD: u64 = 0x10;
const TAIL: u64 = 0x18;
/// PHY register 0: loopback at 1000 Mbit/s, full duplex, through register `PHY`.
const LOOP_BACK: u64 = 1 << 26 | 1 << 21 | 0x4140;
/// Enabled, every packet of every address, without its checksum.
const RECEIVE_ALL: u64 = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 15 | 1 << 26;
const SEND_PADDED: u64 = 1 << 1 | 1 << 3;
/// Command of a descriptor: end of packet, checksum, report.
const WHOLE_PACKET: u64 = 0b1011 << 24;
const DONE: u64 = 1 << 32;
/// Looks at a descriptor until the card is given up.
const PATIENCE: u32 = 100_000;

/// The partition's card.
pub(crate) struct Nic {
    registers: u64,
    offset: u64,
    sent: u64,
    receives: bool,
}

impl Nic {
    /// A function, set up anew; it sees this guest's memory `offset` bytes from where the guest does.
    pub(crate) fn open(function: &Function, offset: u64) -> Option<Self> {
        let [memory, ports, ..] = function.bars;
        let configure = |at, value| probe::store(function.configuration + at, value).ok();
        configure(FIRST_BAR, memory.value.into())?;
        configure(FIRST_BAR + 4, ports.value.into())?;
        configure(COMMAND, PORTS_MEMORY_MASTER)?;
        let nic = Self {
            registers: memory.address,
            offset,
            sent: 0,
            receives: false,
        };
        nic.write(INTERRUPTS_OFF, u64::from(u32::MAX));
        nic.start(SEND_RING, &SEND, 0);
        nic.write(SEND_CONTROL, SEND_PADDED);
        Some(nic)
    }

    /// Returns whether a function may access memory as a bus master, by its configuration page.
    pub(crate) fn is_master(function: &Function) -> bool {
        probe::load(function.configuration + COMMAND).is_ok_and(|command| command & 4 != 0)
    }

    /// Returns the address at which the card accesses a buffer.
    pub(crate) fn seen(&self, buffer: &Buffer) -> u64 {
        buffer.address() + self.offset
    }

    fn write(&self, register: u64, value: u64) {
        fence(Ordering::SeqCst);
        let _given_to_it = probe::store(self.registers + register, value);
    }

    fn start(&self, registers: u64, ring: &Ring, tail: u64) {
        self.write(registers, ring.address() + self.offset);
        self.write(registers + UPPER, 0);
        self.write(registers + LENGTH, DESCRIPTORS * 16);
        self.write(registers + HEAD, 0);
        self.write(registers + TAIL, tail);
    }

    /// Loops sent packets back to the receiver, in the PHY.
    pub(crate) fn loop_back(&self) {
        self.write(PHY, LOOP_BACK);
    }

    /// Writes all that arrives to `address`, one packet over the other. Once it is told to receive,
    /// QEMU's card does so a second later.
    pub(crate) fn receive_at(&mut self, address: u64) {
        (0..DESCRIPTORS).for_each(|index| RECEIVE.put(index, address, 0));
        self.start(RECEIVE_RING, &RECEIVE, DESCRIPTORS - 1);
        if !core::mem::replace(&mut self.receives, true) {
            self.write(RECEIVE_CONTROL, RECEIVE_ALL);
        }
    }

    /// Sends the bytes at `address`; whether the card says that it has.
    pub(crate) fn send_from(&mut self, address: u64) -> bool {
        let index = self.sent;
        self.sent += 1;
        SEND.put(index, address, BYTES | WHOLE_PACKET);
        self.write(SEND_RING + TAIL, self.sent % DESCRIPTORS);
        (0..PATIENCE).any(|_| SEND.rest(index) & DONE != 0)
    }
}

/// Returns whether no packet was ever received into the ring.
pub(crate) fn ring_is_untouched() -> bool {
    (0..DESCRIPTORS).all(|index| RECEIVE.rest(index) == 0)
}
