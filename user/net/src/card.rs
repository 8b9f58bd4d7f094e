//! A card for the first component of a partition
#![expect(unsafe_code, reason = "registers and memory that were mapped")]

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::Function;
use bulkhead_abi::kernel::Status;
use bulkhead_component::First;
use bulkhead_component::device::{self, Device, Other};
use bulkhead_virtio_net::{self as virtio, Dma, MEMORY, Refused, Space, Transport};
use core::sync::atomic::AtomicU64;

/// The function that a card is.
#[derive(Clone, Copy, Debug)]
pub struct Opened(Device);

/// Registers of it.
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

/// Why there is no card.
#[derive(Clone, Copy, Debug)]
pub enum Problem {
    /// The kernel's refusal.
    Kernel(Status),
    /// The function is not what the description says.
    Other(Other),
    /// It is no network card.
    Card(Refused),
}

impl From<Status> for Problem {
    fn from(status: Status) -> Self {
        Self::Kernel(status)
    }
}

/// A card that works.
pub type Card = virtio::Card<'static, Opened>;

/// Starts the card that a function of the guest page is, in memory of its own.
///
/// # Errors
/// [`Problem`].
pub fn open(first: &mut First, given: &Function) -> Result<Card, Problem> {
    let function = first.function(given)?;
    // SAFETY: mapped just now, for good.
    let device = unsafe { Device::open(&function) }.map_err(Problem::Other)?;
    let pages = (MEMORY as u64).div_ceil(PAGE_SIZE);
    let [address, shared] = first.shared_memory(pages)?;
    let words: *const AtomicU64 = core::ptr::with_exposed_provenance(address as usize);
    // SAFETY: mapped just now, for good, for nobody else but the card, which atomics allow for.
    let words = unsafe { core::slice::from_raw_parts(words, MEMORY / 8) };
    let transport = Transport::find(Opened(device)).map_err(Problem::Card)?;
    device.allow_memory();
    Card::start(
        transport,
        Dma::new(words, shared.wrapping_add(given.memory)),
    )
    .map_err(Problem::Card)
}
