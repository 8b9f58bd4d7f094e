//! Typed access to a table after the check of its shape

use crate::document::{At, Entry, Node, Table, Value};
use crate::draft::field::Field;

/// Cores as written.
#[derive(Clone, Debug)]
pub(crate) enum CoresDraft {
    Count(u64),
    These(Vec<At<u64>>),
}

/// A table, or the lack of one.
pub(crate) struct Section<'a> {
    table: Option<&'a Table>,
    /// Name of the table and its place.
    pub(crate) name: At<String>,
    /// True if the table is unreadable; then all its fields are broken.
    broken: bool,
}

impl<'a> Section<'a> {
    /// Its name.
    pub(crate) fn name(&self) -> At<String> {
        self.name.clone()
    }

    /// The keys that are written in it.
    pub(crate) fn keys(&self) -> Vec<At<String>> {
        let entries = self.table.map_or(&[][..], |table| &table.entries);
        entries.iter().map(|entry| entry.key.clone()).collect()
    }

    /// The table of that key, empty where it is missing.
    pub(crate) fn of(parent: &'a Table, key: &str) -> Self {
        parent
            .get(key)
            .map_or_else(|| Self::missing(key), Self::entry)
    }

    /// The tables below a key, in the order of the text.
    pub(crate) fn named(parent: &'a Table, key: &str) -> impl Iterator<Item = Section<'a>> {
        let entries = parent.table(key).map_or(&[][..], |table| &table.entries);
        entries.iter().map(Self::entry)
    }

    /// A whole file.
    pub(crate) fn whole(table: &'a Table) -> Self {
        Self {
            table: Some(table),
            ..Self::missing("")
        }
    }

    fn missing(key: &str) -> Self {
        Self {
            table: None,
            name: At {
                value: key.to_owned(),
                span: 0..0,
            },
            broken: false,
        }
    }

    fn entry(entry: &'a Entry) -> Self {
        let table = match &entry.node.value {
            Value::Table(table) => Some(table),
            _ => None,
        };
        Self {
            table,
            name: entry.key.clone(),
            broken: table.is_none(),
        }
    }

    /// The table of that key below this one.
    pub(crate) fn section(&self, key: &str) -> Section<'a> {
        self.table
            .map_or_else(|| Self::missing(key), |table| Self::of(table, key))
    }

    /// The tables below a key of this one, in the order of the text.
    pub(crate) fn all(&self, key: &str) -> impl Iterator<Item = Section<'a>> {
        self.table
            .into_iter()
            .flat_map(move |table| Self::named(table, key))
    }

    /// The tables of a list.
    pub(crate) fn listed(&self, key: &str) -> impl Iterator<Item = Section<'a>> {
        let entry = self.table.and_then(|table| table.get(key));
        let items = entry.and_then(|entry| match &entry.node.value {
            Value::List(items) => Some(items.as_slice()),
            _ => None,
        });
        let items = items.unwrap_or_default().iter();
        items.map(|node| {
            let table = match &node.value {
                Value::Table(table) => Some(table),
                _ => None,
            };
            Self {
                table,
                name: At {
                    value: String::new(),
                    span: node.span.clone(),
                },
                broken: table.is_none(),
            }
        })
    }

    /// The table of that key below this one, if it is written, read by `read`.
    pub(crate) fn optional<T>(&self, key: &str, read: impl Fn(&Self) -> T) -> Field<T> {
        self.field(key, |_| Some(read(&self.section(key))))
    }

    /// A field read by `read`, which answers nothing for a broken value.
    pub(crate) fn field<T>(&self, key: &str, read: impl Fn(&Value) -> Option<T>) -> Field<T> {
        if self.broken {
            return Field::Broken;
        }
        match self.table.and_then(|table| table.get(key)) {
            None => Field::Absent,
            Some(entry) => located(&entry.node, read).map_or(Field::Broken, Field::Given),
        }
    }

    pub(crate) fn text(&self, key: &str) -> Field<String> {
        self.field(key, text)
    }

    pub(crate) fn number(&self, key: &str) -> Field<u64> {
        self.field(key, number)
    }

    pub(crate) fn flag(&self, key: &str) -> Field<bool> {
        self.field(key, |value| match value {
            Value::Boolean(flag) => Some(*flag),
            _ => None,
        })
    }

    /// One of the values, by the number of the name that was written.
    pub(crate) fn choice<T: Copy>(&self, key: &str, values: &[T]) -> Field<T> {
        self.field(key, |value| {
            values.get(usize::try_from(number(value)?).ok()?).copied()
        })
    }

    pub(crate) fn texts(&self, key: &str) -> Field<Vec<At<String>>> {
        self.field(key, |value| list(value, text))
    }

    pub(crate) fn numbers(&self, key: &str) -> Field<Vec<At<u64>>> {
        self.field(key, |value| list(value, number))
    }
}

impl CoresDraft {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        match value {
            Value::List(_) => list(value, number).map(Self::These),
            _ => number(value).map(Self::Count),
        }
    }
}

pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

pub(crate) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// The readable items of a list.
pub(crate) fn list<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Vec<At<T>>> {
    match value {
        Value::List(items) => Some(
            items
                .iter()
                .filter_map(|item| located(item, &read))
                .collect(),
        ),
        _ => None,
    }
}

fn located<T>(node: &Node, read: impl Fn(&Value) -> Option<T>) -> Option<At<T>> {
    Some(At {
        value: read(&node.value)?,
        span: node.span.clone(),
    })
}
