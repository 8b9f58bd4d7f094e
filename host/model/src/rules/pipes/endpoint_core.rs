//! A device is used on the core of the component that drives it

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::kinds::Kind;
use crate::pipes::endpoints::endpoints;
use crate::pipes::flow::local_name;
use crate::source::Span;

crate::rules::declaration::rule! {
    Error, "endpoint-core",
    "functions at an endpoint, and the VCPUs that serve it, are on the core of the component that drives the device, the first",
    "The bottom half hands messages to stages in its own address space, and stages send by themselves: both are where the driver is. A function \
     on another core stands behind one on this in the flow.",
    check
}

/// Place, problem and remedy.
type Problem = (Span, String, String);

fn check(draft: &Draft, report: &mut Report) {
    for (span, message, help) in draft.partitions.iter().flat_map(problems) {
        report.add(RULE.at(&span, message).help(help));
    }
}

/// All of a partition.
pub(super) fn problems(partition: &PartitionDraft) -> impl Iterator<Item = Problem> {
    let rtos = (partition.kind.value() == Some(Kind::Rtos)).then_some(partition);
    rtos.into_iter().flat_map(|partition| {
        functions(partition)
            .chain(vcpus(partition))
            .chain(drivers(partition))
    })
}

/// Functions on other cores than the driver's.
fn functions(partition: &PartitionDraft) -> impl Iterator<Item = Problem> {
    let named = partition.functions.iter().flat_map(|function| {
        let ends = function.ends().into_iter().filter_map(|end| end.given());
        ends.map(move |end| (function, end))
    });
    named.filter_map(|(function, end)| {
        let path = local_name(&partition.name.value, &end.value);
        let driver = driver(partition, path)?;
        let core = function.core.given().filter(|core| core.value != driver)?;
        let name = &function.name.value;
        let message = format!(
            "`{name}` is on core {}, and the device behind `{path}` on core {driver}",
            core.value
        );
        let help = format!(
            "leave its `core` out, and let another function, on core {}, stand behind or before it in the flow",
            core.value
        );
        Some((core.span.clone(), message, help))
    })
}

/// VCPUs that serve an endpoint on other cores than the driver's.
fn vcpus(partition: &PartitionDraft) -> impl Iterator<Item = Problem> {
    let named = endpoints(partition).flat_map(|(path, end)| {
        let names = [&end.vcpu, &end.scatter].into_iter();
        let names: Vec<_> = names.filter_map(|name| name.given()).collect();
        names.into_iter().map(move |name| (path.clone(), name))
    });
    named.filter_map(|(path, name)| {
        let core = driver(partition, &path)?;
        let vcpu = partition.vcpu(&name.value)?;
        let given = vcpu.core.given().filter(|given| given.value != core)?;
        let message = format!(
            "`{}` serves `{path}` on core {}, and its device is on core {core}",
            name.value, given.value
        );
        Some((
            given.span.clone(),
            message,
            "leave its `core` out".to_owned(),
        ))
    })
}

/// Components with endpoints on another core than the first; only the first core's component opens
/// a device.
fn drivers(partition: &PartitionDraft) -> impl Iterator<Item = Problem> {
    let with = partition
        .components
        .iter()
        .filter(|one| !one.endpoints.is_empty());
    with.filter_map(|component| {
        let core = component.core.given().filter(|core| core.value != 0)?;
        let message = format!(
            "`{}` has endpoints, and is on core {}",
            component.path(partition),
            core.value
        );
        let help = "give the device to the component that schedules the first core";
        Some((core.span.clone(), message, help.to_owned()))
    })
}

/// The core of the component that drives the device of an endpoint.
fn driver(partition: &PartitionDraft, path: &str) -> Option<u64> {
    let (name, _) = path.split_once('.')?;
    endpoints(partition).find(|(name, _)| name == path)?;
    partition.component(name)?.core()
}
