//! Crates that a description may name

use crate::document::{self, Table, Value};
use crate::draft::Section;
use std::fs;
use std::path::{Path, PathBuf};

/// A member of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Name of the crate.
    pub(crate) name: String,
    /// Whether it is a program.
    pub(crate) program: bool,
}

/// Folder of the member of that name, and of the members that it names as dependencies.
pub(crate) fn folders(root: &Path, name: &str) -> Vec<PathBuf> {
    let Some(workspace) = manifest(root) else {
        return Vec::new();
    };
    let folders = Section::of(&workspace, "workspace").texts("members");
    let folders = folders.value().unwrap_or_default();
    let members: Vec<(String, PathBuf)> = folders
        .iter()
        .map(|folder| root.join(&folder.value))
        .filter_map(|folder| Some((member(&folder)?.name, folder)))
        .collect();
    let folder = |name: &str| members.iter().find(|(known, _)| known == name);
    let Some((_, own)) = folder(name) else {
        return Vec::new();
    };
    let dependencies = manifest(own)
        .and_then(
            |table| match table.get("dependencies")?.node.value.clone() {
                Value::Table(table) => Some(table.entries),
                _ => None,
            },
        )
        .unwrap_or_default();
    let named = dependencies
        .iter()
        .filter_map(|entry| folder(&entry.key.value));
    let all = named.map(|(_, folder)| folder.clone());
    all.chain([own.clone()]).collect()
}

/// The members of the workspace in `root`; nothing where there is none.
pub(crate) fn members(root: &Path) -> Option<Vec<Member>> {
    let manifest = manifest(root)?;
    let folders = Section::of(&manifest, "workspace")
        .texts("members")
        .value()?;
    Some(
        folders
            .iter()
            .filter_map(|folder| member(&root.join(&folder.value)))
            .collect(),
    )
}

fn manifest(folder: &Path) -> Option<Table> {
    let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    Some(document::parse(&text, 0).0)
}

fn member(folder: &Path) -> Option<Member> {
    let manifest = manifest(folder)?;
    let program = manifest.get("bin").is_some() || folder.join("src/main.rs").is_file();
    Some(Member {
        name: Section::of(&manifest, "package").text("name").value()?,
        program,
    })
}
