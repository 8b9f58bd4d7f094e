//! A channel connects different partitions

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "channel-to-itself",
    "a channel connects different partitions",
    "Within a partition its own memory does. Of a partition and its standby only one ever runs, so a \
     channel between the two connects nothing either.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for channel in &draft.channels {
        let Some(from) = channel.from.given() else {
            continue;
        };
        for to in channel.readers() {
            let message = match (
                from.value == to.value,
                is_standby(draft, &from.value, &to.value),
            ) {
                (true, _) => format!(
                    "channel `{}` connects a partition to itself",
                    channel.name.value
                ),
                (_, true) => format!("`{}` and `{}` never run together", from.value, to.value),
                _ => continue,
            };
            report.add(
                RULE.at(&to.span, message)
                    .here("reader")
                    .label(&from.span, "writer")
                    .help("name another partition, or drop the channel"),
            );
        }
    }
}

/// Returns whether one is the standby of the other.
fn is_standby(draft: &Draft, one: &str, other: &str) -> bool {
    let standby = |name: &str| {
        draft
            .partition(name)
            .and_then(|found| found.standby.value())
    };
    standby(one).is_some_and(|name| name == other) || standby(other).is_some_and(|name| name == one)
}
