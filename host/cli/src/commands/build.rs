//! `bulkhead build`

use bulkhead_image::{BuildOptions, Built};
use bulkhead_model::system::System;
use serde_json::json;
use std::process::ExitCode;

use crate::arguments::{Build, Changes};
use crate::checkout::Checkout;
use crate::failure::Failure;

pub(super) fn execute(arguments: &Build) -> Result<ExitCode, Failure> {
    let checkout = Checkout::find()?;
    let system = arguments.system.as_deref();
    let (system, remarks) = super::load(&checkout, system, &arguments.changes, arguments.json)?;
    super::show_remarks(&remarks, false);
    let built = build(&checkout, &system, &arguments.changes, arguments.json)?;
    if arguments.json {
        println!("{:#}", json!(built.manifest));
    } else {
        print!("{}", built.map);
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds a system into its output folder.
pub(super) fn build(
    checkout: &Checkout,
    system: &System,
    changes: &Changes,
    quiet: bool,
) -> Result<Built, Failure> {
    let options = BuildOptions {
        root: checkout.root().into(),
        out_dir: checkout.out(&system.name),
        arguments: super::arguments(system, changes)?,
        quiet,
        ..BuildOptions::default()
    };
    bulkhead_image::build(system, &options).map_err(|error| Failure::Build {
        finding: Box::new(error.diagnostic(system)),
        detail: error.detail,
    })
}
