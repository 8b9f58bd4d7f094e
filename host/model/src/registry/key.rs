//! Keys of the description: type, presence, meaning

/// Form of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A table with keys of its own.
    Section,
    /// A table of tables with names that the user chooses.
    Named,
    /// A list of tables.
    Tables,
    /// A table with the keys of another one.
    Like(&'static str),
    /// Any text.
    Text,
    /// A whole number in a range, both ends included.
    Number(u64, u64),
    /// Bytes: a text with a unit, or a plain number.
    Size,
    /// A text with a unit.
    Time,
    /// `true` or `false`.
    Flag,
    /// One of these.
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A text or a list of texts.
    TextOrTexts,
    /// A list of whole numbers up to this one.
    Numbers(u64),
    /// A whole number or a list of whole numbers, up to this one.
    NumberOrNumbers(u64),
}

/// Presence of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The key is required.
    Required,
    /// The key is required, and a rule reports its absence.
    RequiredByRule,
    /// The default, in words.
    Default(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Dotted path, `*` for a given name.
    pub(crate) path: &'static str,
    pub(crate) shape: Shape,
    pub(crate) presence: Presence,
    /// One or more sentences.
    pub(crate) meaning: &'static str,
    /// A line of TOML that sets it.
    pub(crate) example: &'static str,
}

impl Key {
    /// The last part of the path.
    pub(crate) fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// The meaning, up to the first full stop.
    pub(crate) fn first_sentence(&self) -> &'static str {
        let sentence = self.meaning.split(". ").next().unwrap_or(self.meaning);
        sentence.trim_end_matches('.')
    }

    /// The path as people read it: `partition.NAME.memory`.
    pub(crate) fn display(&self) -> String {
        self.path.replace('*', "NAME")
    }
}

impl Shape {
    /// The expected form, for messages and the reference.
    pub(crate) fn expectation(&self) -> String {
        match self {
            Self::Section | Self::Like(_) => "a table".into(),
            Self::Named => "tables with names of your choice".into(),
            Self::Tables => "a list of tables, e.g. [{ base = 0 }]".into(),
            Self::Text => "a text".into(),
            Self::Number(min, max) => number_expectation(*min, *max),
            Self::Size => "a size, e.g. \"256 KiB\"".into(),
            Self::Time => "a time, e.g. \"20 ms\"".into(),
            Self::Flag => "`true` or `false`".into(),
            Self::Choice(names) => format!("one of {}", quoted(names)),
            Self::Texts => "a list of texts, e.g. [\"a\", \"b\"]".into(),
            Self::TextOrTexts => "a text, or a list of texts".into(),
            Self::Numbers(_) => "a list of whole numbers, e.g. [0, 1]".into(),
            Self::NumberOrNumbers(_) => "a whole number, or a list of them, e.g. [0, 3]".into(),
        }
    }
}

pub(super) fn number_expectation(min: u64, max: u64) -> String {
    match max {
        u64::MAX => format!("a whole number from {min}"),
        _ => format!("a whole number from {min} to {max}"),
    }
}

/// `"a", "b", "c"`.
pub(crate) fn quoted(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect::<Vec<_>>()
        .join(", ")
}
