//! Crates that a description may name

use crate::document::{self, Table, Value};
use crate::draft::Section;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A member of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Name of the crate.
    pub(crate) name: String,
    /// True if it is a program.
    pub(crate) program: bool,
}

/// Folder of the member of that name.
pub(crate) fn folder(root: &Path, name: &str) -> Option<PathBuf> {
    let workspace = manifest(root)?;
    let folders = Section::of(&workspace, "workspace").texts("members");
    let mut folders = folders
        .value()?
        .into_iter()
        .map(|one| root.join(&one.value));
    folders.find(|folder| member(folder).is_some_and(|one| one.name == name))
}

/// Folders of the member of that name, and of all members that it depends on.
pub(crate) fn folders(root: &Path, name: &str) -> Vec<PathBuf> {
    let Some(workspace) = manifest(root) else {
        return Vec::new();
    };
    let folders = Section::of(&workspace, "workspace").texts("members");
    let folders = folders.value().unwrap_or_default();
    let members: BTreeMap<String, PathBuf> = folders
        .iter()
        .map(|folder| root.join(&folder.value))
        .filter_map(|folder| Some((member(&folder)?.name, folder)))
        .collect();
    let mut found = BTreeSet::new();
    let mut named = vec![name.to_owned()];
    while let Some(folder) = named.pop().and_then(|name| members.get(&name)) {
        if found.insert(folder.clone()) {
            named.extend(dependencies(folder).filter(|name| members.contains_key(name)));
        }
    }
    found.into_iter().collect()
}

/// Names of the crates that the one in `folder` depends on.
fn dependencies(folder: &Path) -> impl Iterator<Item = String> {
    let table =
        manifest(folder).and_then(
            |table| match table.get("dependencies")?.node.value.clone() {
                Value::Table(table) => Some(table.entries),
                _ => None,
            },
        );
    table
        .unwrap_or_default()
        .into_iter()
        .map(|entry| entry.key.value)
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
