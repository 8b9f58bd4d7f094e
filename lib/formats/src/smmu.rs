//! In-memory structures of an SMMUv3
//!
//! Stream table entries, context descriptors and commands, and the events it records (Arm IHI 0070,
//! 5.2, 5.4, 4 and 7.3). One encoder and one decoder of each, so that a finished table can be read as
//! the hardware will.

use crate::address::Pa;
use crate::tables::{Root, Walk};

/// A stream table entry, or a context descriptor.
pub type Descriptor = [u64; 8];
/// Bytes of a [`Descriptor`].
pub const DESCRIPTOR_SIZE: u64 = 64;
/// An event record.
pub type EventRecord = [u64; 4];
/// Bytes of an [`EventRecord`].
pub const EVENT_SIZE: u64 = 32;
/// A command.
pub type Command = [u64; 2];
/// Bytes of a [`Command`].
pub const COMMAND_SIZE: u64 = 16;

/// Treatment of the transactions of a stream. An entry of zeros aborts and records each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// They reach what they address.
    Bypass,
    /// They are translated by the stage-1 tables that a context descriptor names.
    Stage1 {
        /// Address of the context descriptor.
        context: Pa,
    },
    /// They are translated by a partition's own stage-2 tables.
    Stage2 {
        /// Root of the tables.
        root: Pa,
        /// The partition's VMID: what invalidates the cores' translations invalidates these.
        vmid: u16,
        /// `VTCR_EL2` of the partition.
        vtcr: u64,
    },
}

const VALID: u64 = 1;
const CONFIG_SHIFT: u32 = 1;
const BYPASS: u64 = 0b100;
const STAGE_1: u64 = 0b101;
const STAGE_2: u64 = 0b110;
/// Bits 51:6 of the first word.
const CONTEXT: u64 = 0x000F_FFFF_FFFF_FFC0;
/// The descriptor is fetched write-back, inner-shareable; shareability of transactions is theirs.
const FETCH: u64 = 1 << 2 | 1 << 4 | 3 << 6;
const SHAREABILITY_INCOMING: u64 = 1 << 44;
/// The fields of `VTCR_EL2` that the third word repeats from bit 32 on.
const VTCR_FIELDS: u64 = 0x7_FFFF;
const S2_AARCH64: u64 = 1 << 51;
const S2_RECORD: u64 = 1 << 58;
/// Bits 51:4 of the fourth word, and of a context's second.
const TABLE: u64 = 0x000F_FFFF_FFFF_FFF0;

impl Stream {
    /// Its stream table entry.
    #[must_use]
    pub const fn entry(self) -> Descriptor {
        match self {
            Self::Bypass => words([VALID | BYPASS << CONFIG_SHIFT, SHAREABILITY_INCOMING, 0, 0]),
            Self::Stage1 { context } => {
                let first = VALID | STAGE_1 << CONFIG_SHIFT | context.0 & CONTEXT;
                words([first, FETCH | SHAREABILITY_INCOMING, 0, 0])
            }
            Self::Stage2 { root, vmid, vtcr } => {
                let first = VALID | STAGE_2 << CONFIG_SHIFT;
                let third = vmid as u64 | (vtcr & VTCR_FIELDS) << 32 | S2_AARCH64 | S2_RECORD;
                words([first, SHAREABILITY_INCOMING, third, root.0 & TABLE])
            }
        }
    }

    /// Decodes an entry; `None` if [`Self::entry`] never encodes it.
    #[must_use]
    pub fn decode(entry: &Descriptor) -> Option<Self> {
        let stream = match entry[0] >> CONFIG_SHIFT & 0b111 {
            BYPASS => Self::Bypass,
            STAGE_1 => Self::Stage1 {
                context: Pa(entry[0] & CONTEXT),
            },
            STAGE_2 => Self::Stage2 {
                root: Pa(entry[3] & TABLE),
                vmid: entry[2] as u16,
                vtcr: entry[2] >> 32 & VTCR_FIELDS,
            },
            _ => return None,
        };
        (stream.entry() == *entry).then_some(stream)
    }
}

/// Most bits of a stream ID for which tables are made.
pub const MAX_STREAM_BITS: u32 = 20;
/// Binary logarithm of the entries of a linear table, and of each table below a level 1 (IHI 0070, 6.3.25): a page.
const SPLIT: u32 = 6;
/// Entries of a linear table, and of each table below a level 1.
pub const LEAF_STREAMS: u32 = 1 << SPLIT;
/// A descriptor of level 1 spans a whole table.
const SPAN: u64 = SPLIT as u64 + 1;

