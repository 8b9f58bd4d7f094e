//! Every key there is: its type, default, meaning and an example
//!
//! The one table behind the check for unknown keys, `bulkhead explain`, the reference and the
//! template of a new description. In a path, `*` stands for a name the user gives.

mod board_keys;
mod bridge_keys;
mod channel_keys;
mod component_keys;
mod device_keys;
mod flow_keys;
mod image_keys;
mod partition_keys;
mod pipe_keys;
mod system_keys;
mod time_keys;

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

/// The keys of one kind of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registry {
    groups: &'static [&'static [Key]],
}

/// Keys of a system description.
pub(crate) const DESCRIPTION: Registry = Registry {
    groups: &[
        system_keys::KEYS,
        partition_keys::KEYS,
        image_keys::KEYS,
        component_keys::KEYS,
        time_keys::KEYS,
        channel_keys::KEYS,
        device_keys::KEYS,
        flow_keys::KEYS,
        bridge_keys::KEYS,
    ],
};

/// Keys of a board file.
pub(crate) const BOARD: Registry = Registry {
    groups: &[board_keys::KEYS],
};

/// Keys of a file of pipe functions.
pub(crate) const FUNCTIONS: Registry = Registry {
    groups: &[pipe_keys::KEYS],
};

impl Registry {
    /// All keys, in the order of the reference.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The key of that name directly below a path pattern.
    pub(crate) fn key(&self, path: &str, name: &str) -> Option<&'static Key> {
        let path = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        };
        self.keys().find(|key| key.path == path)
    }

    /// Shape of the key of that path pattern.
    #[cfg(test)]
    pub(crate) fn shape(&self, path: &str) -> Option<Shape> {
        self.keys()
            .find(|key| key.path == path)
            .map(|key| key.shape)
    }

    /// The keys directly below a path pattern; the empty one is the whole file.
    pub(crate) fn below(&self, path: &str) -> impl Iterator<Item = &'static Key> {
        let path = path.to_owned();
        self.keys().filter(move |key| is_below(key.path, &path))
    }
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

fn number_expectation(min: u64, max: u64) -> String {
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

/// Returns whether a key's path is a path and one more part.
fn is_below(key: &str, path: &str) -> bool {
    let rest = match path {
        "" => Some(key),
        _ => key
            .strip_prefix(path)
            .and_then(|rest| rest.strip_prefix('.')),
    };
    rest.is_some_and(|name| !name.contains('.'))
}
