//! Guest images: what is loaded where at each start
//!
//! Pieces are cut to whole cache lines, because the monitor copies, zeroes and cleans by lines.
//! Memory of at most [`ZERO_ALL`] bytes is zeroed wherever nothing is loaded, so that a restarted
//! guest finds what it found the first time; larger memory is zeroed where an image's headers ask
//! for it (zeroing all of a large Linux at each restart would cost more than the restart itself,
//! and Linux, by its boot protocol, expects nothing of the rest).

use std::sync::Arc;

use bulkhead_formats::address::Ipa;
use bulkhead_formats::region::{Range, RegionSet};

/// Bytes of a cache line, the unit in which monitors load.
pub const LINE: u64 = 64;
/// Memory of at most so many bytes is zeroed as a whole.
pub const ZERO_ALL: u64 = 16 << 20;

/// A contiguous part of a guest image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Destination.
    pub ipa: Ipa,
    /// Its bytes.
    pub bytes: Arc<Vec<u8>>,
    /// Bytes it occupies, at least as many as it has; the rest is zero.
    pub size: u64,
}

impl Piece {
    /// A piece that occupies just its bytes.
    #[must_use]
    pub fn new(ipa: Ipa, bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        Self {
            ipa,
            bytes: Arc::new(bytes),
            size,
        }
    }

    /// The guest-physical addresses it occupies.
    #[must_use]
    pub fn range(&self) -> Range {
        Range::sized(self.ipa.0, self.size)
    }
}

/// Content of x0 at the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Address of the guest page.
    GuestPage,
    /// Address of the device tree.
    DeviceTree,
}

/// A device tree to be generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTreePlace {
    /// Destination.
    pub ipa: Ipa,
    /// Bytes it may have.
    pub room: u64,
    /// Guest-physical addresses of the initial file system.
    pub initrd: Option<Range>,
}

/// A guest image, placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestImage {
    /// Its parts.
    pub pieces: Vec<Piece>,
    /// Entry point.
    pub entry: Ipa,
    /// Content of x0.
    pub argument: Argument,
    /// Address of a device tree, if the guest has one.
    pub device_tree: Option<DeviceTreePlace>,
}

/// Copy and zero: what one segment of the configuration does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Destination, a multiple of [`LINE`].
    pub ipa: Ipa,
    /// Bytes to copy, whole lines; empty for a part that is only zeroed.
    pub bytes: Arc<Vec<u8>>,
    /// Bytes to zero after them, whole lines.
    pub zero_size: u64,
    /// Bytes after those that stay as they are, but in no cache; whole lines.
    pub clean_size: u64,
}

impl Load {
    fn end(&self) -> u64 {
        self.ipa.0 + self.bytes.len() as u64 + self.zero_size + self.clean_size
    }
}

/// Treatment of memory into which no image is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Memory is zeroed.
    Zero,
    /// Memory stays, but no cache keeps a copy of it: the guest starts with its caches off.
    Clean,
}

/// Cuts pieces into whole lines that do not overlap, and treats the rest of `memory` as told.
#[must_use]
pub fn loads(pieces: &[Piece], memory: Range, rest: Rest) -> Vec<Load> {
    let mut sorted: Vec<&Piece> = pieces.iter().filter(|piece| piece.size > 0).collect();
    sorted.sort_by_key(|piece| piece.ipa);
    let mut loads: Vec<Load> = Vec::new();
    for piece in sorted {
        match loads.last_mut() {
            Some(last) if piece.ipa.0 < last.end() => join(last, piece),
            _ => loads.push(whole_lines(piece)),
        }
    }
    for gap in gaps(&loads, memory) {
        fill(&mut loads, gap, rest);
    }
    loads.sort_by_key(|load| load.ipa);
    loads
}

/// Treats a gap together with what is loaded just below it.
fn fill(loads: &mut Vec<Load>, gap: Range, rest: Rest) {
    if !loads.iter().any(|load| load.end() == gap.start) {
        let bytes = Arc::default();
        loads.push(Load {
            ipa: Ipa(gap.start),
            bytes,
            zero_size: 0,
            clean_size: 0,
        });
    }
    let below = loads.iter_mut().find(|load| load.end() == gap.start);
    below.into_iter().for_each(|load| match rest {
        Rest::Zero => load.zero_size += gap.size(),
        Rest::Clean => load.clean_size += gap.size(),
    });
}

