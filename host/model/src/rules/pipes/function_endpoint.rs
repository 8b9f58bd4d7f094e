//! The endpoints that functions name are there

use crate::bridge::SINK;
use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft};
use crate::pipes::described::{BUILT_IN, local_name};
use crate::pipes::endpoints::endpoints;
use crate::suggestion::advice;

crate::rules::rule! {
    Error, "function-endpoint",
    "what a pipe function reads or writes is an endpoint of its partition, `timer`, `trace`, `null` or its `bridge`",
    "A component says which endpoints it has, `[partition.NAME.component.NAME.endpoint.NAME]`; functions name them \
     `COMPONENT.ENDPOINT`. A device of another partition is reached by a function there.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (name, built_in) in unknown(partition) {
            let there: Vec<_> = endpoints(partition).map(|(path, _)| path).collect();
            let known = there.iter().map(String::as_str);
            let built_in = built_in.iter().copied();
            let built_in = built_in.filter(|name| is_built_in(partition, name));
            let known: Vec<_> = known.chain(built_in).collect();
            let message = format!(
                "`{}` has no endpoint `{}`",
                partition.name.value, name.value
            );
            report.add(
                RULE.at(&name.span, message)
                    .here("not described")
                    .help(advice(&name.value, "endpoint", &known)),
            );
        }
    }
}

/// Names that are no endpoint's, each with what could stand there besides.
pub(super) fn unknown(
    partition: &PartitionDraft,
) -> impl Iterator<Item = (&At<String>, &'static [&'static str])> {
    let ends = partition.functions.iter().flat_map(|function| {
        let named = function.ends().into_iter().zip(BUILT_IN);
        named.filter_map(|(end, built_in)| Some((end.given()?, built_in)))
    });
    ends.filter(|(name, built_in)| {
        let local = local_name(&partition.name.value, &name.value);
        let described = endpoints(partition).any(|(path, _)| path == local);
        let known = built_in.contains(&local) && is_built_in(partition, local);
        !described && !known
    })
}

/// A bridge is there where it is described.
fn is_built_in(partition: &PartitionDraft, name: &str) -> bool {
    name != SINK || partition.bridge.given().is_some()
}
