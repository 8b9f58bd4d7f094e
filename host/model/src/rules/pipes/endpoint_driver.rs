//! A component with endpoints drives a device

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{ComponentDraft, Draft, FunctionDraft, PartitionDraft, items};
use bulkhead_abi::device::{self, Class, Kind};

crate::rules::declaration::rule! {
    Error, "endpoint-driver",
    "a component with endpoints owns a CAN controller, or a network card, for which components have a driver",
    "Messages of an endpoint come from the device that its component owns, and go there. Without a device that it can drive \
     the scheduler does not start.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for component in &partition.components {
            let mut ends = component.endpoints.iter();
            // An address belongs to a network card, which is another rule's.
            let Some(end) = ends.find(|end| end.address.is_absent()) else {
                continue;
            };
            let driven = driven(draft, partition, component);
            let fits = |function| row(function).is_some_and(|kind| kind.has_driver);
            if driven.is_some_and(|(_, function)| function.kind.given().is_none() || fits(function))
            {
                continue;
            }
            let owner = &component.name.value;
            let message = match driven {
                Some((device, _)) => format!("`{owner}` has no driver for `{}`", device.value),
                None => format!("`{owner}` owns no CAN controller and no network card"),
            };
            report.add(
                RULE.at(&end.name.span, message)
                    .here("its messages come from nowhere")
                    .help(format!(
                        "have `{owner}` own a device of kind {}",
                        names(|kind| kind.has_driver)
                    )),
            );
        }
    }
}

/// The PCIe function that a component drives.
pub(super) fn driven<'d>(
    draft: &'d Draft,
    partition: &'d PartitionDraft,
    component: &'d ComponentDraft,
) -> Option<(&'d At<String>, &'d FunctionDraft)> {
    let owned = |name: &At<String>| items(&component.owns).any(|part| part.value == name.value);
    draft.functions(partition).find(|(name, _)| owned(name))
}

/// Row of its kind in the registry of devices.
pub(super) fn row(function: &FunctionDraft) -> Option<&'static Kind> {
    device::find(&function.kind.given()?.value)
}

/// Returns `true` for a kind of network card that components have a driver for.
pub(super) fn is_card(kind: &Kind) -> bool {
    kind.class == Class::Network && kind.has_driver
}

/// Names of the kinds in question.
pub(super) fn names(is_meant: impl Fn(&Kind) -> bool) -> String {
    let kinds = device::KINDS.iter().filter(|kind| is_meant(kind));
    let names: Vec<_> = kinds.map(|kind| format!("`{}`", kind.name)).collect();
    names.join(" or ")
}
