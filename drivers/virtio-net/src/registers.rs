//! Numbers of the standard (VIRTIO 1.2)

/// PCI configuration space: offset of the first capability, kind of a vendor's (PCI 3.0, 6.7).
pub(crate) const CAPABILITIES: usize = 0x34;
pub(crate) const VENDOR: u8 = 0x09;

/// Parts of a capability (4.1.4).
pub(crate) const NEXT: usize = 1;
pub(crate) const PART: usize = 3;
pub(crate) const BAR: usize = 4;
pub(crate) const OFFSET: usize = 8;
pub(crate) const MULTIPLIER: usize = 16;

/// Parts of the device that capabilities name (4.1.4).
pub(crate) const COMMON: u8 = 1;
pub(crate) const NOTIFY: u8 = 2;
pub(crate) const INTERRUPT: u8 = 3;
pub(crate) const DEVICE: u8 = 4;

/// The common part (4.1.4.3).
pub(crate) const OFFERED_SELECT: usize = 0x00;
pub(crate) const OFFERED: usize = 0x04;
pub(crate) const TAKEN_SELECT: usize = 0x08;
pub(crate) const TAKEN: usize = 0x0c;
pub(crate) const STATUS: usize = 0x14;
pub(crate) const QUEUE_SELECT: usize = 0x16;
pub(crate) const QUEUE_SIZE: usize = 0x18;
pub(crate) const QUEUE_ENABLE: usize = 0x1c;
pub(crate) const QUEUE_NOTIFY: usize = 0x1e;
/// Of descriptors, the driver's and the device's area: 64 bits each.
pub(crate) const QUEUE_ADDRESSES: [usize; 3] = [0x20, 0x28, 0x30];

/// Bits of the status (2.1).
pub(crate) const ACKNOWLEDGED: u8 = 1;
pub(crate) const DRIVER: u8 = 2;
pub(crate) const RUNNING: u8 = 4;
pub(crate) const AGREED: u8 = 8;

/// Features (6, 5.1.3).
pub(crate) const FEATURE_ADDRESS: u64 = 1 << 5;
pub(crate) const FEATURE_VERSION_1: u64 = 1 << 32;
/// Addresses are those of the platform, an SMMU's.
pub(crate) const FEATURE_PLATFORM: u64 = 1 << 33;

/// Flags of a descriptor, of the driver's and the device's area (2.7.5 to 2.7.8).
pub(crate) const WRITTEN: u16 = 2;
pub(crate) const NO_INTERRUPT: u16 = 1;
pub(crate) const NO_NOTICE: u16 = 1;
