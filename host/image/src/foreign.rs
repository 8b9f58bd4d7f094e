//! Images of other origins: ELF, arm64 `Image`, flat

use std::path::Path;

use bulkhead_formats::address::{BLOCK_2M, Ipa, PAGE};
use bulkhead_formats::image_header::ImageHeader;
use bulkhead_formats::region::Range;
use bulkhead_model::system::Partition;
use bulkhead_plan::load::{Argument, DeviceTreePlace, GuestImage, Piece};
use std::sync::Arc;

use crate::elf;
use crate::error::BuildError;

/// Room for the device tree of an image that is not Linux.
const DEVICE_TREE_ROOM: u64 = 32 << 10;

/// How a description says an image is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// Load address of a flat image or an `Image`.
    pub load: Option<u64>,
    /// Entry point.
    pub entry: Option<u64>,
    /// The guest gets a device tree.
    pub device_tree: bool,
}

/// Places an image in a partition's memory.
///
/// # Errors
/// The file is no image for AArch64, or leaves no room for the device tree.
pub fn place(
    partition: &Partition,
    ram: u64,
    path: &Path,
    bytes: Vec<u8>,
    wishes: ImageOptions,
) -> Result<GuestImage, BuildError> {
    let (pieces, entry) = if elf::is_elf(&bytes) {
        let executable = elf::parse(&bytes).map_err(|what| wrong(partition, path, &what))?;
        let entry = executable.entry_address();
        (executable.pieces(), entry)
    } else {
        let piece = flat(ram, bytes, wishes);
        let entry = piece.ipa.0;
        (vec![piece], entry)
    };
    let mut image = GuestImage {
        pieces,
        entry: Ipa(wishes.entry.unwrap_or(entry)),
        argument: Argument::GuestPage,
        device_tree: None,
    };
    if wishes.device_tree {
        let ipa = device_tree_place(partition, ram, &image.pieces)?;
        image.argument = Argument::DeviceTree;
        image.device_tree = Some(DeviceTreePlace {
            ipa,
            room: DEVICE_TREE_ROOM,
            initrd: None,
        });
    }
    Ok(image)
}

/// A flat image goes where it is told; an arm64 `Image` goes by its header, above the device tree.
fn flat(ram: u64, bytes: Vec<u8>, wishes: ImageOptions) -> Piece {
    let size = bytes.len() as u64;
    let Some(header) = ImageHeader::parse(&bytes) else {
        return Piece::new(Ipa(wishes.load.unwrap_or(ram)), bytes);
    };
    let base = if wishes.device_tree {
        ram + BLOCK_2M
    } else {
        ram
    };
    let start = wishes
        .load
        .unwrap_or(base.saturating_add(header.text_offset));
    Piece {
        ipa: Ipa(start),
        bytes: Arc::new(bytes),
        size: header.image_size.max(size),
    }
}

/// The start of memory, else its end, wherever the image is not.
fn device_tree_place(partition: &Partition, ram: u64, pieces: &[Piece]) -> Result<Ipa, BuildError> {
    let top = (ram + partition.memory).saturating_sub(DEVICE_TREE_ROOM) / PAGE * PAGE;
    let free = |&start: &u64| {
        let range = Range::sized(start, DEVICE_TREE_ROOM);
        start >= ram && pieces.iter().all(|piece| !piece.range().overlaps(range))
    };
    [ram, top].into_iter().find(free).map(Ipa).ok_or_else(|| {
        let message = format!(
            "the image of partition `{}` leaves no room for a device tree at either end of memory",
            partition.name
        );
        let help = "give the partition 32 KiB more memory";
        BuildError::new("device-tree-room", message, help).at(&partition.span)
    })
}

fn wrong(partition: &Partition, path: &Path, what: &str) -> BuildError {
    let message = format!(
        "`{}` of partition `{}` {what}",
        path.display(),
        partition.name
    );
    let help = "name an executable for AArch64, 64 bits, little-endian";
    BuildError::new("image-kind", message, help).at(&partition.span)
}
