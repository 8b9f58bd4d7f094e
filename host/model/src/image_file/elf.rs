//! ELF files

use super::Content;
use object::elf::{EM_AARCH64, ET_DYN, ET_EXEC, FileHeader64, PT_INTERP, PT_LOAD};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};
use std::fs::File;

/// A program for AArch64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ElfImage {
    /// Entry point, as a load address.
    pub(crate) entry: u64,
    /// Loaded segments.
    pub(crate) pieces: Vec<Piece>,
}

/// A loaded segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Load (physical) address.
    pub(crate) address: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
}

/// Offsets in an ELF header, the same in both classes.
const CLASS: usize = 4;
const DATA: usize = 5;
const MACHINE: usize = 18;

/// Machines people mix up with AArch64.
const MACHINES: &[(u16, &str)] = &[
    (3, "32-bit x86"),
    (8, "MIPS"),
    (21, "64-bit PowerPC"),
    (40, "32-bit Arm"),
    (62, "x86-64"),
    (243, "RISC-V"),
    (258, "LoongArch"),
];

pub(super) fn read(head: &[u8], file: &File) -> Content {
    match foreign(head) {
        Some(content) => content,
        None => parse(&ReadCache::new(file))
            .unwrap_or_else(|| Content::Truncated("its headers point past its end".into())),
    }
}

/// Its kind, if it is not for a little-endian AArch64.
fn foreign(head: &[u8]) -> Option<Content> {
    let short = || Content::Truncated("not even its header is whole".into());
    let Some(machine) = head.get(MACHINE..MACHINE + 2) else {
        return Some(short());
    };
    let big = head[DATA] == 2;
    let machine = [machine[0], machine[1]];
    let machine = if big {
        u16::from_be_bytes(machine)
    } else {
        u16::from_le_bytes(machine)
    };
    let name = MACHINES
        .iter()
        .find(|(number, _)| *number == machine)
        .map(|(_, name)| *name);
    let needed = "an AArch64 one is needed: build it for that target";
    match (machine, head[CLASS], big) {
        (EM_AARCH64, 2, false) => None,
        (EM_AARCH64, 2, true) => Some(Content::Foreign("a big-endian program".into(), needed)),
        (EM_AARCH64, ..) => Some(Content::Foreign("a 32-bit program".into(), needed)),
        _ => {
            let what = name.map_or(format!("machine {machine}"), str::to_owned);
            Some(Content::Foreign(format!("a program for {what}"), needed))
        }
    }
}

/// Nothing where a part that the headers name is not there.
fn parse<'a>(data: impl ReadRef<'a>) -> Option<Content> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    if !matches!(header.e_type(endian), ET_EXEC | ET_DYN) || segments.is_empty() {
        let advice = "link it to an executable";
        return Some(Content::Foreign(
            "an object file, not linked".into(),
            advice,
        ));
    }
    if segments
        .iter()
        .any(|segment| segment.p_type(endian) == PT_INTERP)
    {
        let advice = "a program for the bare machine is needed";
        return Some(Content::Foreign(
            "a dynamically linked program for Linux".into(),
            advice,
        ));
    }
    let loads = || {
        segments
            .iter()
            .filter(|segment| segment.p_type(endian) == PT_LOAD)
    };
    let entry = header.e_entry(endian);
    let mut image = ElfImage {
        entry,
        pieces: Vec::new(),
    };
    for segment in loads() {
        segment.data(endian, data).ok()?;
        let (address, start) = (segment.p_paddr(endian), segment.p_vaddr(endian));
        let size = segment.p_memsz(endian);
        if (start..start.checked_add(size)?).contains(&entry) {
            image.entry = (entry - start).checked_add(address)?;
        }
        if size > 0 {
            image.pieces.push(Piece { address, size });
        }
    }
    Some(Content::Elf(image))
}
