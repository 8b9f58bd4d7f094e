//! Head of the boot image
//!
//! The file starts with the 64-byte header of an arm64 `Image` (Linux
//! Documentation/arch/arm64/booting), followed by [`BootHeader`], filled in when the image is
//! packed. The boot part lies at the image's start, the resident monitor [`MONITOR_OFFSET`] above it.
//! All other addresses are in the configuration.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of the arm64 `Image` header.
pub const IMAGE_HEADER_SIZE: usize = 64;
/// From the image's start to the resident monitor, bytes; the boot part is smaller.
pub const MONITOR_OFFSET: u64 = 0x1_0000;
/// From the resident monitor's start to its entry point, bytes: the exception vectors come first.
pub const MONITOR_ENTRY_OFFSET: u64 = 0x800;
/// Room for the resident monitor's text, read-only data and data, bytes.
pub const MONITOR_SIZE: u64 = 0x1_0000;
/// `BLKHBOOT` in ASCII.
pub const BOOT_MAGIC: u64 = u64::from_le_bytes(*b"BLKHBOOT");

/// Header that the boot part reads before it has verified the configuration.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct BootHeader {
    /// [`BOOT_MAGIC`].
    pub magic: u64,
    /// Physical address of [`crate::config::Config`].
    pub config_pa: u64,
    /// Bytes of the boot image.
    pub image_size: u64,
    /// UART on which the boot part reports, physical address; 0 = none. Here and not in the configuration: a
    /// damaged configuration can be reported, too.
    pub uart: u64,
    /// Its [`crate::device::Kind::code`].
    pub uart_kind: u64,
}

/// MAIR_EL2: attribute 0 is normal write-back memory, attribute 1 device nGnRE.
pub const MAIR_EL2: u64 = 0x04FF;
