//! Words of the language

use crate::language::syntax::Span;

/// Kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Letters, digits and `_-.:`, a letter or `_` first; also units.
    Name,
    /// Digits and points.
    Number,
    /// One of `*|,()[]%/`.
    Mark(u8),
    /// A character that begins nothing.
    Other,
    /// The end of the text.
    End,
}

/// A text and how far it has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads the next word.
    pub(super) fn next(&mut self) -> (Word, Span) {
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let rest = &self.text[start..];
        let (word, length) = match rest.chars().next() {
            None => (Word::End, 0),
            Some(first) if is_mark(first) => (Word::Mark(first as u8), 1),
            Some(first) if starts_name(first) => (Word::Name, length(rest, in_name)),
            Some(first) if in_number(first) => (Word::Number, length(rest, in_number)),
            Some(first) => (Word::Other, first.len_utf8()),
        };
        self.at = start + length;
        let end = self.at;
        (word, Span { start, end })
    }

    /// The next word without reading it.
    pub(super) fn peek(mut self) -> (Word, Span) {
        self.next()
    }

    pub(super) fn text(&self, span: Span) -> &'t str {
        span.of(self.text)
    }
}

fn length(rest: &str, within: fn(char) -> bool) -> usize {
    rest.find(|character| !within(character))
        .unwrap_or(rest.len())
}

fn is_mark(character: char) -> bool {
    "*|,()[]%/".contains(character)
}

/// The micro signs begin a unit, and no function's name.
pub(super) const MICRO: [char; 2] = ['\u{b5}', '\u{3bc}'];

fn starts_name(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || MICRO.contains(&character)
}

fn in_name(character: char) -> bool {
    starts_name(character) || character.is_ascii_digit() || "-.:".contains(character)
}

fn in_number(character: char) -> bool {
    character.is_ascii_digit() || character == '.'
}
