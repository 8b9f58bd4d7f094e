//! Information page of an RTOS partition
//!
//! One page in the partition's memory window, its guest-physical address in `x0` at the entry
//! point. It is the partition's own memory, reset to this content at each start; Linux and foreign
//! guests get the same facts as device-tree nodes instead (`doc/interfaces/device-tree.md`).

use crate::{NAME_LEN, PAGE_SIZE};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Guest-physical address at which the memory of an RTOS partition starts, and below which lies all else that its
/// kernel or runtime reaches. Images are linked for it; boards may place it elsewhere for other guests.
pub const RAM: u64 = 0x4000_0000;
/// The window of an RTOS partition lies at a multiple of this, and is no larger.
pub const WINDOW_BYTES: u64 = 32 << 20;
/// `BULKHEAD` in ASCII.
pub const GUEST_MAGIC: u64 = u64::from_le_bytes(*b"BULKHEAD");
/// Channel ends a page has room for.
pub const MAX_CHANNELS: usize = 32;
/// PCIe functions that a partition may own.
pub const MAX_FUNCTIONS: usize = 4;
/// Base address registers of a function.
pub const BARS: usize = 6;
/// No doorbell, no link page.
pub const NONE: u32 = u32::MAX;

/// Kind of a channel's buffer.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Simpson's four slots: newest message, never blocks.
    FourSlot = 0,
    /// Lossless first-in first-out ring.
    Ring = 1,
    /// Single slot, half duplex, with transactions.
    Mailbox = 2,
    /// Overwriting log, one writer, any number of readers that only read.
    Recorder = 3,
    /// Plain memory, laid out by its users.
    Memory = 4,
}

/// Which end of a channel a partition holds.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Produces messages.
    Writer = 0,
    /// Consumes messages.
    Reader = 1,
}

/// One end of a channel.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ChannelEnd {
    /// Name of the channel.
    pub name: [u8; NAME_LEN],
    /// Name of the partition at the other end.
    pub peer: [u8; NAME_LEN],
    /// A [`ChannelKind`].
    pub kind: u32,
    /// A [`Role`].
    pub role: u32,
    /// Guest-physical address of the buffer.
    pub ipa: u64,
    /// Bytes mapped.
    pub size: u64,
    /// Bytes of a message (of a slot, for a mailbox).
    pub message_size: u32,
    /// Messages the buffer holds.
    pub messages: u32,
    /// Interrupt (INTID) by which the peer's doorbell arrives, or [`NONE`].
    pub doorbell_in: u32,
    /// Index for [`crate::hypercall::DOORBELL`] to ring the peer, or [`NONE`].
    pub doorbell_out: u32,
    /// Key for [`crate::hypercall::ATTACH`], or 0 where the channel is mapped from the start.
    pub key: u64,
    /// Guest-physical address of the peer's [`crate::status::LinkPage`], or 0.
    pub link: u64,
    /// Guest-physical address of the link page of the peer's standby, which takes over the channel, or 0.
    pub standby_link: u64,
}

/// The page itself.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct GuestInfo {
    /// [`GUEST_MAGIC`].
    pub magic: u64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Channel ends in use.
    pub channel_count: u32,
    /// Name of the partition.
    pub name: [u8; NAME_LEN],
    /// Guest-physical address and bytes of the partition's memory.
    pub memory: [u64; 2],
    /// The heartbeat: the partition writes CNTVCT here at least every `heartbeat_period_ticks`.
    /// Watched by a monitor where the period is not 0; readable by the host tool always.
    pub heartbeat: u64,
    /// Longest silence tolerated, ticks; 0 if it is not watched.
    pub heartbeat_period_ticks: u64,
    /// Console output: guest-physical address and bytes of a recorder of bytes. Its capacity is
    /// `size - 64`, the bytes after its control line.
    pub console_out: [u64; 2],
    /// Console input: guest-physical address and bytes of a ring of messages of one byte, as many as
    /// there are words after its two cursor lines: `(size - 128) / 8`.
    pub console_in: [u64; 2],
    /// Trace: guest-physical address and bytes of a recorder of [`crate::trace::Event`]s, as many as
    /// fit after its control line: `(size - 64) / 48`; 0 = off.
    pub trace: [u64; 2],
    /// Guest-physical address of the partition's own [`crate::status::LinkPage`].
    pub link: u64,
    /// Guest-physical address of its own [`crate::status::Status`].
    pub status: u64,
    /// Guest-physical addresses of the GIC distributor and of the first redistributor; the one of
    /// rank r is at + r * 128 KiB.
    pub interrupt_controller: [u64; 2],
    /// Cores of the partition.
    pub cores: u32,
    /// Argument words from the description or the command line (`fault=…` of a run), ASCII.
    pub argument_len: u32,
    /// INTID of the virtual timer.
    pub timer: u32,
    /// Zero.
    pub reserved: u32,
    /// The argument text.
    pub argument: [u8; 256],
    /// The channel ends.
    pub channels: [ChannelEnd; MAX_CHANNELS],
}

/// Value for a base address register of a PCIe function. Its owner writes it: no value reaches another partition
/// from behind the partition's bridge.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct Bar {
    /// Guest-physical address of the registers behind it.
    pub address: u64,
    /// The value: address on the bus, type in the lowest bits.
    pub value: u32,
    /// Bytes; 0 = there is no such register.
    pub size: u32,
}

/// A PCIe function.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct Function {
    /// Its name; zeros where there is none.
    pub name: [u8; NAME_LEN],
    /// Guest-physical address of its configuration page.
    pub configuration: u64,
    /// First word of that page: vendor and device.
    pub identity: u32,
    /// Its interrupt (INTID), a level.
    pub intid: u32,
    /// By number.
    pub bars: [Bar; BARS],
    /// Address that the device uses for guest-physical address 0. It is the distance to the physical address if
    /// the device is not confined (`dma = "unconfined"`), else 0.
    pub memory: u64,
}

impl Function {
    /// Returns the function with its registers where `map` puts them. `map` gets the number of the first page and
    /// the number of pages, and returns an address: of the configuration page, and of the pages behind the base
    /// address registers.
    ///
    /// # Errors
    /// The error of `map`.
    pub fn mapped<E>(&self, mut map: impl FnMut(u64, u64) -> Result<u64, E>) -> Result<Self, E> {
        let mut found = *self;
        found.configuration = map(self.configuration / PAGE_SIZE, 1)?;
        // Registers that share a page of ports follow each other.
        let mut last = [0; 2];
        for bar in found.bars.iter_mut().filter(|bar| bar.size != 0) {
            let within = bar.address % PAGE_SIZE;
            let start = bar.address - within;
            let end = within + u64::from(bar.size);
            if start != last[0] || end > PAGE_SIZE {
                last = [start, map(start / PAGE_SIZE, end.div_ceil(PAGE_SIZE))?];
            }
            bar.address = last[1] + within;
        }
        Ok(found)
    }
}

/// The page as a whole.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct GuestPage {
    /// Information that every guest gets.
    pub info: GuestInfo,
    /// Its PCIe functions.
    pub functions: [Function; MAX_FUNCTIONS],
    /// Guest-physical address and bytes of the [`crate::component_log::ComponentLog`], for a kernel of components; else 0.
    pub component_log: [u64; 2],
}

/// Offset of [`GuestInfo::heartbeat`] in the page, bytes.
pub const HEARTBEAT_OFFSET: u64 = core::mem::offset_of!(GuestInfo, heartbeat) as u64;

const _: () = assert!(size_of::<GuestPage>() <= PAGE_SIZE as usize);
