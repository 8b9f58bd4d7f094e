//! `--set KEY=VALUE`, and one more pipe: changes to a description before it is checked
//!
//! Each is a text of its own among the sources, so a message about it shows it.

use crate::diagnostic::Report;
use crate::document::{At, Entry, Node, Table, Value, parse_value};
use crate::rules::shape::bad_override as rule;
use crate::source::{Sources, Span};

/// Name of such a text in messages.
const NAME: &str = "--set";

/// Applies the texts in their order; what cannot be applied is reported.
pub(crate) fn apply(
    texts: &[String],
    table: &mut Table,
    sources: &mut Sources,
    report: &mut Report,
) {
    for text in texts {
        let base = sources.add(NAME.to_owned(), text);
        match Change::parse(text, base) {
            Some(change) => change.apply(table, report),
            None => report.add(rule::malformed(&(base..base + text.len()))),
        }
    }
}

/// Adds a pipe of that flow, behind all that are described.
pub(crate) fn add_pipe(flow: &str, table: &mut Table, sources: &mut Sources, report: &mut Report) {
    let base = sources.add("pipeline".to_owned(), flow);
    let at = |value: String| At {
        value,
        span: base..base + flow.len(),
    };
    let pipes = table.table("pipe");
    let is_free = |name: &String| pipes.is_none_or(|pipes| pipes.get(name).is_none());
    let name = (1..).map(|number| format!("asked-{number}")).find(is_free);
    let path = [
        "pipe".to_owned(),
        name.unwrap_or_default(),
        "flow".to_owned(),
    ]
    .map(at);
    let change = Change {
        path: path.into(),
        value: At {
            value: Value::Text(flow.to_owned()),
            span: base..base + flow.len(),
        },
        append: false,
    };
    change.apply(table, report);
}

/// One change.
struct Change {
    /// Names on the way to the value, the key itself last.
    path: Vec<At<String>>,
    value: Node,
    append: bool,
}

impl Change {
    fn parse(text: &str, base: usize) -> Option<Self> {
        let (target, right) = text.split_once('=')?;
        let (target, append) = target
            .strip_suffix('+')
            .map_or((target, false), |target| (target, true));
        let path = path(target, base)?;
        let start = text.len() - right.trim_start().len();
        let value = right.trim();
        let parsed = parse_value(value, base + start).unwrap_or(Value::Text(value.to_owned()));
        let value = At {
            value: parsed,
            span: base + start..base + start + value.len(),
        };
        Some(Self {
            path,
            value,
            append,
        })
    }

    fn apply(self, table: &mut Table, report: &mut Report) {
        let Some((key, way)) = self.path.split_last() else {
            return;
        };
        let mut table = table;
        for (depth, name) in way.iter().enumerate() {
            let owner = depth.checked_sub(1).map(|above| way[above].value.as_str());
            match descend(table, name, owner, report) {
                Some(below) => table = below,
                None => return,
            }
        }
        match table.get_mut(&key.value) {
            Some(entry) if self.append => append(entry, self.value, report),
            Some(entry) => {
                *entry = Entry {
                    key: key.clone(),
                    node: self.value,
                }
            }
            None => table.entries.push(Entry {
                key: key.clone(),
                node: self.value,
            }),
        }
    }
}

fn path(text: &str, base: usize) -> Option<Vec<At<String>>> {
    let mut at = base;
    let mut names = Vec::new();
    for part in text.split('.') {
        let start = at + part.len() - part.trim_start().len();
        let name = part.trim();
        names.push(At {
            value: name.to_owned(),
            span: start..start + name.len(),
        });
        at += part.len() + 1;
    }
    names
        .iter()
        .all(|name| !name.value.is_empty())
        .then_some(names)
}

/// The table of that name below `table`, made where it may be.
fn descend<'a>(
    table: &'a mut Table,
    name: &At<String>,
    owner: Option<&str>,
    report: &mut Report,
) -> Option<&'a mut Table> {
    if table.get(&name.value).is_none() {
        if let Some(what @ ("partition" | "channel")) = owner {
            let names: Vec<_> = table
                .entries
                .iter()
                .map(|entry| entry.key.value.as_str())
                .collect();
            report.add(rule::unknown(&name.span, what, &name.value, &names));
            return None;
        }
        let node = At {
            value: Value::Table(Table::default()),
            span: name.span.clone(),
        };
        table.entries.push(Entry {
            key: name.clone(),
            node,
        });
    }
    match &mut table.get_mut(&name.value)?.node.value {
        Value::Table(below) => Some(below),
        _ => {
            report.add(rule::not_a_table(&name.span, &name.value));
            None
        }
    }
}

fn append(entry: &mut Entry, more: Node, report: &mut Report) {
    let span: Span = more.span.clone();
    match (&mut entry.node.value, more.value) {
        (Value::Text(text), Value::Text(words)) => {
            text.push(' ');
            text.push_str(&words);
            entry.node.span = span;
        }
        (Value::List(items), Value::List(more)) => items.extend(more),
        (Value::List(items), value @ Value::Text(_)) => items.push(At { value, span }),
        _ => report.add(rule::cannot_append(&span, &entry.key.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;

    fn changed(text: &str, set: &str) -> (Table, bool) {
        let (mut table, _) = document::parse(text, 0);
        let mut sources = Sources::default();
        sources.add("a".into(), text);
        let mut report = Report::default();
        apply(&[set.to_owned()], &mut table, &mut sources, &mut report);
        (table, report.has_errors())
    }

    const TEXT: &str = "[partition.linux]\ncores = 1\ncommand_line = \"quiet\"\n";

    #[test]
    fn values_are_changed_added_and_extended() {
        let value = |set, key| {
            let (table, wrong) = changed(TEXT, set);
            assert!(!wrong, "{set}");
            let linux = table.table("partition").unwrap().table("linux").unwrap();
            linux.get(key).unwrap().node.value.clone()
        };
        assert_eq!(value("partition.linux.cores=2", "cores"), Value::Integer(2));
        assert_eq!(
            value("partition.linux.memory = 1 GiB", "memory"),
            Value::Text("1 GiB".into())
        );
        let both = Value::Text("quiet load=busy".into());
        assert_eq!(
            value("partition.linux.command_line+=load=busy", "command_line"),
            both
        );
    }

    #[test]
    fn what_cannot_be_changed_is_reported() {
        for set in [
            "",
            "x",
            "=1",
            "a..b=1",
            "partition.linx.cores=2",
            "partition.linux.cores.x=1",
            "partition.linux.cores+=1",
        ] {
            assert!(changed(TEXT, set).1, "{set}");
        }
    }
}
