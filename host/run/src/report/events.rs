//! Single events of a run: what partitions trace, and faults
//!
//! An event is a kind and fields. [`SCHEMAS`] names the kinds that partitions trace, and their fields; `fault` is the kind of the
//! faults that monitors and kernels record. Kinds of which there are as many as jobs or messages are no single events: they
//! count in the figures of tasks, channels and paths, and stand in `trace-PARTITION.csv`.

use bulkhead_abi::name_text;
use bulkhead_abi::trace::{Event, EventKind, SCHEMAS, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::faults::FaultReport;
use crate::watch::{Clock, printable};

/// Kinds of single events that partitions trace.
const SINGLE: [EventKind; 10] = [
    EventKind::FellBack,
    EventKind::Promised,
    EventKind::PathEnd,
    EventKind::StageOverran,
    EventKind::Endpoint,
    EventKind::TaskBegun,
    EventKind::TaskEnded,
    EventKind::CameEarly,
    EventKind::Stopped,
    EventKind::JobsFailed,
];
/// Kind of faults.
const FAULT: &str = "fault";
/// Fields of a fault.
const FAULT_FIELDS: [&str; 7] = [
    "component",
    "thread",
    "cause",
    "action",
    "core",
    "deed",
    "ended",
];
/// Fields of all kinds.
const COMMON: [&str; 1] = ["partition"];
/// Traced events that are listed of a partition.
const MOST: usize = 4096;

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// Time, seconds of the machine's clock.
    pub at_s: f64,
    /// The partition.
    pub partition: String,
    /// Kind: `fault`, or a name of [`SCHEMAS`].
    pub kind: String,
    /// Further fields by name. Times have the suffix `_ns`.
    #[serde(flatten)]
    pub fields: BTreeMap<String, Value>,
}

/// Value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number, or a length of time in nanoseconds.
    Number(u64),
    /// A name, or words.
    Text(String),
}

impl RunEvent {
    /// The value of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Value> {
        match name {
            "partition" => Some(Value::Text(self.partition.clone())),
            name => self.fields.get(name).cloned(),
        }
    }
}

/// Names of the fields that events of a kind can have; `None` if there are no such events.
#[must_use]
pub fn fields_of(kind: &str) -> Option<Vec<String>> {
    let specific: Vec<_> = if kind == FAULT {
        FAULT_FIELDS.map(str::to_owned).into()
    } else {
        let kind = SINGLE
            .iter()
            .find(|one| SCHEMAS[**one as usize].name == kind)?;
        let fields = SCHEMAS[*kind as usize].fields.into_iter().flatten();
        fields
            .map(|(name, unit)| field_name(name, unit))
            .chain(["name".into()])
            .collect()
    };
    Some(
        COMMON
            .map(str::to_owned)
            .into_iter()
            .chain(specific)
            .collect(),
    )
}

fn field_name(name: &str, unit: Unit) -> String {
    match unit {
        Unit::Ticks | Unit::Nanoseconds => format!("{name}_ns"),
        _ => name.into(),
    }
}

/// Events that partitions traced.
#[derive(Clone, Debug, Default)]
pub(super) struct EventLog {
    events: Vec<RunEvent>,
    counts: BTreeMap<String, usize>,
    unlisted: u64,
}

impl EventLog {
    /// Takes an event that `partition` traced.
    pub(super) fn take(&mut self, partition: &str, event: &Event, clock: &Clock) {
        let Some(kind) = SINGLE.iter().find(|kind| **kind as u32 == event.kind) else {
            return;
        };
        let count = self.counts.entry(partition.into()).or_default();
        if *count == MOST {
            self.unlisted += 1;
            return;
        }
        *count += 1;
        let schema = SCHEMAS[*kind as usize];
        let values = [event.sequence.into(), event.a, event.b];
        let fields = schema.fields.into_iter().zip(values);
        let mut fields: BTreeMap<_, _> = fields
            .filter_map(|(field, value)| {
                let (name, unit) = field?;
                Some((field_name(name, unit), rendered(value, unit, clock)))
            })
            .collect();
        let name = printable(name_text(&event.name).as_bytes());
        fields.insert("name".into(), Value::Text(name));
        self.events.push(RunEvent {
            at_s: clock.ns(event.ticks) as f64 / 1e9,
            partition: partition.into(),
            kind: schema.name.into(),
            fields,
        });
    }

    /// All events, each partition's in the order in which it traced them.
    pub(super) fn list(&self) -> &[RunEvent] {
        &self.events
    }