/// Shape of a stream table that holds streams of so many bits: linear if a page is enough, else of two levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTableShape {
    /// Bits of a stream ID; the SMMU aborts the transactions of larger ones.
    pub bits: u32,
}

impl StreamTableShape {
    /// The smallest shape that holds these streams.
    #[must_use]
    pub fn of(streams: impl Iterator<Item = u32>) -> Self {
        let bits = streams.map(|id| u32::BITS - id.leading_zeros()).max();
        Self {
            bits: bits.unwrap_or(0).max(SPLIT),
        }
    }

    /// Descriptors of level 1; 0: the table is linear.
    #[must_use]
    pub const fn level1(self) -> u32 {
        match self.bits > SPLIT {
            true => 1 << (self.bits - SPLIT),
            false => 0,
        }
    }

    /// `SMMU_STRTAB_BASE_CFG`.
    #[must_use]
    pub const fn register(self) -> u32 {
        match self.level1() {
            0 => self.bits,
            _ => self.bits | SPLIT << 6 | 1 << 16,
        }
    }
}

/// Descriptor of level 1 that leads to a table of [`LEAF_STREAMS`] entries.
#[must_use]
pub const fn level1_descriptor(table: Pa) -> u64 {
    table.0 & CONTEXT | SPAN
}

/// The table that a descriptor of level 1 leads to; `None` if [`level1_descriptor`] makes no such descriptor.
#[must_use]
pub const fn decode_level1(descriptor: u64) -> Option<Pa> {
    let table = Pa(descriptor & CONTEXT);
    match level1_descriptor(table) == descriptor && table.is_aligned(crate::address::PAGE) {
        true => Some(table),
        false => None,
    }
}

const fn words(first: [u64; 4]) -> Descriptor {
    let [a, b, c, d] = first;
    [a, b, c, d, 0, 0, 0, 0]
}

/// Input bits of stage-1 tables: a walk that starts at level 1 has no more.
pub const STAGE1_BITS: u32 = 39;

const GRANULE_4K_WALKS_CACHED: u64 = 1 << 8 | 1 << 10 | 3 << 12;
const UPPER_HALF_OFF: u64 = 1 << 30;
const CONTEXT_VALID: u64 = 1 << 31;
const OUTPUT_SHIFT: u32 = 32;
const AARCH64: u64 = 1 << 41;
/// Faults are recorded and their transactions aborted; none is stalled. The ASID is of this set
/// alone.
const RECORD_AND_ABORT: u64 = 1 << 45 | 1 << 46 | 1 << 47;
const ASID_SHIFT: u32 = 48;
/// Attribute 0 is normal write-back memory.
const MEMORY_ATTRIBUTES: u64 = 0xFF;

/// The context descriptor of stage-1 tables of [`STAGE1_BITS`] with output addresses of that size
/// code.
#[must_use]
pub const fn context(root: Pa, asid: u16, physical_range: u64) -> Descriptor {
    let size = 64 - STAGE1_BITS as u64;
    let output = crate::tables::output_size(physical_range) << OUTPUT_SHIFT;
    let control = size | GRANULE_4K_WALKS_CACHED | UPPER_HALF_OFF | CONTEXT_VALID | output;
    let first = control | AARCH64 | RECORD_AND_ABORT | (asid as u64) << ASID_SHIFT;
    words([first, root.0 & TABLE, 0, MEMORY_ATTRIBUTES])
}

/// Root and ASID of a context descriptor; `None` where [`context`] makes no such descriptor.
#[must_use]
pub fn decode_context(descriptor: &Descriptor, physical_range: u64) -> Option<(Root, u16)> {
    let (pa, asid) = (
        Pa(descriptor[1] & TABLE),
        (descriptor[0] >> ASID_SHIFT) as u16,
    );
    let root = Root {
        pa,
        walk: Walk::stage1(STAGE1_BITS),
    };
    (context(pa, asid, physical_range) == *descriptor).then_some((root, asid))
}

/// Attribute bits of stage-1 leaves: memory that a device reads and writes and never executes, as
/// unprivileged transactions do (Arm ARM D8.4).
pub const MEMORY_LEAF: u64 = 1 << 6 | 3 << 8 | 1 << 10 | 1 << 11 | 1 << 53 | 1 << 54;

/// Forget all of configuration and translations, and say when that is done.
pub const FORGET_ALL: [Command; 3] = [[0x04, 31], [0x30, 0], [0x46, 0]];

