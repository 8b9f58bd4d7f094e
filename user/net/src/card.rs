//! A card that a component drives
#![expect(unsafe_code, reason = "registers and memory that were mapped")]

use crate::Wire;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::Function;
use bulkhead_abi::kernel::Status;
use bulkhead_component::device::{self, Device, Other};
use bulkhead_component::{Environment, First};
use bulkhead_virtio_net::{self as virtio, Dma, FRAME, MEMORY, Refused, Space, Transport};
use core::sync::atomic::AtomicU64;

/// The function that a card is.
#[derive(Clone, Copy, Debug)]
pub struct Opened(Device);

/// Its registers.
#[derive(Clone, Copy, Debug)]
pub struct Registers(device::Registers);

impl virtio::Registers for Registers {
    fn byte(&self, offset: usize) -> u8 {
        self.0.read(offset)
    }
    fn half(&self, offset: usize) -> u16 {
        self.0.read_half(offset)
    }
    fn word(&self, offset: usize) -> u32 {
        self.0.read_word(offset)
    }
    fn set_byte(&self, offset: usize, value: u8) {
        self.0.write(offset, value);
    }
    fn set_half(&self, offset: usize, value: u16) {
        self.0.write_half(offset, value);
    }
    fn set_word(&self, offset: usize, value: u32) {
        self.0.write_word(offset, value);
    }
}

impl Space for Opened {
    type Registers = Registers;

    fn configuration(&self) -> Registers {
        Registers(self.0.configuration())
    }

    fn bar(&self, number: u8) -> Registers {
        Registers(self.0.bar(number.into()))
    }
}

/// Reason for which there is no card.
#[derive(Clone, Copy, Debug)]
pub enum Problem {
    /// The kernel's refusal.
    Kernel(Status),
    /// The function differs from the description.
    Other(Other),
    /// The function is no network card.
    Card(Refused),
    /// The component owns no function.
    None,
}

impl From<Status> for Problem {
    fn from(status: Status) -> Self {
        Self::Kernel(status)
    }
}

/// An opened card.
pub type Card = virtio::Card<'static, Opened>;

impl Wire for Card {
    fn address(&self) -> [u8; 6] {
        Self::address(self)
    }

    fn receive(&mut self, into: &mut [u8; FRAME]) -> Option<usize> {
        Self::receive(self, into)
    }

    fn send(&mut self, frame: &[u8]) {
        // A card that does not send drops frames, as a wire may.
        let _lost = Self::send(self, frame);
    }
}

/// Opens the network card of a function of the guest page, in memory of its own.
///
/// # Errors
/// [`Problem`].
pub fn open(first: &mut First, given: &Function) -> Result<Card, Problem> {
    let function = first.function(given)?;
    drive_from(first, &function)
}

/// Opens the card of a scheduler's component, in memory that threads would otherwise be made of.
///
/// # Errors
/// [`Problem`].
pub fn drive_from(first: &mut First, function: &Function) -> Result<Card, Problem> {
    // SAFETY: the owner of the function has its registers mapped for good.
    let device = unsafe { Device::open(function) }.map_err(Problem::Other)?;
    let pages = (MEMORY as u64).div_ceil(PAGE_SIZE);
    let [address, shared] = first.shared_memory(pages)?;
    let words: *const AtomicU64 = core::ptr::with_exposed_provenance(address as usize);
    // SAFETY: mapped just now, for good; only the card shares it, which atomics allow for.
    let words = unsafe { core::slice::from_raw_parts(words, MEMORY / 8) };
    start(
        device,
        Dma::new(words, shared.wrapping_add(function.memory)),
    )
}

/// Opens the card of a component, with all of the component's memory.
///
/// # Errors
/// [`Problem`].
pub fn drive(env: &Environment) -> Result<Card, Problem> {
    let function = env.function().ok_or(Problem::None)?;
    // SAFETY: what the page about the component names is mapped for good.
    let device = unsafe { Device::open(function) }.map_err(Problem::Other)?;
    start(device, Dma::new(env.memory_words(), function.memory))
}

fn start(device: Device, memory: Dma<'static>) -> Result<Card, Problem> {
    let transport = Transport::find(Opened(device)).map_err(Problem::Card)?;
    device.allow_memory();
    Card::start(transport, memory).map_err(Problem::Card)
}
