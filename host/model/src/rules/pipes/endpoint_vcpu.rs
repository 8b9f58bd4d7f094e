//! The VCPUs of endpoints are there, and theirs

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, KindDraft, PartitionDraft};
use crate::pipes::endpoints::{endpoints, is_io, is_read};
use crate::source::Span;
use bulkhead_abi::pipe::MAX_SHARED;

crate::rules::declaration::rule! {
    Error, "endpoint-vcpu",
    "an endpoint's interrupts are served on an I/O VCPU without tasks, and a main VCPU of its own scatters",
    "Each device class has one I/O VCPU (003 §3.1.2). It works only for the stages that read and write at this \
     endpoint, so that its share suffices for them.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (span, message, help) in problems(partition) {
            report.add(RULE.at(&span, message).help(help));
        }
    }
}

/// Place, problem and remedy.
pub(super) fn problems(partition: &PartitionDraft) -> Vec<(Span, String, &'static str)> {
    let mut found = Vec::new();
    let mut scatterers = Vec::new();
    let mut servers = Vec::new();
    for (path, endpoint) in endpoints(partition) {
        if let Some(name) = endpoint.vcpu.given() {
            if is_read(partition, &path) {
                found.extend(divided(&mut servers, &path, name));
            }
            let mut tasks = partition.tasks.iter();
            let used = tasks.any(|task| task.vcpu.given().is_some_and(|on| on.value == name.value));
            if !is_io(partition, &name.value) {
                let message = format!(
                    "`{}` is no I/O VCPU of `{}`",
                    name.value, partition.name.value
                );
                let help = "describe it: `[partition.NAME.vcpu.NAME]` with `kind = \"io\"` and a `utilisation`";
                found.push((name.span.clone(), message, help));
            } else if used {
                let message = format!("`{}` serves `{path}`, and tasks", name.value);
                found.push((
                    name.span.clone(),
                    message,
                    "give the tasks an I/O VCPU of their own",
                ));
            }
        }
        let Some(name) = endpoint.scatter.given() else {
            continue;
        };
        let main = partition
            .vcpu(&name.value)
            .is_some_and(|vcpu| vcpu.is(KindDraft::Main));
        let mut tasks = partition.tasks.iter();
        let used = tasks.any(|task| task.vcpu.given().is_some_and(|on| on.value == name.value));
        if !main || used || scatterers.contains(&&name.value) || endpoint.vcpu.is_absent() {
            let message = format!("`{}` cannot scatter for `{path}`", name.value);
            let help = "it is a main VCPU that does nothing else, beside the endpoint's I/O VCPU";
            found.push((name.span.clone(), message, help));
        }
        scatterers.push(&name.value);
        if scatterers.len() > MAX_SHARED {
            let message = format!(
                "`{}` has more than {MAX_SHARED} endpoints that VCPUs scatter for",
                partition.name.value
            );
            let help = "leave `scatter` out where one pipe alone uses an endpoint";
            found.push((name.span.clone(), message, help));
        }
    }
    found
}

/// A component drives one device, and what comes there interrupts one VCPU.
fn divided<'d>(
    servers: &mut Vec<(String, &'d At<String>)>,
    path: &str,
    name: &'d At<String>,
) -> Option<(Span, String, &'static str)> {
    let driver = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
    let component = driver(path);
    let other = servers.iter().find(|(other, _)| driver(other) == component);
    let Some((other, first)) = other else {
        servers.push((path.to_owned(), name));
        return None;
    };
    if first.value == name.value {
        return None;
    }
    let message = format!(
        "`{path}` is served by `{}`, and `{other}`, at the same device, by `{}`",
        name.value, first.value
    );
    let help = "a device has one interrupt: name the same I/O VCPU at all endpoints of a component that are read";
    Some((name.span.clone(), message, help))
}
