//! The texts a description is made of
//!
//! The description, each `--set` and the board file share one space of byte offsets, so a plain
//! [`Span`] names a place in any of them and a message can point into two at once.

use std::ops::Range;

/// Byte range in the description's text.
pub type Span = Range<usize>;

/// One text.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name in messages: a path, or `--set`.
    pub name: String,
    /// The text, its control characters replaced.
    pub text: String,
    base: usize,
    /// Offset at which each line starts.
    lines: Vec<usize>,
}

/// All texts of one description.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    sources: Vec<Source>,
}

/// A place as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the text.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Source {
    /// Offset of the text's first byte.
    #[must_use]
    pub fn base(&self) -> usize {
        self.base
    }

    /// Returns whether the offset lies in this text, its end included.
    #[must_use]
    pub fn contains(&self, offset: usize) -> bool {
        (self.base..=self.base + self.text.len()).contains(&offset)
    }

    fn new(name: String, text: &str, base: usize) -> Self {
        let lines = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Self {
            name,
            lines: std::iter::once(0).chain(lines).collect(),
            text: text.chars().map(printable).collect(),
            base,
        }
    }

    /// The lines that the span touches, without the last line's end.
    pub(crate) fn whole_lines(&self, span: &Span) -> Span {
        let first = self.lines[self.line(self.local(span.start))];
        let last = self.line(self.local(span.end.max(span.start)));
        let end = match self.lines.get(last + 1) {
            Some(next) => next - 1,
            None => self.text.len(),
        };
        first + self.base..end + self.base
    }

    /// Index of the line in which an offset of this text lies.
    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset) - 1
    }

    /// An offset as one of this text, at the start of a character.
    fn local(&self, offset: usize) -> usize {
        self.text
            .floor_char_boundary(offset.saturating_sub(self.base))
    }

    /// Line and column of an offset.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let offset = self.local(offset);
        let line = self.line(offset);
        Place {
            file: self.name.clone(),
            line: line + 1,
            column: self.text[self.lines[line]..offset].chars().count() + 1,
        }
    }
}

/// Replaces characters that a terminal would obey by harmless ones of the same length in UTF-8.
fn printable(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        '\r' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ if character.is_control() && character.is_ascii() => '?',
        _ if character.is_control() => '\u{bf}',
        _ => character,
    }
}

/// A text as part of a message: one line, nothing a terminal would obey.
pub(crate) fn printable_text(text: &str) -> String {
    text.replace('\n', "?").chars().map(printable).collect()
}

impl Sources {
    /// Takes a text in and answers the offset of its first byte.
    pub fn add(&mut self, name: String, text: &str) -> usize {
        let end = |last: &Source| last.base + last.text.len() + 1;
        let base = self.sources.last().map_or(0, end);
        self.sources.push(Source::new(name, text, base));
        base
    }

    /// The text in which the offset lies.
    #[must_use]
    pub fn at(&self, offset: usize) -> Option<&Source> {
        self.sources.iter().find(|source| source.contains(offset))
    }

    /// The text of a span.
    #[must_use]
    pub fn text(&self, span: &Span) -> Option<&str> {
        let source = self.at(span.start)?;
        let local = |offset: usize| offset.checked_sub(source.base);
        source.text.get(local(span.start)?..local(span.end)?)
    }

    /// The span, or where it is empty at the end of a line, the last character of that line.
    pub(crate) fn visible(&self, span: &Span) -> Span {
        let Some(source) = self.at(span.start).filter(|_| span.is_empty()) else {
            return span.clone();
        };
        let at = source.local(span.start);
        let at_end = source.text[at..]
            .chars()
            .next()
            .is_none_or(|next| next == '\n');
        match source.text[..at]
            .chars()
            .next_back()
            .filter(|last| at_end && *last != '\n')
        {
            Some(last) => span.start - last.len_utf8()..span.start,
            None => span.clone(),
        }
    }

    /// File, line and column of the span's start.
    #[must_use]
    pub fn place(&self, span: &Span) -> Option<Place> {
        self.at(span.start).map(|source| source.place(span.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_across_texts() {
        let mut sources = Sources::default();
        sources.add("a".into(), "one\ntwö x\n");
        let second = sources.add("b".into(), "three");
        let place = |offset| sources.place(&(offset..offset)).unwrap();
        assert_eq!(
            place(9),
            Place {
                file: "a".into(),
                line: 2,
                column: 5
            }
        );
        assert_eq!(
            place(second),
            Place {
                file: "b".into(),
                line: 1,
                column: 1
            }
        );
        assert!(sources.place(&(999..999)).is_none());
    }

    #[test]
    fn nothing_reaches_the_terminal() {
        let text = "a\u{1b}[2J\u{9b}\u{202e}\r\n";
        let source = Source::new(String::new(), text, 0);
        assert_eq!(source.text, "a?[2J\u{bf}\u{fffd} \n");
        assert_eq!(source.text.len(), text.len());
        assert_eq!(printable_text("a\nb\u{7}"), "a?b?");
    }
}