fn whole_lines(piece: &Piece) -> Load {
    let start = piece.ipa.0 / LINE * LINE;
    let before = (piece.ipa.0 - start) as usize;
    let end = (piece.ipa.0 + piece.size).next_multiple_of(LINE);
    let bytes = if before == 0 && (piece.bytes.len() as u64).is_multiple_of(LINE) {
        Arc::clone(&piece.bytes)
    } else {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(&piece.bytes);
        bytes.resize(bytes.len().next_multiple_of(LINE as usize), 0);
        Arc::new(bytes)
    };
    let zero_size = end - start - bytes.len() as u64;
    Load {
        ipa: Ipa(start),
        bytes,
        zero_size,
        clean_size: 0,
    }
}

/// Adds a piece that begins in the last line of `load`.
fn join(load: &mut Load, piece: &Piece) {
    let mut bytes = load.bytes.to_vec();
    let at = (piece.ipa.0 - load.ipa.0) as usize;
    let end = at + piece.bytes.len();
    bytes.resize(bytes.len().max(end).next_multiple_of(LINE as usize), 0);
    bytes[at..end].copy_from_slice(&piece.bytes);
    let whole = (piece.ipa.0 + piece.size)
        .next_multiple_of(LINE)
        .max(load.end())
        - load.ipa.0;
    load.zero_size = whole.saturating_sub(bytes.len() as u64);
    load.bytes = Arc::new(bytes);
}

fn gaps(loads: &[Load], memory: Range) -> Vec<Range> {
    let mut gaps = RegionSet::of([memory]);
    for load in loads {
        gaps.remove(Range {
            start: load.ipa.0,
            end: load.end(),
        });
    }
    gaps.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Memory after the loads: `None` where no load writes.
    fn memory(loads: &[Load], size: usize) -> Vec<Option<u8>> {
        let mut memory = vec![None; size];
        for load in loads {
            assert!(load.ipa.is_aligned(LINE) && load.zero_size.is_multiple_of(LINE));
            assert!((load.bytes.len() as u64).is_multiple_of(LINE));
            let start = load.ipa.0 as usize;
            let zeros = std::iter::repeat_n(&0, load.zero_size as usize);
            for (i, &byte) in load.bytes.iter().chain(zeros).enumerate() {
                assert_eq!(memory[start + i], None, "written twice");
                memory[start + i] = Some(byte);
            }
        }
        memory
    }

    proptest! {
        #[test]
        fn every_byte_arrives_and_the_rest_is_zero(
            cuts in prop::collection::vec((1usize..200, 0usize..150, 0u64..150), 1..8),
            whole in any::<bool>(),
        ) {
            let mut at = 0;
            let mut pieces = Vec::new();
            let mut expected = vec![None; 8192];
            for (gap, length, zeros) in cuts {
                at += gap;
                let size = length as u64 + zeros;
                let bytes = vec![0xA5; length];
                expected[at..at + length].fill(Some(0xA5));
                expected[at + length..at + size as usize].fill(Some(0));
                pieces.push(Piece { ipa: Ipa(at as u64), bytes: Arc::new(bytes), size });
                at += size as usize;
            }
            let rest = if whole { Rest::Zero } else { Rest::Clean };
            let loads = loads(&pieces, Range { start: 0, end: 8192 }, rest);
            let covered: u64 = loads.iter().map(|load| load.end() - load.ipa.0).sum();
            prop_assert_eq!(covered, 8192, "all memory is loaded, zeroed or cleaned");
            let found = memory(&loads, 8192);
            for (found, expected) in found.iter().zip(&expected) {
                match expected {
                    Some(byte) => prop_assert_eq!(*found, Some(*byte)),
                    None if whole => prop_assert_eq!(*found, Some(0)),
                    None => prop_assert!(matches!(found, None | Some(0))),
                }
            }
        }
    }
}
