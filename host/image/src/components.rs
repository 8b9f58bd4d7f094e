//! The kernel and its components as one guest image
//!
//! Behind the kernel's image, at the next page, lies the archive: a page that lists the components,
//! then their segments as whole pages, zero-filled, so that they are mapped where they lie.

use bulkhead_abi::kernel::{
    ARCHIVE_MAGIC, Archive, IMAGE, MAX_COMPONENTS, MAX_SEGMENTS, Packed, Rights, SCB_ADDRESS,
    STACK_PAGES, STACK_TOP, Segment,
};
use bulkhead_abi::{PAGE_SIZE, VERSION, name_field};
use bulkhead_formats::address::Ipa;
use bulkhead_model::timing::Timing;
use bulkhead_plan::load::{GuestImage, Piece};
use zerocopy::IntoBytes;

use crate::elf::{self, Executable};
use crate::error::BuildError;
use crate::timing;

/// Crate of the kernel.
pub const KERNEL: &str = "bulkhead-kernel";
/// What crates of this project are called; names of components leave it out.
const PREFIX: &str = "bulkhead-";
/// The last page that a segment may take, exclusively: the stack and its guard follow.
const SEGMENTS_END: u64 = STACK_TOP - (STACK_PAGES + 1) * PAGE_SIZE;

const _: () = assert!(SEGMENTS_END < SCB_ADDRESS);

/// Packs `components` (crate and executable) and what they schedule behind `kernel`.
///
/// # Errors
/// There are too many, or one is linked for another place.
pub fn pack(
    mut kernel: GuestImage,
    components: &[(&str, Executable)],
    described: &Timing,
) -> Result<GuestImage, BuildError> {
    if components.len() > MAX_COMPONENTS {
        let message = format!("{} components are too many", components.len());
        let help = format!("the kernel's archive holds {MAX_COMPONENTS}");
        return Err(BuildError::new("component-count", message, &help));
    }
    let mut archive = Archive {
        magic: ARCHIVE_MAGIC,
        version: VERSION,
        count: components.len() as u32,
        pages: 0,
        components: [Packed::default(); MAX_COMPONENTS],
        timing: [0; 2],
    };
    let mut bytes = vec![0; PAGE_SIZE as usize];
    for (packed, (name, executable)) in archive.components.iter_mut().zip(components) {
        *packed = component(name, executable, &mut bytes)?;
    }
    archive.timing = append_timing(described, &mut bytes);
    archive.pages = bytes.len() as u64 / PAGE_SIZE;
    bytes[..size_of::<Archive>()].copy_from_slice(archive.as_bytes());
    let ends = kernel.pieces.iter().map(|piece| piece.range().end);
    let end = ends.max().unwrap_or(0).next_multiple_of(PAGE_SIZE);
    kernel.pieces.push(Piece::new(Ipa(end), bytes));
    Ok(kernel)
}

fn component(
    name: &str,
    executable: &Executable,
    bytes: &mut Vec<u8>,
) -> Result<Packed, BuildError> {
    if executable.segments.len() > MAX_SEGMENTS {
        return Err(misplaced(name, "has too many segments"));
    }
    let mut packed = Packed {
        name: name_field(name.strip_prefix(PREFIX).unwrap_or(name)),
        entry: executable.entry,
        ..Packed::default()
    };
    for (place, segment) in packed.segments.iter_mut().zip(&executable.segments) {
        *place = append(name, segment, bytes)?;
    }
    Ok(packed)
}

/// Appends the VCPUs and tasks, if there are any, as whole pages: first page and pages.
fn append_timing(described: &Timing, bytes: &mut Vec<u8>) -> [u32; 2] {
    if described.vcpus.is_empty() {
        return [0; 2];
    }
    let page = bytes.len() as u64 / PAGE_SIZE;
    bytes.extend(timing::pack(described));
    bytes.resize(bytes.len().next_multiple_of(PAGE_SIZE as usize), 0);
    [page as u32, (bytes.len() as u64 / PAGE_SIZE - page) as u32]
}

/// Appends a segment as whole pages.
fn append(name: &str, segment: &elf::Segment, bytes: &mut Vec<u8>) -> Result<Segment, BuildError> {
    let pages = segment.size.div_ceil(PAGE_SIZE);
    let address = segment.virtual_address;
    let end = address.saturating_add(pages * PAGE_SIZE);
    if !address.is_multiple_of(PAGE_SIZE) || address < IMAGE || end > SEGMENTS_END {
        return Err(misplaced(name, &format!("has a segment at {address:#x}")));
    }
    let page = bytes.len() as u64 / PAGE_SIZE;
    bytes.extend(&segment.bytes);
    bytes.resize(((page + pages) * PAGE_SIZE) as usize, 0);
    let rights = match (segment.write, segment.execute) {
        (true, true) => return Err(misplaced(name, "has memory to write and to execute")),
        (true, false) => Rights::Write,
        (false, true) => Rights::Execute,
        (false, false) => Rights::Read,
    };
    Ok(Segment {
        address,
        page: page as u32,
        pages: pages as u32,
        rights: rights as u64,
    })
}

fn misplaced(name: &str, what: &str) -> BuildError {
    BuildError::new(
        "component-image",
        format!("`{name}` {what}"),
        "a component is linked by the script of `user/rt`: its build.rs prints \
         `cargo:rustc-link-arg-bins=-Tbulkhead-component.ld`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_plan::load::Argument;
    use zerocopy::FromBytes;

    fn executable(address: u64, write: bool, execute: bool) -> Executable {
        Executable {
            segments: vec![elf::Segment {
                address,
                virtual_address: address,
                bytes: vec![7; 100],
                size: 5000,
                write,
                execute,
            }],
            entry: address,
            sizes: [0; 3],
        }
    }

    fn kernel() -> GuestImage {
        GuestImage {
            pieces: vec![Piece::new(Ipa(0x4000_0000), vec![1; 0x1801])],
            entry: Ipa(0x4000_0000),
            argument: Argument::GuestPage,
            device_tree: None,
        }
    }

    #[test]
    fn segments_are_whole_pages_behind_the_kernel() {
        let components = [
            ("bulkhead-first", executable(IMAGE, false, true)),
            ("second", executable(IMAGE + 0x1000, true, false)),
        ];
        let image = pack(kernel(), &components, &Timing::default()).unwrap();
        let piece = image.pieces.last().unwrap();
        assert_eq!(piece.ipa, Ipa(0x4000_2000));
        assert_eq!(piece.bytes.len() as u64, 5 * PAGE_SIZE);
        let (archive, _) = Archive::read_from_prefix(&piece.bytes).unwrap();
        assert_eq!((archive.count, archive.pages), (2, 5));
        let [first, second, ..] = archive.components;
        assert_eq!(bulkhead_abi::name_text(&first.name), "first");
        assert_eq!((first.segments[0].page, first.segments[0].pages), (1, 2));
        assert_eq!(second.segments[0].rights, Rights::Write as u64);
        assert_eq!(piece.bytes[PAGE_SIZE as usize * 3 + 99..][..2], [7, 0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for bad in [
            executable(IMAGE - PAGE_SIZE, false, true),
            executable(IMAGE + 8, false, true),
            executable(SEGMENTS_END - PAGE_SIZE, false, true),
            executable(IMAGE, true, true),
        ] {
            assert!(pack(kernel(), &[("bad", bad)], &Timing::default()).is_err());
        }
    }
}
