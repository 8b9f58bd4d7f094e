//! `bulkhead console`, `send`, `drive`: one partition's console, from another terminal

use bulkhead_plan::manifest::PartitionManifest;
use bulkhead_run::RunError;
use bulkhead_run::watch::{Attachment, type_line};
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::arguments::{Console, Drive, Send};
use crate::commands::loading::Built;
use crate::failure::Failure;

/// How often an attached console is looked at.
const POLL: Duration = Duration::from_millis(20);
/// Partition of the showcase that takes commands.
const DRIVE: (&str, &str) = ("drive", "linux");

pub(super) fn execute(arguments: &Console) -> Result<ExitCode, Failure> {
    match &arguments.send {
        Some(text) => type_into(arguments.system.as_deref(), &arguments.partition, text),
        None => attach(arguments.system.as_deref(), &arguments.partition),
    }
}

pub(super) fn send(arguments: &Send) -> Result<ExitCode, Failure> {
    type_into(
        arguments.system.as_deref(),
        &arguments.partition,
        &arguments.text.join(" "),
    )
}

pub(super) fn drive(arguments: &Drive) -> Result<ExitCode, Failure> {
    let (system, partition) = DRIVE;
    type_into(
        Some(Path::new(system)),
        partition,
        &arguments.text.join(" "),
    )
}

fn type_into(system: Option<&Path>, partition: &str, text: &str) -> Result<ExitCode, Failure> {
    let built = super::built(system)?;
    let partition = find(&built, partition)?;
    type_line(&built.manifest, partition, &built.folder, text)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows what the partition printed and prints, and types what comes on standard input.
fn attach(system: Option<&Path>, partition: &str) -> Result<ExitCode, Failure> {
    let built = Arc::new(super::built(system)?);
    let partition = find(&built, partition)?;
    let attachment = Attachment::new(&built.manifest, partition, &built.folder)?;
    let mut reader = attachment.reader()?;
    let broken = Arc::new(AtomicBool::new(false));
    std::thread::spawn({
        let (built, name) = (Arc::clone(&built), partition.name.clone());
        let broken = Arc::clone(&broken);
        move || forward_input(&built, &name, &broken)
    });
    while built.folder.running().is_ok() && !broken.load(Ordering::Relaxed) {
        let bytes = reader.read();
        let mut out = std::io::stdout();
        if out.write_all(&bytes).and_then(|()| out.flush()).is_err() {
            break;
        }
        std::thread::sleep(POLL);
    }
    Ok(ExitCode::SUCCESS)
}

/// Until the input ends; an attachment without input goes on showing.
fn forward_input(built: &Built, name: &str, broken: &AtomicBool) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let entered = find(built, name)
            .and_then(|partition| Ok(type_line(&built.manifest, partition, &built.folder, &line)?));
        if let Err(failure) = entered {
            failure.show();
            broken.store(true, Ordering::Relaxed);
        }
    }
}

fn find<'b>(built: &'b Built, name: &str) -> Result<&'b PartitionManifest, Failure> {
    let partitions = &built.manifest.partitions;
    partitions
        .iter()
        .find(|partition| partition.name == name)
        .ok_or_else(|| {
            let names: Vec<_> = partitions
                .iter()
                .map(|partition| partition.name.as_str())
                .collect();
            RunError::UnknownPartition {
                name: name.into(),
                candidates: names.join(", "),
            }
            .into()
        })
}
