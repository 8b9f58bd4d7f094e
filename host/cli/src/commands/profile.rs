//! `bulkhead profile`

use bulkhead_bench::{Context, profile};
use bulkhead_model::Overrides;
use bulkhead_model::profile::{Profile, text};
use serde_json::json;
use std::process::ExitCode;

use crate::arguments;
use crate::checkout::Checkout;
use crate::failure::Failure;

/// File that is written where the description names none.
const USUAL: &str = "profile.toml";

pub(super) fn execute(arguments: &arguments::Profile) -> Result<ExitCode, Failure> {
    let checkout = Checkout::find()?;
    let description = checkout.description(arguments.system.as_deref())?;
    let overrides = Overrides {
        set: arguments.changes.set.clone(),
        unmeasured: true,
        ..Overrides::default()
    };
    // What was measured before, and of something else, is about to be replaced: no remarks.
    let (system, _) = super::load_with(&checkout, &description, &overrides, arguments.json)?;
    let context = Context {
        root: checkout.root().into(),
        out: checkout.out(&system.name),
        long: false,
        board: None,
        quiet: true,
    };
    let found = profile::measure(&context, &system, arguments.jobs)?;
    let file = system
        .folder
        .join(system.profile.as_deref().unwrap_or(USUAL));
    std::fs::write(&file, text(&found)).map_err(|source| Failure::File {
        path: file.clone(),
        source,
    })?;
    match arguments.json {
        true => println!("{:#}", as_json(&found)),
        false => show(&found),
    }
    if system.profile.is_none() && !arguments.json {
        println!(
            "written to {}; write `profile = \"{USUAL}\"` in [system]",
            file.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn show(profile: &Profile) {
    println!(
        "{:<32} {:>8} {:>10} {:>10} {:>12}",
        "function", "jobs", "average", "worst", "WCMT us"
    );
    for (name, measured) in profile {
        let [average, worst] = measured.instructions;
        println!(
            "{name:<32} {:>8} {average:>10} {worst:>10} {:>12.1}",
            measured.jobs,
            measured.wcmt_ns as f64 / 1e3
        );
    }
    println!(
        "average and worst: instructions of the function alone (path); WCMT: the worst, by the clock of runs (virtual); `check` adds what a stage needs"
    );
}

fn as_json(profile: &Profile) -> serde_json::Value {
    let entry = |(name, measured): (&String, &bulkhead_model::profile::Measured)| {
        let [average, worst] = measured.instructions;
        json!({"function": name, "jobs": measured.jobs, "average_instructions": average,
               "worst_instructions": worst, "wcmt_ns": measured.wcmt_ns, "digest": measured.digest})
    };
    profile.iter().map(entry).collect()
}
