//! `bulkhead check`

use bulkhead_model::bridge::Inside;
use bulkhead_model::pipes::Apart;
use bulkhead_model::system::{PartitionId, System};
use bulkhead_model::{components_text, render};
use std::process::ExitCode;

use crate::arguments::Check;
use crate::checkout::Checkout;
use crate::failure::Failure;

pub(super) fn execute(arguments: &Check) -> Result<ExitCode, Failure> {
    let checkout = Checkout::find()?;
    let system = arguments.system.as_deref();
    let (system, findings) = super::load(&checkout, system, &arguments.changes, arguments.json)?;
    if arguments.json {
        println!("{:#}", render::to_json(&findings));
        return Ok(ExitCode::SUCCESS);
    }
    super::show_remarks(&findings, arguments.verbose);
    println!(
        "{}: {} partitions, {} channels on board {}: nothing wrong",
        system.name,
        system.partitions.len(),
        system.channels.len(),
        system.board.name
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
        if let Some(apart) = Apart::of(&system, PartitionId(number)) {
            println!(
                "{}: Linux keeps off the cores of its stages: {}",
                partition.name,
                apart.words()
            );
        }
    }
    beyond(&system);
    for pipe in &system.pipes {
        print!("{}: {}", pipe.name, pipe.table(arguments.explain));
    }
    Ok(ExitCode::SUCCESS)
}

/// What comes in from other machines, and goes out.
fn beyond(system: &System) {
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
