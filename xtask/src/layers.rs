//! Layering: every dependency goes to a layer that layers.toml names

use crate::workspace::{Layer, Workspace};
use cargo_metadata::{Dependency, DependencyKind, Package};
use miette::{Result, miette};

/// All wrong dependencies at once, or silence.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut wrong = Vec::new();
    for package in workspace.metadata.workspace_packages() {
        wrong.extend(check_package(workspace, package)?);
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(miette!(
        help = "let the lower crate define what it needs, or change layers.toml and say why",
        "dependencies against the layering:\n  {}",
        wrong.join("\n  ")
    ))
}

fn check_package(workspace: &Workspace, package: &Package) -> Result<Vec<String>> {
    let name = workspace.layer_of(package)?;
    let layer = &workspace.rules.layers[name];
    let mut wrong = Vec::new();
    for dependency in &package.dependencies {
        if let Some(to) = refused(workspace, layer, dependency)? {
            wrong.push(format!(
                "{} ({name}) depends on {} ({to})",
                package.name, dependency.name
            ));
        }
    }
    Ok(wrong)
}

/// The layer of the dependency where it is not allowed.
fn refused(
    workspace: &Workspace,
    layer: &Layer,
    dependency: &Dependency,
) -> Result<Option<String>> {
    let members = workspace.metadata.workspace_packages();
    let Some(member) = members
        .iter()
        .find(|member| *member.name == dependency.name)
    else {
        return Ok(refused_external(layer, dependency));
    };
    let to = workspace.layer_of(member)?;
    Ok((!layer.may.iter().any(|may| may == to)).then(|| to.to_owned()))
}

/// Registry crates: tests may use any, they are not in what is delivered.
fn refused_external(layer: &Layer, dependency: &Dependency) -> Option<String> {
    let allowed = layer.external.as_ref()?;
    let fine = dependency.kind == DependencyKind::Development || allowed.contains(&dependency.name);
    (!fine).then(|| "external".to_owned())
}
