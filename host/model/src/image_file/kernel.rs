//! arm64 `Image` files
//!
//! The header says how much memory the kernel takes, uninitialised data included, so a file that is
//! shorter than that is no proof of anything. Kernels with an EFI stub carry a PE section table,
//! which tells how long the file must be.

use super::Content;
use bulkhead_formats::image_header::{ImageHeader, SIZE};

/// An arm64 `Image`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinuxImage {
    /// Bytes of memory it takes.
    pub(crate) memory: u64,
    /// Bytes from a 2 MiB boundary to it.
    pub(crate) offset: u64,
}

/// Offset of the PE header's offset.
const PE_POINTER: usize = 0x3c;
/// Bytes of a PE signature and file header.
const PE_HEADER: usize = 24;
/// Bytes of a PE section header.
const PE_SECTION: usize = 40;

/// Reads the head of a file of `size` bytes; nothing where it is no such image.
pub(super) fn read(head: &[u8], size: u64) -> Option<Content> {
    let header = ImageHeader::parse(head)?;
    let needed = file_size(head).unwrap_or(SIZE as u64);
    Some(match header {
        _ if header.flags & 1 == 1 => Content::Foreign(
            "a big-endian kernel".into(),
            "a little-endian one is needed",
        ),
        _ if size < needed => Content::Truncated(format!("it has {size} of {needed} bytes")),
        _ => Content::Linux(LinuxImage {
            memory: header.image_size.max(size),
            offset: header.text_offset,
        }),
    })
}

/// Length that the PE section table promises.
fn file_size(head: &[u8]) -> Option<u64> {
    if !head.starts_with(b"MZ") {
        return None;
    }
    let pe = u32_at(head, PE_POINTER)? as usize;
    if head.get(pe..pe + 4)? != b"PE\0\0" {
        return None;
    }
    let count = u16_at(head, pe + 6)?;
    let table = pe + PE_HEADER + usize::from(u16_at(head, pe + 20)?);
    let end = |index: u16| {
        let section = table + usize::from(index) * PE_SECTION;
        Some(u64::from(u32_at(head, section + 16)?) + u64::from(u32_at(head, section + 20)?))
    };
    (0..count).filter_map(end).max()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(
        bytes.get(at..at.checked_add(2)?)?.try_into().ok()?,
    ))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}
