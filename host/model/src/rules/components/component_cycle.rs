//! No component needs itself

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, PartitionDraft};
use std::collections::BTreeSet;

crate::rules::declaration::rule! {
    Error, "component-cycle",
    "no component needs itself, directly or through others",
    "An invocation is a function call: a thread that came back to a component it had not left would find \
     its own stack there. Above all the components can be started in some order.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let mut reported = BTreeSet::new();
        for component in &partition.components {
            let Some(path) = way_back(partition, component) else {
                continue;
            };
            let mut members = path.clone();
            members.sort_unstable();
            if !reported.insert(members) {
                continue;
            }
            let chain = path.join("`, which needs `");
            let start = &component.name.value;
            let (first, rest) = chain.split_once("`, which").unwrap_or((&chain, ""));
            let message = match rest {
                "" => format!("`{first}` needs itself"),
                rest => format!("`{first}`{rest}`, which needs `{start}`"),
            };
            report.add(
                RULE.at(&component.place(&component.needs), message)
                    .here("the way back begins here")
                    .help("move what both need into a component of its own"),
            );
        }
    }
}

/// The names on a shortest way from a component back to itself, itself first.
fn way_back(partition: &PartitionDraft, start: &ComponentDraft) -> Option<Vec<String>> {
    let name = |component: &ComponentDraft| component.name.value.clone();
    let mut ways = vec![(start, vec![name(start)])];
    let mut seen = BTreeSet::new();
    let mut next = 0;
    while let Some((component, way)) = ways.get(next).cloned() {
        for (_, provider) in super::providers(partition, component) {
            if provider.name.value == start.name.value {
                return Some(way);
            }
            if seen.insert(name(provider)) {
                let mut longer = way.clone();
                longer.push(name(provider));
                ways.push((provider, longer));
            }
        }
        next += 1;
    }
    None
}
