//! The configuration blob
//!
//! Planned and packed by the host tool, read in place by every monitor, never written. It holds
//! decisions, not descriptions: physical addresses, finished translation tables, owned interrupts.
//! All tables are arrays in the same blob, named by [`Slice`]; `u64` fields are 8-byte aligned.

use crate::{NAME_LEN, status::CAUSES};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `BLKHDCFG` in ASCII.
pub const CONFIG_MAGIC: u64 = u64::from_le_bytes(*b"BLKHDCFG");
/// No partition: [`CoreConfig::partition`] of a spare core, [`PartitionConfig::standby`].
pub const NO_PARTITION: u32 = u32::MAX;

/// `count` elements from `offset` bytes after the start of the blob.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Slice {
    /// Bytes from the start of the blob, a multiple of 8.
    pub offset: u32,
    /// Elements.
    pub count: u32,
}

/// Head of the blob.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Config {
    /// [`CONFIG_MAGIC`].
    pub magic: u64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Bytes of the whole blob, this head included.
    pub size: u32,
    /// SHA-256 over the blob with this field zero, then over all translation tables
    /// (`tables_pa`, `tables_size`).
    pub digest: [u8; 32],
    /// Physical address of the finished translation tables (stage 2 of all partitions, EL2).
    pub tables_pa: u64,
    /// Their bytes.
    pub tables_size: u64,
    /// GIC distributor, physical address.
    pub gicd: u64,
    /// TTBR0_EL2: the monitor's own tables, W^X.
    pub el2_ttbr: u64,
    /// TCR_EL2 for them.
    pub el2_tcr: u64,
    /// Facts of the board that the boot part compares with the hardware.
    pub hardware: Hardware,
    /// [`CoreConfig`], by core index.
    pub cores: Slice,
    /// [`PartitionConfig`].
    pub partitions: Slice,
    /// [`ImageCheck`]: guest images in the boot image, verified at boot.
    pub images: Slice,
    /// [`InterruptLine`]: trigger mode of every SPI that a partition owns.
    pub lines: Slice,
    /// [`Clear`]: memory that is shared or written by monitors (channels, consoles, traces, link pages,
    /// status regions, stacks, state pages), filled with zeros once, at boot.
    pub clears: Slice,
    /// [`Setting`]: registers of devices that the boot part sets once, in this order.
    pub settings: Slice,
}

/// Facts of the board.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Hardware {
    /// CNTFRQ_EL0, Hz.
    pub counter_hz: u64,
    /// ID_AA64MMFR0_EL1.PARange of every core.
    pub physical_range: u32,
    /// Number of SPIs.
    pub spis: u32,
    /// Security states of the interrupt controller: 1 or 2.
    pub security_states: u32,
    /// How the other cores are started: one of [`start`].
    pub start: u32,
    /// INTID of the EL2 physical timer, by which monitors wake themselves.
    pub alarm: u32,
    /// INTIDs of EL1's physical and virtual timer.
    pub timers: [u32; 2],
    /// Bit n: private interrupt n belongs to EL2.
    pub private: u32,
}

/// Ways to start a core.
pub mod start {
    /// PSCI `CPU_ON` by SMC.
    pub const PSCI_SMC: u32 = 0;
    /// The core spins until its release word holds an address (Devicetree Specification 0.4, 3.8.1).
    pub const SPIN_TABLE: u32 = 1;
}

/// Access of the boot part to a register of 32 bits that belongs to no partition.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Setting {
    /// Its physical address.
    pub pa: u64,
    /// One of [`setting`].
    pub action: u32,
    /// Value to write, or to compare with.
    pub value: u32,
    /// Which bits are compared.
    pub mask: u32,
    /// Zero.
    pub reserved: u32,
}

/// Actions of a [`Setting`].
pub mod setting {
    /// `value` is written.
    pub const WRITE: u32 = 0;
    /// The register is read until it compares equal, a bounded number of times.
    pub const AWAIT: u32 = 1;
    /// The next setting is left out unless the register compares equal.
    pub const ONLY_IF: u32 = 2;
    /// The register must compare equal, once: a device of another kind does not.
    pub const KIND: u32 = 4;
    /// IDR1 of an SMMU must tell apart streams of at least `value` bits: the field of `mask`.
    pub const STREAM_BITS: u32 = 3;
}

