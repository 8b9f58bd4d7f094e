//! Descriptions and built systems that commands work on

use crate::arguments::Changes;
use crate::checkout::Checkout;
use crate::failure::Failure;
use bulkhead_model::system::{Partition, System};
use bulkhead_model::{Diagnostic, Overrides, Severity};
use bulkhead_plan::manifest::Manifest;
use bulkhead_run::RunError;
use bulkhead_run::machine::RunFolder;
use std::collections::BTreeMap;
use std::path::Path;

/// File name of the manifest in a system's output folder.
pub(super) const MANIFEST: &str = "manifest.json";

/// Loads and checks a description with the user's changes; gives its remarks, too.
pub(super) fn load(
    checkout: &Checkout,
    system: Option<&Path>,
    changes: &Changes,
    json: bool,
) -> Result<(System, Vec<Diagnostic>), Failure> {
    let path = checkout.description(system)?;
    let overrides = Overrides {
        set: changes.set.clone(),
        ..Overrides::default()
    };
    load_with(checkout, &path, &overrides, json)
}

pub(super) fn load_with(
    checkout: &Checkout,
    path: &Path,
    overrides: &Overrides,
    json: bool,
) -> Result<(System, Vec<Diagnostic>), Failure> {
    bulkhead_model::load(path, checkout.root(), overrides)
        .map_err(|findings| Failure::Refused { findings, json })
}

/// Argument words for this once, by partition.
pub(super) fn arguments(
    system: &System,
    changes: &Changes,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut words: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |partition: &str, word: &str| {
        let all = words.entry(partition.into()).or_default();
        *all = format!("{all} {word}").trim().into();
    };
    for text in &changes.arguments {
        let bad = || Failure::BadArgument { text: text.clone() };
        let (partition, word) = text.split_once('=').ok_or_else(bad)?;
        add(partition, word);
    }
    if let Some(fault) = &changes.fault {
        let makers = makers(system, fault)?;
        makers.for_each(|name| add(name, &format!("fault={fault}")));
    }
    Ok(words)
}

/// Names of the partitions that can make `fault`.
pub(super) fn makers<'s>(
    system: &'s System,
    fault: &str,
) -> Result<impl Iterator<Item = &'s str>, Failure> {
    let partitions = || system.partitions.iter();
    let all = || partitions().flat_map(|partition| &partition.faults);
    let Some(fault) = all().find(|name| *name == fault) else {
        return Err(Failure::BadFault {
            fault: fault.into(),
            candidates: match all().cloned().collect::<Vec<_>>() {
                none if none.is_empty() => "no image of this system can make one".into(),
                faults => format!("the images of this system can make {}", faults.join(", ")),
            },
        });
    };
    let makes = move |partition: &&Partition| partition.faults.contains(fault);
    Ok(partitions()
        .filter(makes)
        .map(|partition| partition.name.as_str()))
}

/// Prints findings that need no action now.
pub(super) fn show_remarks(findings: &[Diagnostic], notes: bool) {
    let is_visible = |finding: &&Diagnostic| notes || finding.severity < Severity::Note;
    let visible: Vec<_> = findings.iter().filter(is_visible).cloned().collect();
    eprint!(
        "{}",
        bulkhead_model::render::render(&visible, crate::failure::style())
    );
}

/// A system that was built.
pub(super) struct Built {
    pub(crate) name: String,
    pub(crate) manifest: Manifest,
    pub(crate) folder: RunFolder,
}

/// The system that the user means, as it was built last.
pub(super) fn built(system: Option<&Path>) -> Result<Built, Failure> {
    let checkout = Checkout::find()?;
    let name = system_name(&checkout, system)?;
    let out = checkout.out(&name);
    let path = out.join(MANIFEST);
    let text = std::fs::read_to_string(&path).map_err(|_| RunError::NothingThere {
        what: "build",
        system: name.clone(),
        path: path.clone(),
    })?;
    let manifest = serde_json::from_str(&text).map_err(|error| RunError::Damaged {
        path,
        message: error.to_string(),
    })?;
    let folder = RunFolder::new(&out, &name);
    Ok(Built {
        name,
        manifest,
        folder,
    })
}

/// The name that a description gives its system, even if it is no longer accepted.
pub(super) fn system_name(checkout: &Checkout, system: Option<&Path>) -> Result<String, Failure> {
    if let Some(name) = system.and_then(Path::to_str)
        && checkout.out(name).join(MANIFEST).is_file()
    {
        return Ok(name.into());
    }
    let path = checkout.description(system)?;
    let folder_name = || {
        let folder = if path.is_file() {
            path.parent()
        } else {
            Some(path.as_path())
        };
        let whole = folder.and_then(|folder| folder.canonicalize().ok());
        whole.and_then(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()))
    };
    match bulkhead_model::load(&path, checkout.root(), &Overrides::default()) {
        Ok((system, _)) => Ok(system.name),
        Err(findings) => folder_name().ok_or(Failure::Refused {
            findings,
            json: false,
        }),
    }
}