    /// Events that are not in the list.
    pub(super) const fn unlisted(&self) -> u64 {
        self.unlisted
    }
}

fn rendered(value: u64, unit: Unit, clock: &Clock) -> Value {
    match unit {
        Unit::Ticks => Value::Number(clock.ns(value)),
        Unit::Count | Unit::Nanoseconds | Unit::Millionths => Value::Number(value),
        Unit::Float => Value::Text(f64::from_bits(value).to_string()),
        Unit::Path => Value::Text(format!("{}-{}", value & 0xFF, value >> 8)),
    }
}

/// Each fault with a known time as an event.
pub(super) fn of_faults(faults: &[FaultReport]) -> impl Iterator<Item = RunEvent> {
    faults.iter().flat_map(|fault| {
        let number = |value: Option<u64>| value.map(Value::Number);
        let text = |value: Option<&String>| value.cloned().map(Value::Text);
        let core = fault.component.is_none().then_some(fault.core.into());
        let values = [
            text(fault.component.as_ref()),
            number(fault.thread),
            text(Some(&fault.cause)),
            text(Some(&fault.action)),
            number(core),
            text(fault.deed.as_ref()),
            number(Some(fault.ended.into())),
        ];
        let fields = FAULT_FIELDS.iter().zip(values);
        let fields: BTreeMap<_, _> = fields
            .filter_map(|(name, value)| Some(((*name).to_owned(), value?)))
            .collect();
        fault.times_s.iter().map(move |at_s| RunEvent {
            at_s: *at_s,
            partition: fault.partition.clone(),
            kind: FAULT.into(),
            fields: fields.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_abi::name_field;

    fn event(kind: EventKind, a: u64, b: u64) -> Event {
        Event {
            ticks: 62_500,
            kind: kind as u32,
            sequence: 3,
            a,
            b,
            name: name_field("log"),
        }
    }

    fn number(event: &RunEvent, name: &str) -> Option<u64> {
        match event.field(name) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    #[test]
    fn traced_events_have_the_fields_of_their_schema() {
        let clock = Clock::new(62_500_000);
        let mut log = EventLog::default();
        log.take("linux", &event(EventKind::FellBack, 125, 1), &clock);
        log.take("linux", &event(EventKind::Promised, 7_000, 0x200), &clock);
        log.take("linux", &event(EventKind::Job, 1, 2), &clock);
        let [fell_back, promised] = log.list() else {
            panic!("jobs are figures: {:?}", log.list());
        };
        assert_eq!(fell_back.kind, "fell-back");
        assert_eq!(number(fell_back, "times"), Some(3));
        assert_eq!(number(fell_back, "age_ns"), Some(2_000));
        assert_eq!(promised.field("path"), Some(Value::Text("0-2".into())));
        assert_eq!(number(promised, "bound_ns"), Some(7_000));
        for event in log.list() {
            let names = fields_of(&event.kind).expect("known");
            assert!(event.fields.keys().all(|name| names.contains(name)));
        }
        let text = serde_json::to_string(promised).expect("text");
        assert_eq!(
            serde_json::from_str::<RunEvent>(&text).expect("event"),
            *promised
        );
    }

    #[test]
    fn a_flood_of_one_partition_leaves_the_events_of_others() {
        let clock = Clock::new(62_500_000);
        let mut log = EventLog::default();
        (0..=MOST).for_each(|_| log.take("loud", &event(EventKind::Stopped, 0, 0), &clock));
        log.take("quiet", &event(EventKind::Stopped, 0, 0), &clock);
        assert_eq!((log.list().len(), log.unlisted()), (MOST + 1, 1));
    }

    #[test]
    fn each_time_of_a_fault_is_an_event() {
        let fault = FaultReport {
            partition: "control".into(),
            component: Some("overflow".into()),
            cause: "component".into(),
            action: "record".into(),
            deed: Some("stack overflow".into()),
            times_s: vec![0.5, 0.25],
            count: 2,
            ..FaultReport::default()
        };
        let events: Vec<_> = of_faults(&[fault]).collect();
        assert_eq!(events.len(), 2);
        assert_eq!(events[1].at_s, 0.25);
        let names = fields_of(FAULT).expect("known");
        assert!(events[0].fields.keys().all(|name| names.contains(name)));
        assert_eq!(number(&events[0], "ended"), Some(0));
        assert_eq!(number(&events[0], "core"), None, "of a component");
    }
}
