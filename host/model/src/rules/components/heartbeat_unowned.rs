//! A watched heartbeat beats

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::component::Part;

crate::rules::rule! {
    Error, "heartbeat-unowned",
    "where a heartbeat is watched, a component owns it",
    "The partition would be taken for hung and restarted for ever.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let made = draft
        .partitions
        .iter()
        .filter(|partition| !partition.components.is_empty());
    for partition in made {
        let Some(heartbeat) = partition.heartbeat.span() else {
            continue;
        };
        let mut parts = partition
            .components
            .iter()
            .flat_map(|component| component.parts());
        if !parts.any(|(part, _)| part == Part::Heartbeat) {
            let message = format!(
                "no component of `{}` has its heartbeat",
                partition.name.value
            );
            report.add(
                RULE.at(heartbeat, message)
                    .here("watched, and never beats")
                    .help("write `owns = [\"heartbeat\", \"monitor\"]` in the scheduler"),
            );
        }
    }
}
