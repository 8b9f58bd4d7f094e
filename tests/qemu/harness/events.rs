//! Expected events of a run
//!
//! An event matches if its kind and all fields that are named match: texts a pattern, numbers a bound. Events without `count`
//! have to come in the order in which they stand, with others between; with `count`, the number of matching events
//! is bounded, and `count = 0` says that none may come.

use crate::bound::Bound;
use crate::figures::Figures;
use crate::pattern::Pattern;
use bulkhead_run::report::{Report, RunEvent, Value, fields_of};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// An expected event.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct ExpectedEvent {
    kind: String,
    count: Option<Bound>,
    fields: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Written {
    kind: String,
    count: Option<Bound>,
    #[serde(flatten)]
    fields: BTreeMap<String, toml::Value>,
}

/// Expected value of a field.
#[derive(Clone, Debug)]
struct Expected {
    written: String,
    text: Option<Pattern>,
    number: Option<Bound>,
}

impl TryFrom<Written> for ExpectedEvent {
    type Error = String;

    /// An unknown kind or field is an error: no event would match it, and `count = 0` would always hold.
    fn try_from(written: Written) -> Result<Self, String> {
        let Written {
            kind,
            count,
            fields,
        } = written;
        let names =
            fields_of(&kind).ok_or_else(|| format!("there are no events of kind `{kind}`"))?;
        let fields = fields.into_iter().map(|(name, value)| {
            if !names.contains(&name) {
                let names = names.join(", ");
                return Err(format!(
                    "events of kind `{kind}` have no `{name}`; they have {names}"
                ));
            }
            Ok((name, Expected::new(value)?))
        });
        Ok(Self {
            count,
            fields: fields.collect::<Result<_, String>>()?,
            kind,
        })
    }
}

impl Expected {
    fn new(value: toml::Value) -> Result<Self, String> {
        let text = value.as_str().map(str::to_owned);
        let expected = Self {
            written: value.to_string(),
            text: text.map(Pattern::try_from).transpose()?,
            number: Bound::deserialize(value).ok(),
        };
        match (&expected.text, &expected.number) {
            (None, None) => Err(format!("`{}` is no text and no bound", expected.written)),
            _ => Ok(expected),
        }
    }

    fn admits(&self, value: &Value, figures: &Figures) -> bool {
        match value {
            Value::Text(text) => self
                .text
                .as_ref()
                .is_some_and(|pattern| pattern.is_in(text)),
            Value::Number(number) => self
                .number
                .as_ref()
                .is_some_and(|bound| bound.holds(*number, figures) == Ok(true)),
        }
    }
}

impl ExpectedEvent {
    fn admits(&self, event: &RunEvent, figures: &Figures) -> bool {
        self.kind == event.kind
            && self.fields.iter().all(|(name, expected)| {
                let value = event.field(name);
                value.is_some_and(|value| expected.admits(&value, figures))
            })
    }
}

impl fmt::Display for ExpectedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        for (name, expected) in &self.fields {
            write!(f, " {name} = {}", expected.written)?;
        }
        Ok(())
    }
}

/// All differences between the events of the run and the expected ones.
pub(crate) fn differences(
    expected: &[ExpectedEvent],
    report: &Report,
    figures: &Figures,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if !expected.is_empty() && report.unlisted > 0 {
        wrong.push(format!("{} events are not listed", report.unlisted));
    }
    let mut events = report.events.iter();
    for one in expected.iter().filter(|one| one.count.is_none()) {
        if !events.any(|event| one.admits(event, figures)) {
            let somewhere = report.events.iter().any(|event| one.admits(event, figures));
            let place = if somewhere {
                "in its place"
            } else {
                "anywhere"
            };
            wrong.push(format!("the event `{one}` did not come {place}"));
            break;
        }
    }
    for one in expected {
        let Some(bound) = &one.count else { continue };
        let matching = report
            .events
            .iter()
            .filter(|event| one.admits(event, figures));
        let count = matching.count() as u64;
        match bound.holds(count, figures) {
            Ok(true) => {}
            Ok(false) => wrong.push(format!("{count} events `{one}`, expected {bound}")),
            Err(unknown) => wrong.push(format!("there is no figure {unknown}")),
        }
    }
    wrong
}