/// Memory that is zero when the first partition starts.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Clear {
    /// Physical address, a multiple of 64.
    pub pa: u64,
    /// Bytes, a multiple of 64.
    pub size: u64,
}

/// A guest image as packed.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ImageCheck {
    /// Physical address, a multiple of 8.
    pub pa: u64,
    /// Bytes, a multiple of 8 (zero-padded).
    pub size: u64,
    /// Checksum of its words, computed by [`image_checksum_step`].
    pub checksum: u64,
}

/// One step of the images' checksum, over 64-bit words; start from 0. Finds corruption, not malice:
/// an attacker with access to images also has access to the configuration, which has a cryptographic digest.
#[must_use]
pub const fn image_checksum_step(sum: u64, word: u64) -> u64 {
    (sum ^ word)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(29)
}

/// Trigger mode of an SPI, a fact of the board.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct InterruptLine {
    /// INTID.
    pub intid: u32,
    /// 1 = edge, 0 = level.
    pub edge: u32,
}

/// One core.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct CoreConfig {
    /// Affinity fields of MPIDR_EL1 (as PSCI wants them).
    pub mpidr: u64,
    /// Redistributor (RD frame), physical address; the SGI frame follows at + 64 KiB.
    pub gicr: u64,
    /// Word that releases the core with [`start::SPIN_TABLE`], physical address; else 0.
    pub release: u64,
    /// Top of the core's EL2 stack, physical address; 4 KiB, the core's state at its upper end. The page
    /// below is not mapped at EL2.
    pub stack_top: u64,
    /// Index of the partition, or [`NO_PARTITION`].
    pub partition: u32,
    /// Index among the partition's cores.
    pub rank: u32,
    /// [`Watch`]: signs of life that this core's monitor looks after; a spare core's only.
    pub watches: Slice,
}

/// A sign of life to look after.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Watch {
    /// Physical address of the heartbeat word, or of 32 bits that the guest changes.
    pub heartbeat: u64,
    /// Longest silence, ticks.
    pub period_ticks: u64,
    /// Longest time from a start to the first sign of life, ticks.
    pub startup_ticks: u64,
    /// Partition that is watched.
    pub partition: u32,
    /// Not 0: each change of the 32 bits is a sign of life. 0: the word is the counter value of the last one.
    pub by_change: u32,
}

/// How a partition is run, bits of [`PartitionConfig::flags`].
pub mod flags {
    /// WFI enters the monitor, which waits in its place and can always be interrupted. (WFE needs no
    /// such care: a monitor that stops a core also sends an event.)
    pub const TRAP_WFI: u32 = 1 << 0;
    /// Broadcast TLB maintenance enters the monitor and stays on the core; one core only.
    pub const TRAP_TLBI: u32 = 1 << 1;
    /// The guest sends inter-processor interrupts by itself and reaches the shared registers of the GIC's CPU
    /// interface without an entry (highest criticality only). It sees physical affinities.
    pub const DIRECT_IPI: u32 = 1 << 2;
    /// May read all status regions and use [`crate::hypercall::CONTROL`].
    pub const PRIVILEGED: u32 = 1 << 3;
    /// Not started at boot: a standby.
    pub const STANDBY: u32 = 1 << 4;
    /// Accesses to the UART page are emulated onto the console's recorder.
    pub const EMULATED_UART: u32 = 1 << 5;
}

