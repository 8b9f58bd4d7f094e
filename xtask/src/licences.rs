//! Licences: what is ours says so, what is not has one we accept

use crate::workspace::Workspace;
use cargo_metadata::{MetadataCommand, Package};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use spdx::{Expression, LicenseReq, ParseMode};
use std::path::Path;

/// Of all that is ours, but for the kernel module.
const OURS: &str = "Apache-2.0 OR MIT";
/// A workspace of its own.
pub(crate) const BRIDGE: &str = "linux/bridge/Cargo.toml";
/// First line of the kernel module's sources.
const KERNEL: &str = "SPDX-License-Identifier: GPL-2.0";

/// All wrong licences at once, or silence.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut wrong: Vec<String> = workspace
        .metadata
        .packages
        .iter()
        .filter_map(|package| refused(&workspace.rules.licences.accepted, package))
        .collect();
    wrong.extend(unmarked_sources(&workspace.root.join("linux/kmod"))?);
    tell(&wrong)
}

/// Checks the licences of the bridge's dependencies.
pub(crate) fn check_bridge(workspace: &Workspace) -> Result<()> {
    let mut command = MetadataCommand::new();
    command.manifest_path(workspace.root.join(BRIDGE));
    command.other_options(["--locked".to_owned()]);
    let metadata = command.exec().into_diagnostic()?;
    let rules = &workspace.rules.licences;
    let accepted = [rules.accepted.as_slice(), &rules.bridge].concat();
    let packages = metadata.packages.iter();
    let wrong: Vec<_> = packages.filter_map(|one| refused(&accepted, one)).collect();
    tell(&wrong)
}

fn tell(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(miette!(
        "licences that are not accepted:\n  {}",
        wrong.join("\n  ")
    ))
}

fn refused(accepted: &[String], package: &Package) -> Option<String> {
    let licence = package.license.as_deref().unwrap_or("none");
    let ours = package.source.is_none();
    let fine = if ours {
        licence == OURS
    } else {
        is_accepted(accepted, licence)
    };
    (!fine).then(|| format!("{} {}: {licence}", package.name, package.version))
}

fn is_accepted(accepted: &[String], licence: &str) -> bool {
    Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|one: &LicenseReq| accepted.contains(&one.to_string()))
    })
}

fn unmarked_sources(folder: &Path) -> Result<Vec<String>> {
    let mut unmarked = Vec::new();
    for entry in std::fs::read_dir(folder).into_diagnostic()? {
        let path = entry.into_diagnostic()?.path();
        let text = std::fs::read_to_string(&path)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be read", path.display()))?;
        if !text
            .lines()
            .next()
            .is_some_and(|line| line.contains(KERNEL))
        {
            unmarked.push(format!("{}: no line \"{KERNEL}\"", path.display()));
        }
    }
    Ok(unmarked)
}
