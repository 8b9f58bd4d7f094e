//! Each name is given once

use crate::diagnostic::Diagnostic;
use crate::source::Span;

crate::rules::declaration::rule! {
    Error, "duplicate-name",
    "each partition, channel, table and key is named once",
    "A second `[partition.NAME]` of the same name, or a key set twice, would hide the first."
}

/// Text of the TOML parser for this error.
pub(crate) const SAID: &str = "duplicate key";

/// `text` starts at offset `base` and the second of the names is at `span`.
pub(crate) fn found(text: &str, base: usize, span: &Span) -> Diagnostic {
    let name = &text[span.start - base..span.end - base];
    let found = RULE
        .at(span, format!("`{name}` is given twice"))
        .here("second time")
        .help("remove or rename one of them");
    match first(text, span.start - base, name) {
        Some(start) => found.label(&(start + base..start + base + name.len()), "first time"),
        None => found,
    }
}

/// Place of the same header, or the same key below the same header, before `offset`.
fn first(text: &str, offset: usize, name: &str) -> Option<usize> {
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next()?.trim();
    let mut at = start;
    for earlier in text[..start].split_inclusive('\n').rev() {
        at -= earlier.len();
        let trimmed = earlier.trim();
        let same_header = line.starts_with('[') && trimmed == line;
        let same_key = !line.starts_with('[') && key_of(trimmed) == Some(name);
        if same_header || same_key {
            return Some(
                at + if same_header {
                    earlier.rfind(name)?
                } else {
                    earlier.find(name)?
                },
            );
        }
        if !line.starts_with('[') && trimmed.starts_with('[') {
            return None;
        }
    }
    None
}

fn key_of(line: &str) -> Option<&str> {
    line.split_once('=').map(|(key, _)| key.trim())
}
