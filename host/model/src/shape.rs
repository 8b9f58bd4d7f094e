//! The shape of a description: keys and types against the registry
//!
//! Walks the tree once. What is wrong is reported and marked broken; what is right is brought into
//! one form: sizes in bytes, times in nanoseconds, choices by number, single texts as lists where a
//! list is allowed.

use crate::diagnostic::Report;
use crate::document::{Entry, Node, Table, Value};
use crate::quantity::{self, SIZE_UNITS, TIME_UNITS};
use crate::registry::{Key, Presence, Registry, Shape};
use crate::rules::shape::{
    bad_name, bad_size, bad_time, missing_key, number_out_of_range, unknown_key, unknown_value,
    wrong_type,
};
use crate::source::Span;

/// Checks a file. `whole` is the offset of its start if no part of it was lost: then keys that are not found are missing.
pub(crate) fn check(
    table: &mut Table,
    registry: Registry,
    whole: Option<usize>,
    report: &mut Report,
) {
    let start = whole.unwrap_or(0);
    let owner = Owner {
        path: "",
        name: String::new(),
        span: start..start,
    };
    Checker {
        registry,
        whole: whole.is_some(),
        report,
    }
    .table(table, &owner);
}

/// The table that is being checked.
struct Owner<'a> {
    /// Its path pattern.
    path: &'a str,
    /// Its path as written.
    name: String,
    /// Its name's place.
    span: Span,
}

struct Checker<'a> {
    registry: Registry,
    whole: bool,
    report: &'a mut Report,
}

impl Checker<'_> {
    fn table(&mut self, table: &mut Table, owner: &Owner<'_>) {
        for entry in &mut table.entries {
            match self.lookup(owner.path, &entry.key.value) {
                Some(key) => self.entry(entry, key, &owner.name),
                None => self.unknown(entry, owner.path),
            }
        }
        let missing =
            |key: &&Key| key.presence == Presence::Required && table.get(key.name()).is_none();
        for key in self
            .registry
            .below(owner.path)
            .filter(|_| self.whole)
            .filter(missing)
        {
            self.report
                .add(missing_key::found(&owner.name, &owner.span, key));
        }
    }

    /// The key of that name; a quoted one may hold dots and then is none.
    fn lookup(&self, path: &str, name: &str) -> Option<&'static Key> {
        self.registry
            .key(path, name)
            .filter(|_| !name.contains('.'))
    }

    fn unknown(&mut self, entry: &mut Entry, path: &str) {
        self.report
            .add(unknown_key::found(self.registry, path, &entry.key));
        entry.node.value = Value::Broken;
    }

    fn entry(&mut self, entry: &mut Entry, key: &'static Key, owner: &str) {
        let name = join(owner, &entry.key.value);
        let span = entry.key.span.clone();
        match (&mut entry.node.value, key.shape) {
            (Value::Table(table), Shape::Section) => {
                self.table(
                    table,
                    &Owner {
                        path: key.path,
                        name,
                        span,
                    },
                );
            }
            (Value::Table(table), Shape::Like(path)) => {
                self.table(table, &Owner { path, name, span });
            }
            (Value::Table(table), Shape::Named) => self.named(table, key, &name),
            (Value::List(items), Shape::Tables) => self.tables(items, key, &name),
            _ => self.value(&mut entry.node, key),
        }
    }

    fn named(&mut self, table: &mut Table, key: &'static Key, name: &str) {
        let path = format!("{}.*", key.path);
        for entry in &mut table.entries {
            bad_name::check(&format!("a {name}"), &entry.key, self.report);
            let name = join(name, &entry.key.value);
            match &mut entry.node.value {
                Value::Table(table) => {
                    self.table(
                        table,
                        &Owner {
                            path: &path,
                            name,
                            span: entry.key.span.clone(),
                        },
                    );
                }
                _ => self.mismatch(&mut entry.node, key),
            }
        }
    }

    fn tables(&mut self, items: &mut [Node], key: &'static Key, name: &str) {
        let path = format!("{}.*", key.path);
        for (number, item) in items.iter_mut().enumerate() {
            let span = item.span.clone();
            let name = format!("{name}[{number}]");
            match &mut item.value {
                Value::Table(table) => self.table(
                    table,
                    &Owner {
                        path: &path,
                        name,
                        span,
                    },
                ),
                _ => self.mismatch(item, key),
            }
        }
    }

    /// Checks a value and brings it into form.
    fn value(&mut self, node: &mut Node, key: &'static Key) {
        match (key.shape, &node.value) {
            (_, Value::Broken)
            | (Shape::Text, Value::Text(_))
            | (Shape::Flag, Value::Boolean(_)) => {}
            (Shape::Size, Value::Text(_)) => self.quantity(node, key, SIZE_UNITS),
            (Shape::Time, Value::Text(_)) => self.quantity(node, key, TIME_UNITS),
            (Shape::Size, Value::Integer(_)) => self.number(node, key, 0, u64::MAX),
            (Shape::Number(min, max), Value::Integer(_)) => self.number(node, key, min, max),
            (Shape::Choice(names), Value::Text(_)) => self.choice(node, key, names),
            (Shape::TextOrTexts, Value::Text(_)) => into_list(node),
            (Shape::Texts | Shape::TextOrTexts, Value::List(_)) => self.texts(node, key),
            (Shape::Numbers(max) | Shape::NumberOrNumbers(max), Value::List(_)) => {
                self.numbers(node, key, max);
            }
            (Shape::NumberOrNumbers(max), Value::Integer(_)) => self.number(node, key, 0, max),
            _ => self.mismatch(node, key),
        }
    }

    fn mismatch(&mut self, node: &mut Node, key: &Key) {
        if node.value != Value::Broken {
            self.report.add(wrong_type::found(key, node));
            node.value = Value::Broken;
        }
    }

    fn quantity(&mut self, node: &mut Node, key: &Key, units: &[(&str, u64)]) {
        let Value::Text(text) = &node.value else {
            return;
        };
        let rule = if units == SIZE_UNITS {
            bad_size::found
        } else {
            bad_time::found
        };
        node.value = match quantity::parse(text, units) {
            Ok(value) => Value::Integer(value.into()),
            Err(problem) => {
                self.report.add(rule(key, node, &problem));
                Value::Broken
            }
        };
    }

    fn number(&mut self, node: &mut Node, key: &Key, min: u64, max: u64) {
        let Value::Integer(number) = node.value else {
            return;
        };
        if !(i128::from(min)..=i128::from(max)).contains(&number) {
            self.report
                .add(number_out_of_range::found(key, node, number, max));
            node.value = Value::Broken;
        }
    }

    fn choice(&mut self, node: &mut Node, key: &Key, names: &[&str]) {
        let Value::Text(text) = &node.value else {
            return;
        };
        node.value = match names.iter().position(|name| name == text) {
            Some(number) => Value::Integer(number as i128),
            None => {
                self.report
                    .add(unknown_value::found(key, node, text, names));
                Value::Broken
            }
        };
    }

    fn texts(&mut self, node: &mut Node, key: &Key) {
        let Value::List(items) = &mut node.value else {
            return;
        };
        for item in items {
            if !matches!(item.value, Value::Text(_)) {
                self.mismatch(item, key);
            }
        }
    }

    fn numbers(&mut self, node: &mut Node, key: &Key, max: u64) {
        let Value::List(items) = &mut node.value else {
            return;
        };
        for item in items {
            match item.value {
                Value::Integer(_) => self.number(item, key, 0, max),
                _ => self.mismatch(item, key),
            }
        }
    }
}

