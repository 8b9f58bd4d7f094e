//! A watched heartbeat beats

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::component::{Part, Role};

crate::rules::declaration::rule! {
    Error, "heartbeat-unowned",
    "where a heartbeat is watched, a component owns it",
    "The partition would be taken for hung and restarted for ever.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    // Without a scheduler the boot component, which has everything, is alone responsible.
    let made = draft.partitions.iter().filter(|partition| {
        partition
            .components
            .iter()
            .any(|one| one.is(Role::Scheduler))
    });
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
