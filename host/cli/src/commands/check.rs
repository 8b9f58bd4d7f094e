//! `bulkhead check`

use bulkhead_model::bridge::Inside;
use bulkhead_model::pipes::Apart;
use bulkhead_model::system::{Partition, PartitionId, System};
use bulkhead_model::timing::CoreAnalysis;
use bulkhead_model::{Diagnostic, Severity, components_text, render};
use serde_json::{Value, json};
use std::process::ExitCode;

use crate::arguments::Check;
use crate::checkout::Checkout;
use crate::failure::Failure;

pub(super) fn execute(arguments: &Check) -> Result<ExitCode, Failure> {
    let checkout = Checkout::find()?;
    let system = arguments.system.as_deref();
    let (system, findings) = super::load(&checkout, system, &arguments.changes, arguments.json)?;
    if arguments.json {
        println!("{:#}", accepted(&system, &findings));
        return Ok(ExitCode::SUCCESS);
    }
    super::show_remarks(&findings, arguments.verbose);
    println!(
        "{}: {} partitions, {} channels on board {}: {}",
        system.name,
        system.partitions.len(),
        system.channels.len(),
        system.board.name,
        outcome(&findings)
    );
    for partition in &system.partitions {
        let components = components_text(&system, partition);
        if !components.is_empty() {
            print!("{}:\n{components}", partition.name);
        }
        if !partition.timing.vcpus.is_empty() {
            print!(
                "{}:\n{}",
                partition.name,
                partition.timing.table(arguments.explain)
            );
        }
    }
    for (number, partition) in system.partitions.iter().enumerate() {
        if let Some(isolated) = Apart::of(&system, PartitionId(number)) {
            println!(
                "{}: Linux keeps off the cores of its stages: {}",
                partition.name,
                isolated.words()
            );
        }
    }
    print_remote_endpoints(&system);
    for pipe in &system.pipes {
        print!("{}: {}", pipe.name, pipe.table(arguments.explain));
    }
    Ok(ExitCode::SUCCESS)
}

/// Outcome for a system that is accepted.
fn outcome(findings: &[Diagnostic]) -> String {
    let warnings = findings
        .iter()
        .filter(|one| one.severity == Severity::Warning);
    match warnings.count() {
        0 => "nothing wrong".into(),
        1 => "accepted, with 1 warning".into(),
        count => format!("accepted, with {count} warnings"),
    }
}

/// A system that is accepted, for programs: remarks, and all bounds, nanoseconds.
fn accepted(system: &System, findings: &[Diagnostic]) -> Value {
    let partitions: Vec<_> = system.partitions.iter().map(bounds).collect();
    let pipes = system.pipes.iter().map(|pipe| {
        let mut value = pipe.solved.as_json();
        value["name"] = pipe.name.as_str().into();
        value["max_age_ns"] = pipe.max_age_ns.into();
        value
    });
    json!({
        "system": system.name,
        "accepted": true,
        "findings": render::to_json(findings),
        "partitions": partitions,
        "pipes": pipes.collect::<Vec<_>>(),
    })
}

/// The cores of a partition that have VCPUs, with the responses of these and of tasks; null where there is no bound.
fn bounds(partition: &Partition) -> Value {
    let timing = &partition.timing;
    let core = |core: &CoreAnalysis| {
        let vcpu = |(index, response): &(usize, Option<u64>)| json!({"name": timing.vcpus[*index].name, "response_ns": response});
        let task = |(index, response): &(usize, Option<u64>)| {
            let task = &timing.tasks[*index];
            json!({"name": task.name, "wcet_ns": task.wcet_ns, "period_ns": task.period_ns,
                   "deadline_ns": task.deadline_ns, "response_ns": response})
        };
        json!({
            "core": core.core,
            "demand_percent": core.demand.percent(),
            "vcpus": core.mains.iter().map(vcpu).collect::<Vec<_>>(),
            "tasks": core.tasks.iter().map(task).collect::<Vec<_>>(),
        })
    };
    let cores: Vec<_> = timing.analyse().iter().map(core).collect();
    let threads = timing.threads.iter().zip(timing.priority_bounds());
    let bounded = threads.clone().filter_map(|(thread, response)| {
        let (task, response_ns) = (thread.task.as_ref()?, response.ok()?);
        Some(
            json!({"component": thread.component, "priority": thread.priority, "name": task.name, "wcet_ns": task.wcet_ns,
                    "period_ns": task.period_ns, "deadline_ns": task.deadline_ns, "response_ns": response_ns}),
        )
    });
    let unbounded = threads.filter_map(|(thread, response)| {
        let reason = timing.reason(response.err()?);
        Some(json!({"component": thread.component, "priority": thread.priority, "reason": reason}))
    });
    json!({"name": partition.name, "cores": cores, "priorities": bounded.collect::<Vec<_>>(),
           "without_bound": unbounded.collect::<Vec<_>>()})
}

/// Prints what comes in from other machines, and goes out.
fn print_remote_endpoints(system: &System) {
    for partition in &system.partitions {
        for import in partition.bridge.iter().flat_map(|bridge| &bridge.imports) {
            let target = match import.target {
                Inside::Channel(id) => system.channels[id.0].name.clone(),
                Inside::Stage { pipe, stage } => system.pipes[pipe].vcpu(stage),
            };
            println!(
                "{}: takes in {}, by {}, into {target}",
                partition.name,
                import.address,
                import.address.key()
            );
        }
        for export in partition.bridge.iter().flat_map(|bridge| &bridge.exports) {
            println!(
                "{}: others reach {} by {}",
                partition.name,
                export.address,
                export.address.key()
            );
        }
    }
}
