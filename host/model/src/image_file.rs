//! Kind of an image file
//!
//! Recognised by content, never by name. Only the deciding bytes are read: the first bytes of a
//! kernel, and the headers of an ELF file, whatever its size.

mod elf;
mod kernel;

pub(crate) use elf::{ElfImage, Piece};
pub(crate) use kernel::LinuxImage;

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Bytes read of each file.
const HEAD: u64 = 64 << 10;

/// Kind of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// An ELF program for AArch64.
    Elf(ElfImage),
    /// An arm64 `Image`.
    Linux(LinuxImage),
    /// Something that cannot be started; what it is, and what to do.
    Foreign(String, &'static str),
    /// An ELF or `Image` of which the end is missing; what is missing.
    Truncated(String),
    /// An archive or compressed file.
    Packed(&'static str),
    /// Nothing known: a flat file, perhaps.
    Unknown,
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspected {
    pub(crate) content: Content,
    /// Bytes of the file.
    pub(crate) size: u64,
}

/// Bytes at an offset, what they tell, and whether it is compressed.
const MAGICS: &[(usize, &[u8], &str)] = &[
    (0, b"\x1f\x8b", "gzip"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x5d\0\0", "lzma"),
    (0, b"BZh", "bzip2"),
    (0, b"\x02\x21\x4c\x18", "lz4"),
    (0, b"\x04\x22\x4d\x18", "lz4"),
    (0, b"\x89LZO", "lzo"),
];

/// Archives an initial file system comes as.
const CPIO: &[&[u8]] = &[b"070701", b"070702"];

/// Bytes at an offset, what they tell, and what to do.
const FOREIGN: &[(usize, &[u8], &str, &str)] = &[
    (
        4,
        b"zimg",
        "an EFI zboot kernel, compressed inside",
        "unpack it: the `Image` is what is needed",
    ),
    (
        0x202,
        b"HdrS",
        "an x86 kernel (bzImage)",
        "an arm64 kernel is needed",
    ),
    (
        0x24,
        b"\x18\x28\x6f\x01",
        "a 32-bit Arm kernel (zImage)",
        "an arm64 `Image` is needed",
    ),
    (
        0,
        b"\x27\x05\x19\x56",
        "a U-Boot image (uImage)",
        "unwrap it: the `Image` is what is needed",
    ),
    (
        0,
        b"\xd0\x0d\xfe\xed",
        "a device tree or FIT image",
        "name the kernel itself",
    ),
    (
        0,
        b"!<arch>\n",
        "a package or library archive",
        "unpack it first, e.g. by `dpkg-deb -x`",
    ),
    (
        0,
        b"#!",
        "a script",
        "name the file that runs on the machine",
    ),
    (0, b"PK\x03\x04", "a zip archive", "unpack it first"),
    (257, b"ustar", "a tar archive", "unpack it first"),
];

/// Looks into a file.
///
/// # Errors
/// Why it cannot be used, in words.
pub(crate) fn inspect(path: &Path) -> Result<Inspected, String> {
    let facts = fs::metadata(path).map_err(|reason| why(&reason))?;
    if !facts.is_file() {
        return Err(if facts.is_dir() {
            "it is a folder".into()
        } else {
            "it is no file".into()
        });
    }
    if facts.len() == 0 {
        return Err("it is empty".into());
    }
    let file = File::open(path).map_err(|reason| why(&reason))?;
    let mut head = Vec::new();
    (&file)
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(|reason| why(&reason))?;
    let content = recognise(&head, &file, facts.len());
    Ok(Inspected {
        content,
        size: facts.len(),
    })
}

fn why(reason: &std::io::Error) -> String {
    match reason.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".into(),
        kind => kind.to_string(),
    }
}

fn recognise(head: &[u8], file: &File, size: u64) -> Content {
    let at = |offset: usize, magic: &[u8]| {
        head.get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    if at(0, b"\x7fELF") {
        return elf::read(head, file);
    }
    if let Some((_, _, what, advice)) = FOREIGN
        .iter()
        .find(|(offset, magic, ..)| at(*offset, magic))
    {
        return Content::Foreign((*what).into(), advice);
    }
    if let Some((_, _, what)) = MAGICS.iter().find(|(offset, magic, _)| at(*offset, magic)) {
        return Content::Packed(what);
    }
    if CPIO.iter().any(|magic| at(0, magic)) {
        return Content::Packed("cpio");
    }
    kernel::read(head, size).unwrap_or(Content::Unknown)
}
