//! Coloured partitions share no colour

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::Draft;
use std::collections::BTreeMap;

crate::rules::declaration::rule! {
    Error, "colours-overlap",
    "coloured partitions share no colour",
    "A shared colour is a shared part of the cache: each could evict what the other needs, and timing \
     would depend on the neighbour. That is what colours are there to prevent.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let mut owners: BTreeMap<u64, (&str, &At<u64>)> = BTreeMap::new();
    for partition in &draft.partitions {
        let name = partition.name.value.as_str();
        for colour in partition
            .colours
            .given()
            .into_iter()
            .flat_map(|list| &list.value)
        {
            let (owner, first) = *owners.entry(colour.value).or_insert((name, colour));
            if owner != name {
                report.add(
                    RULE.at(
                        &colour.span,
                        format!("`{owner}` and `{name}` share a colour"),
                    )
                    .here(format!("colour {}, given to `{name}`", colour.value))
                    .label(&first.span, format!("given to `{owner}` before"))
                    .help("give each coloured partition colours of its own"),
                );
            }
        }
    }
}
