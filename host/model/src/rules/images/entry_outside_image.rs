//! An image is entered inside

use super::Found;
use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::image_file::{Content, Inspected};
use crate::source::Span;

crate::rules::declaration::rule! {
    Error, "entry-outside-image",
    "an image is entered at an instruction: a multiple of 4 at which something of it is loaded",
    "The first instruction would be fetched from memory that holds nothing.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    for found in super::files(draft) {
        let Ok(file) = &found.file else { continue };
        let Some((entry, span)) = entry(&found, file) else {
            continue;
        };
        if !entry.is_multiple_of(4) || !is_inside(&found, file, found.ram(board), entry) {
            let message = format!("`{}` has no instruction at its entry", found.name.value);
            report.add(
                RULE.at(&span, message)
                    .here(format!("entered at {entry:#x}"))
                    .help("give an `entry` inside the image, or link it with one"),
            );
        }
    }
}

/// The entry point, and the place that names it; `None` if it is the start of the image.
fn entry(found: &Found<'_>, file: &Inspected) -> Option<(u64, Span)> {
    match (found.image.entry.given(), &file.content) {
        (Some(entry), _) => Some((entry.value, entry.span.clone())),
        (None, Content::Elf(elf)) => Some((elf.entry, found.name.span.clone())),
        _ => None,
    }
}

fn is_inside(found: &Found<'_>, file: &Inspected, ram: u64, entry: u64) -> bool {
    let within = |start: u64, size: u64| (start..start.saturating_add(size)).contains(&entry);
    match &file.content {
        Content::Elf(elf) => elf
            .pieces
            .iter()
            .any(|piece| within(piece.address, piece.size)),
        Content::Linux(_) | Content::Unknown => {
            within(found.load_address(&file.content, ram), file.size)
        }
        _ => true,
    }
}
