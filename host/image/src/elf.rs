//! ELF executables for AArch64

use bulkhead_formats::address::Ipa;
use bulkhead_plan::load::Piece;
use object::Endianness;
use object::elf::{EM_AARCH64, ET_DYN, ET_EXEC, FileHeader64, PF_W, PF_X, PT_LOAD, SHF_ALLOC};
use object::elf::{SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS};
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use std::sync::Arc;

type Header = FileHeader64<Endianness>;

/// A segment that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Load address (physical).
    pub address: u64,
    /// Run address (virtual).
    pub virtual_address: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Bytes it occupies.
    pub size: u64,
    /// Writable.
    pub write: bool,
    /// Executable.
    pub execute: bool,
}

/// An executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// Its segments, by address.
    pub segments: Vec<Segment>,
    /// Its entry, as it is linked.
    pub entry: u64,
    /// Bytes of its text, read-only data and writable data, by sections.
    pub sizes: [u64; 3],
}

/// Returns `true` if a file claims to be ELF.
#[must_use]
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7FELF")
}

/// Reads an executable; the error says what is wrong with the file.
///
/// # Errors
/// The file is not a 64-bit little-endian AArch64 executable, or damaged.
pub fn parse(bytes: &[u8]) -> Result<Executable, String> {
    let header = Header::parse(bytes).map_err(|_| "is no 64-bit ELF file".to_owned())?;
    let endian = header.endian().map_err(|error| error.to_string())?;
    if endian != Endianness::Little {
        return Err("is big-endian".into());
    }
    if header.e_machine(endian) != EM_AARCH64 {
        return Err("is for another processor, not AArch64".into());
    }
    if ![ET_EXEC, ET_DYN].contains(&header.e_type(endian)) {
        return Err("is no executable (an object file?)".into());
    }
    Ok(Executable {
        segments: segments(header, endian, bytes)?,
        entry: header.e_entry(endian),
        sizes: sizes(header, endian, bytes).map_err(|error| error.to_string())?,
    })
}

fn segments(header: &Header, endian: Endianness, bytes: &[u8]) -> Result<Vec<Segment>, String> {
    let headers = header
        .program_headers(endian, bytes)
        .map_err(|error| error.to_string())?;
    let mut segments = Vec::new();
    for header in headers
        .iter()
        .filter(|header| header.p_type(endian) == PT_LOAD)
    {
        let (size, flags) = (header.p_memsz(endian), header.p_flags(endian));
        let data = header
            .data(endian, bytes)
            .map_err(|()| "is truncated".to_owned())?;
        if size < data.len() as u64 || header.p_paddr(endian).checked_add(size).is_none() {
            return Err("has a segment with impossible sizes".into());
        }
        if size > 0 {
            segments.push(Segment {
                address: header.p_paddr(endian),
                virtual_address: header.p_vaddr(endian),
                bytes: data.to_vec(),
                size,
                write: flags & PF_W != 0,
                execute: flags & PF_X != 0,
            });
        }
    }
    segments.sort_by_key(|segment| segment.address);
    if segments.is_empty() {
        return Err("has nothing to load".into());
    }
    Ok(segments)
}

fn sizes(header: &Header, endian: Endianness, bytes: &[u8]) -> object::Result<[u64; 3]> {
    let mut sizes = [0; 3];
    for section in header.section_headers(endian, bytes)? {
        let flags = section.sh_flags(endian);
        if flags & u64::from(SHF_ALLOC) == 0 {
            continue;
        }
        let class = if flags & u64::from(SHF_EXECINSTR) != 0 {
            0
        } else if flags & u64::from(SHF_WRITE) != 0 || section.sh_type(endian) == SHT_NOBITS {
            2
        } else {
            1
        };
        sizes[class] += section.sh_size(endian);
    }
    Ok(sizes)
}

impl Executable {
    /// The entry as a load address: images that run elsewhere than they lie start where they lie.
    #[must_use]
    pub fn entry_address(&self) -> u64 {
        let inside = |segment: &&Segment| {
            (segment.virtual_address..segment.virtual_address.saturating_add(segment.size))
                .contains(&self.entry)
        };
        self.segments
            .iter()
            .find(inside)
            .map_or(self.entry, |segment| {
                self.entry - segment.virtual_address + segment.address
            })
    }

    /// Its segments as parts of a guest image.
    #[must_use]
    pub fn pieces(self) -> Vec<Piece> {
        let piece = |segment: Segment| Piece {
            ipa: Ipa(segment.address),
            bytes: Arc::new(segment.bytes),
            size: segment.size,
        };
        self.segments.into_iter().map(piece).collect()
    }
}
