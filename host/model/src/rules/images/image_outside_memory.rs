//! An image lies in its partition's memory

use super::{Found, KERNEL_OFFSET};
use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::image_file::{Content, Inspected, Piece};
use crate::quantity::size_text;

crate::rules::declaration::rule! {
    Error, "image-outside-memory",
    "an image lies in the memory of its partition",
    "RTOS partitions find their memory at 0x4000_0000, others where the board's `guest.ram` says. ELF files \
     are loaded at their physical addresses, flat files at `load`, and everything must fit.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    for found in super::files(draft) {
        let pieces = found
            .file
            .as_ref()
            .map(|file| pieces(&found, file, found.ram(board)));
        tell(
            &found,
            &pieces.unwrap_or_default(),
            found.ram(board),
            report,
        );
    }
    for found in super::kernels(draft) {
        if let Ok(Inspected {
            content: Content::Linux(kernel),
            ..
        }) = &found.file
        {
            let ram = found.ram(board);
            let address = ram + KERNEL_OFFSET;
            let piece = Piece {
                address,
                size: kernel.memory,
            };
            tell(&found, &[piece], ram, report);
        }
    }
}

/// Loaded segments with their addresses.
fn pieces(found: &Found<'_>, file: &Inspected, ram: u64) -> Vec<Piece> {
    let address = found.load_address(&file.content, ram);
    let flat = |size| vec![Piece { address, size }];
    match &file.content {
        Content::Elf(elf) => elf.pieces.clone(),
        Content::Linux(kernel) => flat(kernel.memory),
        Content::Unknown => flat(file.size),
        _ => Vec::new(),
    }
}

fn tell(found: &Found<'_>, pieces: &[Piece], ram: u64, report: &mut Report) {
    let Some(memory) = found.partition.memory.given() else {
        return;
    };
    let end = ram.saturating_add(memory.value);
    let inside = |piece: &Piece| {
        piece.address >= ram
            && piece
                .address
                .checked_add(piece.size)
                .is_some_and(|last| last <= end)
    };
    let Some(piece) = pieces.iter().find(|piece| !inside(piece)) else {
        return;
    };
    let message = format!(
        "`{}` does not lie in the memory of `{}`",
        found.name.value, found.partition.name.value
    );
    let where_to = format!("{} at {:#x}", size_text(piece.size), piece.address);
    report.add(
        RULE.at(&found.name.span, message)
            .here(where_to)
            .label(&memory.span, format!("memory is {ram:#x} to {end:#x}"))
            .help("give the partition more memory, or load or link the image elsewhere"),
    );
}