/// A single text as a list of one.
fn into_list(node: &mut Node) {
    let item = node.clone();
    node.value = Value::List(vec![item]);
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::registry::{BOARD, DESCRIPTION, FUNCTIONS};

    fn ids(text: &str) -> Vec<&'static str> {
        let (mut table, _) = document::parse(text, 0);
        let mut report = Report::default();
        check(&mut table, DESCRIPTION, None, &mut report);
        report
            .finish(&std::sync::Arc::default())
            .iter()
            .map(|found| found.id)
            .collect()
    }

    #[test]
    fn every_example_has_the_shape_of_its_key() {
        for registry in [DESCRIPTION, BOARD, FUNCTIONS] {
            for key in registry.keys() {
                let (header, _) = key.path.rsplit_once('.').unwrap_or(("", ""));
                let of_list = header
                    .strip_suffix(".*")
                    .filter(|list| registry.shape(list) == Some(Shape::Tables));
                let header = header.replace('*', "x");
                let depth = key
                    .example
                    .split(['=', ' '])
                    .next()
                    .unwrap()
                    .matches('.')
                    .count();
                let parts: Vec<_> = header.split('.').collect();
                let header = parts[..parts.len() - depth.min(parts.len())].join(".");
                let text = match (key.example.starts_with('['), header.as_str()) {
                    _ if of_list.is_some() => {
                        format!("[[{}]]\n{}\n", of_list.unwrap_or_default(), key.example)
                    }
                    (true, _) | (_, "") => format!("{}\n", key.example),
                    (false, header) => format!("[{header}]\n{}\n", key.example),
                };
                let (mut table, errors) = document::parse(&text, 0);
                assert!(errors.is_empty(), "{text}");
                let mut report = Report::default();
                check(&mut table, registry, None, &mut report);
                let found = report.finish(&std::sync::Arc::default());
                assert!(found.is_empty(), "{text}{found:?}");
            }
        }
    }

    #[test]
    fn everything_wrong_is_found_at_once() {
        let text = "[system]\nname = 7\nbord = \"x\"\n[partition.A]\ncores = -1\nmemory = \"1 KB\"\n\
                    heartbeat = \"1 tick\"\nkind = \"lnux\"\ndevices = [\"a\", 3]\n";
        assert_eq!(
            ids(text),
            [
                "wrong-type",
                "unknown-key",
                "bad-name",
                "number-out-of-range",
                "bad-size",
                "bad-time",
                "unknown-value",
                "wrong-type"
            ]
        );
    }
}
