//! Boot image: build guests, device trees, pack, verify
//!
//! [`build`] turns a checked description into a folder: `boot.img`, `manifest.json`, `map.txt`, the
//! device trees and the initial file system. The same inputs give the same bytes.

#![forbid(unsafe_code)]

pub mod components;
mod compression;
pub mod cpio;
pub mod crates;
pub mod elf;
pub mod error;
pub mod foreign;
pub mod guests;
pub mod initrd;
pub mod linux;
pub mod monitor;
pub mod output;
pub mod pack;
pub mod progress;
pub mod sources;
pub mod timing;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bulkhead_model::system::System;
use bulkhead_plan::manifest::Manifest;
use bulkhead_plan::{Inputs, Plan, inventory, map};
use sha2::{Digest, Sha256};

pub use error::BuildError;

use crate::crates::Target;
use crate::progress::Progress;

/// Name of the boot image in the output folder.
pub const BOOT_IMAGE: &str = "boot.img";

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Root of the checkout: crates, boards, fetched files.
    pub root: PathBuf,
    /// Folder that gets the files; made if missing.
    pub out_dir: PathBuf,
    /// Argument words of this build, by partition name.
    pub arguments: BTreeMap<String, String>,
    /// Features that the kernel of partitions is compiled with: variants for experiments.
    pub kernel_features: Vec<String>,
    /// Show nothing.
    pub quiet: bool,
}

/// Results of a build.
#[derive(Clone, Debug)]
pub struct Built {
    /// The manifest, also in `manifest.json`.
    pub manifest: Manifest,
    /// The memory map for people, also in `map.txt`.
    pub map: String,
    /// The boot image.
    pub image: PathBuf,
}

/// Builds a system.
///
/// # Errors
/// See [`BuildError`]; nothing half-written is left behind.
pub fn build(system: &System, options: &BuildOptions) -> Result<Built, BuildError> {
    let progress = Progress::new(options.quiet);
    let inputs = gather(system, options, &progress)?;
    progress.doing("planning");
    let plan = bulkhead_plan::plan(system, &inputs)?;
    progress.doing("packing the boot image");
    let image = pack::pack(system, &inputs, &plan)?;
    let mut manifest = inventory::manifest(system, &inputs, &plan)?;
    manifest.image = BOOT_IMAGE.into();
    manifest.injected = injected(options);
    manifest.digest = Sha256::digest(&image)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let map = map::text(system, &plan, &manifest);
    progress.doing("writing");
    write_all(system, options, &plan, &image, &manifest, &map)?;
    Ok(Built {
        manifest,
        map,
        image: options.out_dir.join(BOOT_IMAGE),
    })
}

/// Partitions that are asked for a fault.
fn injected(options: &BuildOptions) -> Vec<String> {
    let is_fault = |words: &String| words.split(' ').any(|word| word.starts_with("fault="));
    let arguments = options.arguments.iter();
    arguments
        .filter(|(_, words)| is_fault(words))
        .map(|(name, _)| name.clone())
        .collect()
}

/// Builds and reads everything that is planned and packed.
fn gather(
    system: &System,
    options: &BuildOptions,
    progress: &Progress,
) -> Result<Inputs, BuildError> {
    check_arguments(system, options)?;
    let load = system.board.load;
    progress.doing("building the monitor");
    let names = [monitor::RESIDENT, monitor::BOOT].map(str::to_owned);
    let built = crates::build(&options.root, Target::Monitor, &names, load)?;
    let boot = monitor::boot_part(crates::only_executable(&built, monitor::BOOT)?, load)?;
    let resident =
        monitor::resident_part(crates::only_executable(&built, monitor::RESIDENT)?, load)?;
    let images = guests::gather(system, options, progress)?;
    Ok(Inputs {
        boot,
        monitor: resident,
        images,
    })
}

fn check_arguments(system: &System, options: &BuildOptions) -> Result<(), BuildError> {
    let is_partition = |name: &String| {
        system
            .partitions
            .iter()
            .any(|partition| partition.name == *name)
    };
    match options.arguments.keys().find(|name| !is_partition(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("there is no partition `{name}` to give arguments to");
            Err(BuildError::new(
                "argument-partition",
                message,
                "name a partition of the system",
            ))
        }
    }
}

fn write_all(
    system: &System,
    options: &BuildOptions,
    plan: &Plan,
    image: &[u8],
    manifest: &Manifest,
    map: &str,
) -> Result<(), BuildError> {
    let json = serde_json::to_string_pretty(manifest).map_err(|error| {
        BuildError::internal(format!("the manifest cannot be written: {error}"))
    })?;
    for (partition, view) in system.partitions.iter().zip(&plan.view.partitions) {
        if let Some(tree) = &view.start.device_tree {
            output::write(
                &options.out_dir.join(format!("{}.dtb", partition.name)),
                tree,
            )?;
        }
    }
    // Interrupted, it leaves descriptions of an older image behind, never one of an image to come.
    output::write(&options.out_dir.join(BOOT_IMAGE), image)?;
    output::write(&options.out_dir.join("manifest.json"), json.as_bytes())?;
    output::write(&options.out_dir.join("map.txt"), map.as_bytes())
}