/// One partition.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct PartitionConfig {
    /// Name.
    pub name: [u8; NAME_LEN],
    /// VTTBR_EL2: VMID and root.
    pub vttbr: u64,
    /// VTCR_EL2.
    pub vtcr: u64,
    /// Bit n: core n is the partition's. Rank order is core order; rank 0 starts.
    pub cores: u64,
    /// Bits of [`flags`].
    pub flags: u32,
    /// Partition that takes over on [`crate::status::Action::Failover`], or [`NO_PARTITION`].
    pub standby: u32,
    /// Guest-physical start and bytes of its memory.
    pub memory: [u64; 2],
    /// Entry of the image, guest-physical.
    pub entry: u64,
    /// x0 at the entry.
    pub argument: u64,
    /// Entry of the alternate image.
    pub alternate_entry: u64,
    /// x0 at the alternate entry.
    pub alternate_argument: u64,
    /// [`Segment`]s that are loaded at each start.
    pub segments: Slice,
    /// [`Segment`]s of the alternate image.
    pub alternate_segments: Slice,
    /// [`Gate`]s, the non-zero entries of the stage-2 root first: written to stop and to start it.
    pub gates: Slice,
    /// [`Doorbell`]s the partition may ring.
    pub doorbells: Slice,
    /// [`Attachment`]s it may ask for.
    pub attachments: Slice,
    /// Action for each [`crate::status::Cause`]: an [`crate::status::Action`].
    pub actions: [u8; CAUSES],
    /// Action when the restarts are used up: an [`crate::status::Action`].
    pub escalation: u8,
    /// Zero.
    pub reserved: [u8; 7],
    /// Restarts allowed per `restart_period_ticks`; a deferrable server as for doorbells.
    pub restart_limit: u64,
    /// Window of the limit, ticks.
    pub restart_period_ticks: u64,
    /// Pause before a restart, ticks.
    pub restart_backoff_ticks: u64,
    /// Physical address of the [`crate::status::LinkPage`].
    pub link_pa: u64,
    /// Physical address of the [`crate::status::Status`].
    pub status_pa: u64,
    /// Physical address of the monitor's working state of this partition (one page).
    pub state_pa: u64,
    /// Recorder of an emulated UART: physical address and bytes.
    pub console_out: [u64; 2],
    /// Input ring of an emulated UART: physical address and bytes.
    pub console_in: [u64; 2],
    /// Guest-physical addresses of the emulated distributor, first redistributor and UART.
    pub gicd_ipa: u64,
    /// First redistributor; rank r is at + r * 128 KiB.
    pub gicr_ipa: u64,
    /// Emulated UART page.
    pub uart_ipa: u64,
    /// Bit n % 32 of word n / 32: SPI INTID n is the partition's.
    pub spis: [u32; 32],
}

/// Part of an image.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Segment {
    /// Guest-physical destination, a multiple of 64.
    pub ipa: u64,
    /// Physical address of the pristine bytes, a multiple of 64.
    pub pa: u64,
    /// Bytes to copy, a multiple of 64 (zero-padded in the boot image).
    pub copy_size: u64,
    /// Bytes to fill with zeros after them, a multiple of 64.
    pub zero_size: u64,
    /// Bytes after them that keep their content and are cleaned from all caches, a multiple of 64:
    /// a guest starts with its caches off. All of the partition's own memory lies in one of the three.
    pub clean_size: u64,
}

/// A word by which a partition, or its devices, reach memory: an entry of its stage-2 root, or the
/// control register of its bus's bridge.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Gate {
    /// Its value while the partition runs.
    pub open: u64,
    /// Its physical address, a neighbour of both values: each loop of the monitor loads a pair.
    pub pa: u64,
    /// Its value while the partition does not run: 0 in a root.
    pub closed: u64,
}

/// An outgoing doorbell: an SPI of the receiver, made pending by the sender's monitor.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Doorbell {
    /// INTID at the receiver.
    pub intid: u32,
    /// Rings admitted per period.
    pub limit: u32,
    /// Period of the limit, ticks.
    pub period_ticks: u64,
}

/// A channel that is mapped when asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Attachment {
    /// Key by which both ends ask.
    pub key: u64,
    /// Guest-physical address of the mapping.
    pub ipa: u64,
    /// Bytes, whole pages.
    pub size: u64,
    /// Physical address of its first level-3 entry; the entries are consecutive.
    pub entry_pa: u64,
    /// Value of the first entry; the following ones map the following pages.
    pub entry_value: u64,
}