/// Why a transaction was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of the event (IHI 0070, 7.3).
    pub code: u8,
    /// Stream of the transaction.
    pub stream: u32,
    /// Address of the access, and whether it was a write; `None` if the event does not record it.
    pub access: Option<(u64, bool)>,
}

/// Events that tell the address: of a translation.
const TRANSLATION_EVENTS: core::ops::RangeInclusive<u8> = 0x10..=0x13;
const READ: u64 = 1 << 35;

impl Event {
    /// Decodes a record; `None` if it is empty.
    #[must_use]
    pub fn decode(record: &EventRecord) -> Option<Self> {
        let code = record[0] as u8;
        let has_access = TRANSLATION_EVENTS.contains(&code);
        (code != 0).then_some(Self {
            code,
            stream: (record[0] >> 32) as u32,
            access: has_access.then_some((record[2], record[1] & READ == 0)),
        })
    }

    /// Its name, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.code {
            0x02 | 0x04 => "of a stream without owner",
            0x10 => "not mapped",
            0x11 => "beyond what there is",
            0x12 | 0x13 => "not permitted",
            _ => "of a stream that is not set up",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAMS: [Stream; 3] = [
        Stream::Bypass,
        Stream::Stage1 {
            context: Pa(0x4023_5040),
        },
        Stream::Stage2 {
            root: Pa(0x4023_2000),
            vmid: 3,
            vtcr: 0x2_3558,
        },
    ];

    #[test]
    fn entries_are_those_of_the_manual() {
        let [bypass, first, second] = STREAMS.map(Stream::entry);
        assert_eq!(bypass[..2], [0x9, 1 << 44]);
        assert_eq!(first[..2], [0x4023_504B, 0x0000_1000_0000_00D4]);
        assert_eq!(second[0], 0xD);
        assert_eq!(second[2], 0x040A_3558_0000_0003);
        assert_eq!(second[3], 0x4023_2000);
    }

    #[test]
    fn decoding_reverses_encoding_and_refuses_every_flipped_bit_of_control() {
        for stream in STREAMS {
            let entry = stream.entry();
            assert_eq!(Stream::decode(&entry), Some(stream));
            for bit in 0..512 {
                let mut damaged = entry;
                damaged[bit / 64] ^= 1 << (bit % 64);
                assert_ne!(Stream::decode(&damaged), Some(stream), "bit {bit}");
            }
        }
        let descriptor = context(Pa(0x4023_6000), 7, 2);
        assert_eq!(descriptor[0], 0x0007_E202_C000_3519);
        let (root, asid) = decode_context(&descriptor, 2).expect("just made");
        assert_eq!((root.pa, asid), (Pa(0x4023_6000), 7));
        assert_eq!(decode_context(&[0; 8], 2), None);
    }

    #[test]
    fn a_table_is_linear_as_long_as_a_page_holds_it() {
        let shape = |streams: &[u32]| StreamTableShape::of(streams.iter().copied());
        for (streams, bits, level1, register) in [
            (&[][..], 6, 0, 6),
            (&[8, 63], 6, 0, 6),
            (&[8, 64], 7, 2, 0x1_0187),
            (&[0x100], 9, 8, 0x1_0189),
            (&[0xF_FFFF, 0], 20, 1 << 14, 0x1_0194),
        ] {
            let shape = shape(streams);
            assert_eq!((shape.bits, shape.level1()), (bits, level1), "{streams:x?}");
            assert_eq!(shape.register(), register, "{streams:x?}");
        }
        let descriptor = level1_descriptor(Pa(0x4023_5000));
        assert_eq!(descriptor, 0x4023_5007);
        assert_eq!(decode_level1(descriptor), Some(Pa(0x4023_5000)));
        for bit in 0..64 {
            let found = decode_level1(descriptor ^ 1 << bit);
            assert_ne!(found, Some(Pa(0x4023_5000)), "bit {bit}");
        }
        assert_eq!(decode_level1(0x4023_5847), None, "no page");
    }

    #[test]
    fn an_event_names_device_and_address() {
        let record = [0x8_0000_0010, 0, 0x4060_0000, 0];
        let event = Event::decode(&record).expect("there is one");
        assert_eq!((event.stream, event.access), (8, Some((0x4060_0000, true))));
        let read = Event::decode(&[0x10, READ, 4, 0]).expect("there is one");
        assert_eq!(read.access, Some((4, false)));
        assert_eq!(Event::decode(&[0; 4]), None);
        let unknown = Event::decode(&[0x30_0000_0002, 0, 5, 0]).expect("there is one");
        assert_eq!((unknown.stream, unknown.access), (0x30, None));
    }
}
