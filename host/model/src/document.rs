//! A TOML text as a tree in which everything knows its place
//!
//! Parsing recovers from errors: all of them are reported, and what could be read is still checked.

use crate::source::Span;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Something and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// A value and its place.
pub(crate) type Node = At<Value>;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i128),
    Float,
    Boolean(bool),
    Date,
    List(Vec<Node>),
    Table(Table),
    /// Reported as wrong already: stands for an unknown value.
    Broken,
}

/// Keys and values in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

/// One key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: At<String>,
    pub(crate) node: Node,
}

/// Message of the TOML parser.
#[derive(Clone, Debug)]
pub(crate) struct SyntaxError {
    pub(crate) span: Span,
    pub(crate) message: String,
}

impl Value {
    /// Name of the kind, for messages.
    pub(crate) const fn description(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) => "a whole number",
            Self::Float => "a number with a point",
            Self::Boolean(_) => "`true` or `false`",
            Self::Date => "a date or time of day",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Broken => "unreadable",
        }
    }
}

impl Table {
    /// The entry of that key.
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.value == key)
    }

    /// The entry of that key, to change.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key.value == key)
    }

    /// The table of that key.
    pub(crate) fn table(&self, key: &str) -> Option<&Self> {
        match &self.get(key)?.node.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

/// Reads a text that starts at offset `base`. Values that an error touches come out broken.
pub(crate) fn parse(text: &str, base: usize) -> (Table, Vec<SyntaxError>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let errors: Vec<_> = errors
        .iter()
        .map(|error| SyntaxError {
            span: shift(&error.span().unwrap_or(0..0), base),
            message: error.message().to_owned(),
        })
        .collect();
    (
        Reader {
            base,
            errors: &errors,
        }
        .table(table.get_ref()),
        errors,
    )
}

/// Reads a single value that starts at offset `base`, if it is one.
pub(crate) fn parse_value(text: &str, base: usize) -> Option<Value> {
    let value = DeValue::parse(text).ok()?;
    Some(Reader { base, errors: &[] }.node(&value).value)
}

fn shift(span: &Range<usize>, base: usize) -> Span {
    span.start + base..span.end + base
}

struct Reader<'a> {
    base: usize,
    errors: &'a [SyntaxError],
}

impl Reader<'_> {
    fn table(&self, table: &DeTable<'_>) -> Table {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| Entry {
                key: At {
                    value: key.get_ref().to_string(),
                    span: shift(&key.span(), self.base),
                },
                node: self.node(value),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key.span.start);
        Table { entries }
    }

    fn node(&self, node: &Spanned<DeValue<'_>>) -> Node {
        let span = shift(&node.span(), self.base);
        let value = match node.get_ref() {
            DeValue::Table(table) => Value::Table(self.table(table)),
            DeValue::Array(list) => Value::List(list.iter().map(|item| self.node(item)).collect()),
            _ if self.touched(&span) => Value::Broken,
            scalar => read_scalar(scalar),
        };
        At { value, span }
    }

    fn touched(&self, span: &Span) -> bool {
        self.errors
            .iter()
            .any(|error| error.span.start <= span.end && span.start <= error.span.end)
    }
}

fn read_scalar(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Broken, Value::Integer),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Float(_) => Value::Float,
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(_) | DeValue::Table(_) => Value::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_knows_its_place() {
        let text = "[b]\nx = 1\n[a]\ny = [\"q\", true]\n";
        let (table, errors) = parse(text, 100);
        assert!(errors.is_empty());
        assert_eq!(table.entries[0].key.value, "b");
        let y = table.table("a").unwrap().get("y").unwrap();
        assert_eq!(
            &text[y.node.span.start - 100..y.node.span.end - 100],
            "[\"q\", true]"
        );
    }

    #[test]
    fn errors_do_not_hide_the_rest() {
        let (table, errors) = parse("a = 256 KiB\nb = 2\nb = 3\nc = 4\n", 0);
        assert_eq!(errors.len(), 2);
        assert_eq!(table.get("a").unwrap().node.value, Value::Broken);
        assert_eq!(table.get("c").unwrap().node.value, Value::Integer(4));
    }
}
