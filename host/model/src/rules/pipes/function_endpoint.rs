//! The endpoints that functions name are there

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft};
use crate::kinds::Kind;
use crate::pipes::endpoints::endpoints;
use crate::pipes::flow::{import, local_name};
use crate::suggestion::advice;
use bulkhead_abi::pipe::EndpointKind;

crate::rules::declaration::rule! {
    Error, "function-endpoint",
    "what a pipe function reads or writes is an endpoint of its partition, `timer`, `trace`, `null` or its `bridge`; `bridge.NAME` is what it imports",
    "A component says which endpoints it has, `[partition.NAME.component.NAME.endpoint.NAME]`; functions name them \
     `COMPONENT.ENDPOINT`. Those of a Linux partition are its own, `[partition.NAME.endpoint.NAME]`, and `agent.ENDPOINT`. A device of another partition is reached by a function there.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (name, built_in) in unknown(partition) {
            let ends = endpoints(partition).map(|(path, _)| path);
            let there: Vec<_> = ends
                .chain(partition.imports().map(|(path, _)| path))
                .collect();
            let names = there.iter().map(String::as_str);
            let built_in = built_in.iter();
            let built_in = built_in.filter(|kind| is_built_in(partition, **kind));
            let names: Vec<_> = names.chain(built_in.map(|kind| kind.word())).collect();
            let message = format!(
                "`{}` has no endpoint `{}`",
                partition.name.value, name.value
            );
            let help = match import_help(partition, &name.value) {
                Some(help) => help.to_owned(),
                None => advice(&name.value, "endpoint", &names),
            };
            report.add(
                RULE.at(&name.span, message)
                    .here("not described")
                    .help(help),
            );
        }
    }
}

/// Remedy for the name of an import that no other endpoint has.
fn import_help(partition: &PartitionDraft, name: &str) -> Option<&'static str> {
    import(local_name(&partition.name.value, name))?;
    match partition.kind.value()? {
        Kind::Linux if partition.imports().next().is_some() => None,
        Kind::Linux => Some(
            "describe it: `[partition.NAME.bridge.import.NAME]`, with the endpoint of the other machine as `from`",
        ),
        _ => Some(
            "only Linux goes beyond the machine: let a function of a Linux partition read it, and this one stand behind it in the flow",
        ),
    }
}

/// Names that are no endpoint's, each with what could stand there besides.
pub(super) fn unknown(
    partition: &PartitionDraft,
) -> impl Iterator<Item = (&At<String>, &'static [EndpointKind])> {
    let ends = partition.functions.iter().flat_map(|function| {
        let ends = function.ends().into_iter().zip(EndpointKind::BUILT_IN);
        let named = ends.zip([true, false]);
        named.filter_map(|((end, built_in), reads)| Some((end.given()?, built_in, reads)))
    });
    let unknown = ends.filter(|(name, built_in, reads)| {
        let local = local_name(&partition.name.value, &name.value);
        let is_endpoint = endpoints(partition).any(|(path, _)| path == local);
        let imported = *reads && partition.imports().any(|(path, _)| path == local);
        let mut kinds = built_in.iter();
        let is_known = kinds.any(|kind| kind.word() == local && is_built_in(partition, *kind));
        !is_endpoint && !imported && !is_known
    });
    unknown.map(|(name, built_in, _)| (name, built_in))
}

/// A bridge is there where it is described.
fn is_built_in(partition: &PartitionDraft, kind: EndpointKind) -> bool {
    kind != EndpointKind::Bridge || partition.bridge.given().is_some()
}
