//! Components and interfaces have room

use crate::diagnostic::Report;
use crate::draft::{Draft, items};
use bulkhead_abi::component::MAX_INTERFACES;
use bulkhead_abi::kernel::MAX_COMPONENTS;
use std::collections::BTreeMap;

crate::rules::declaration::rule! {
    Error, "components-count",
    "a partition has at most 16 components and 16 interfaces among them",
    "They are listed in one page, which boot and scheduler read. A component with pipe functions has an interface for them.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        if let Some(component) = partition.components.get(MAX_COMPONENTS) {
            let message = format!(
                "`{}` has more than {MAX_COMPONENTS} components",
                partition.name.value
            );
            report.add(
                RULE.at(&component.name.span, message)
                    .here("the first too many")
                    .help("put some of them together, or in another partition"),
            );
        }
        let provided = partition.components.iter();
        let interfaces = provided.flat_map(|component| items(&component.provides));
        // A component with pipe functions has one more, to which no key refers.
        let functions = partition.functions.iter();
        let executing = functions.filter_map(|function| function.component.given());
        let executing: BTreeMap<&str, _> = executing.map(|one| (one.value.as_str(), one)).collect();
        let mut interfaces = interfaces.chain(executing.into_values());
        if let Some(interface) = interfaces.nth(MAX_INTERFACES) {
            let message = format!(
                "`{}` has more than {MAX_INTERFACES} interfaces",
                partition.name.value
            );
            report.add(
                RULE.at(&interface.span, message)
                    .here("the first too many")
                    .help("one interface may have many operations"),
            );
        }
    }
}
