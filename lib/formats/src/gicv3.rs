//! Register map of the GICv3 distributor and redistributor
//!
//! Arm GIC architecture specification, IHI 0069, chapter 12. Offsets in bytes. The SGI frame of a
//! redistributor repeats the distributor's banks for INTIDs 0 to 31 at the same offsets.

/// Bytes of the distributor, and of each frame of a redistributor.
pub const FRAME_SIZE: u64 = 0x1_0000;
/// From a redistributor to that of the next core.
pub const REDISTRIBUTOR_STRIDE: u64 = 2 * FRAME_SIZE;

/// Distributor control.
pub const GICD_CTLR: u64 = 0x0000;
/// Distributor type.
pub const GICD_TYPER: u64 = 0x0004;
/// Distributor implementer.
pub const GICD_IIDR: u64 = 0x0008;
/// Group: one bit per INTID.
pub const IGROUPR: u64 = 0x0080;
/// Enable, set by writing 1.
pub const ISENABLER: u64 = 0x0100;
/// Enable, cleared by writing 1.
pub const ICENABLER: u64 = 0x0180;
/// Pending, set by writing 1.
pub const ISPENDR: u64 = 0x0200;
/// Pending, cleared by writing 1.
pub const ICPENDR: u64 = 0x0280;
/// Active, set by writing 1.
pub const ISACTIVER: u64 = 0x0300;
/// Active, cleared by writing 1.
pub const ICACTIVER: u64 = 0x0380;
/// Priority: one byte per INTID.
pub const IPRIORITYR: u64 = 0x0400;
/// Trigger mode: two bits per INTID, the upper one set for edge.
pub const ICFGR: u64 = 0x0C00;
/// Group modifier: one bit per INTID.
pub const IGRPMODR: u64 = 0x0D00;
/// Affinity routing of SPIs: 64 bits per INTID.
pub const GICD_IROUTER: u64 = 0x6000;
/// Architecture revision, in distributor and redistributor.
pub const PIDR2: u64 = 0xFFE8;

/// Redistributor control.
pub const GICR_CTLR: u64 = 0x0000;
/// Redistributor implementer.
pub const GICR_IIDR: u64 = 0x0004;
/// Redistributor type, 64 bits.
pub const GICR_TYPER: u64 = 0x0008;
/// Redistributor power state.
pub const GICR_WAKER: u64 = 0x0014;

/// `GICD_CTLR`: group 0 is forwarded.
pub const ENABLE_GROUP_0: u32 = 1 << 0;
/// `GICD_CTLR`: group 1 is forwarded.
pub const ENABLE_GROUP_1: u32 = 1 << 1;
/// `GICD_CTLR`: affinity routing.
pub const AFFINITY_ROUTING: u32 = 1 << 4;
/// `GICD_CTLR`: a single security state.
pub const DISABLE_SECURITY: u32 = 1 << 6;
/// `GICD_CTLR`: a change is under way.
pub const REGISTER_WRITE_PENDING: u32 = 1 << 31;
/// `GICR_WAKER`: the core sleeps.
pub const PROCESSOR_SLEEP: u32 = 1 << 1;
/// `GICR_WAKER`: its interface is quiescent.
pub const CHILDREN_ASLEEP: u32 = 1 << 2;
/// `GICR_TYPER`: the last redistributor of a series.
pub const TYPER_LAST: u64 = 1 << 4;
/// Priorities have the value range of a byte; this is the middle of what guests may use.
pub const DEFAULT_PRIORITY: u8 = 0xA0;
