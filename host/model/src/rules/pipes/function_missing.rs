//! Functions that pipes use are in the program that runs them

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, PipeFunctionDraft};
use crate::kinds::{Folder, Kind, Program};
use crate::pipes::flow::{flows, parse};
use crate::suggestion::advice;
use crate::{program, workspace};
use bulkhead_stages::functions;
use std::collections::BTreeSet;

/// Program that runs the stages of Linux partitions.
const LINUX: &str = "bulkhead-linux-pipes";

crate::rules::declaration::rule! {
    Error, "function-missing",
    "the program of a partition has the functions that its pipes use",
    "An rtos partition runs the functions of its scheduler's program on the first core; some are built in (`sample`, \
     `filter`, `emit` …), and Linux has only these. With a missing function neither the pipe nor its partition would \
     start. The tool reads the names in the sources: `pipe_functions` in C, `functions!` in Rust.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in draft
        .partitions
        .iter()
        .filter(|one| !one.functions.is_empty())
    {
        let Some((functions, whose)) = partition_functions(draft, partition) else {
            continue;
        };
        let names: Vec<_> = functions.iter().map(String::as_str).collect();
        let there = |name: &str| names.contains(&name) || executed(partition, name);
        check_components(draft, partition, report);
        for function in used(draft, partition).filter(|one| !there(&one.name.value)) {
            let name = &function.name.value;
            report.add(
                RULE.at(
                    &function.name.span,
                    format!("{whose} has no function `{name}`"),
                )
                .here("a pipe uses it")
                .help(help(name, &names, partition)),
            );
        }
        for fallback in used(draft, partition).filter_map(|one| one.fallback.given()) {
            // One that the description does not know either is another rule's.
            let declared = partition
                .functions
                .iter()
                .any(|one| one.name.value == fallback.value);
            if declared && !there(&fallback.value) {
                report.add(
                    RULE.at(
                        &fallback.span,
                        format!("{whose} has no function `{}`", fallback.value),
                    )
                    .here("a fallback")
                    .help(help(&fallback.value, &names, partition)),
                );
            }
        }
    }
}

/// Returns whether a component executes the function.
fn executed(partition: &PartitionDraft, name: &str) -> bool {
    let mut functions = partition.functions.iter();
    functions.any(|one| one.name.value == name && !one.component.is_absent())
}

/// Functions that components execute are in their programs.
fn check_components(draft: &Draft, partition: &PartitionDraft, report: &mut Report) {
    for function in &partition.functions {
        let Some(component) = function.component.given() else {
            continue;
        };
        let mut components = partition.components.iter();
        let found = components.find(|one| one.name.value == component.value);
        let Some(program) = found.and_then(|one| one.program(draft)) else {
            continue;
        };
        let Some(functions) = program::functions(&draft.root, &program) else {
            continue;
        };
        let name = &function.name.value;
        if functions.contains(name) {
            continue;
        }
        let names: Vec<_> = functions.iter().map(String::as_str).collect();
        let message = format!(
            "the program of `{}.{}` has no function `{name}`",
            partition.name.value, component.value
        );
        report.add(
            RULE.at(&function.name.span, message)
                .here("the component executes it")
                .help(help(name, &names, partition)),
        );
    }
}

fn built_in() -> BTreeSet<String> {
    let all = functions::all(|_| None);
    all.map(|(name, _)| name.to_owned()).collect()
}

fn help(name: &str, names: &[&str], partition: &PartitionDraft) -> String {
    let add = match partition.kind.value() {
        Some(Kind::Linux) => "functions of your own run in rtos partitions",
        _ => {
            "add it to the program: `pipe_functions` in C, `functions!` in Rust (`bulkhead new --pipe`)"
        }
    };
    format!("{}; or {add}", advice(name, "function", names))
}

/// The functions that there are in a partition, and the name of what has them; nothing where they
/// are not known.
fn partition_functions(
    draft: &Draft,
    partition: &PartitionDraft,
) -> Option<(BTreeSet<String>, String)> {
    let program = match partition.kind.value()? {
        Kind::Linux => {
            // Its stages are run by a program of the checkout, if that is one.
            workspace::folder(&draft.root, LINUX)?;
            return Some((built_in(), "Linux".into()));
        }
        _ => partition.scheduler(Some(0))?.program(draft)?,
    };
    let whose = match &program {
        Program::Crate(name) => format!("the program `{name}`"),
        Program::File(path) | Program::Folder(Folder { path, .. }) => {
            format!("the program in `{}`", path.file_name()?.to_string_lossy())
        }
    };
    let functions = program::functions(&draft.root, &program)?;
    Some((functions.into_iter().chain(built_in()).collect(), whose))
}

/// Functions of a partition that stand in a flow.
fn used<'d>(
    draft: &'d Draft,
    partition: &'d PartitionDraft,
) -> impl Iterator<Item = &'d PipeFunctionDraft> {
    let pipelines = flows(draft).filter_map(|flow| parse(&flow.value).ok());
    let named: BTreeSet<&str> = pipelines
        .flat_map(|pipeline| {
            pipeline
                .stages()
                .iter()
                .map(|stage| stage.name)
                .collect::<Vec<_>>()
        })
        .collect();
    let owner = &partition.name.value;
    let elsewhere = |name: &str| {
        let mut others = draft
            .partitions
            .iter()
            .filter(|one| one.name.value != *owner);
        others.any(|one| one.functions.iter().any(|one| one.name.value == name))
    };
    partition.functions.iter().filter(move |function| {
        let name = &function.name.value;
        // A name that two partitions use is written with the partition's.
        let short = named.contains(name.as_str()) && !elsewhere(name);
        short || named.contains(format!("{owner}.{name}").as_str())
    })
}
