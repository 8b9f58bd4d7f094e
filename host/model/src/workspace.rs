//! Crates that a description may name

use crate::document::{self, Table};
use crate::draft::Section;
use std::fs;
use std::path::Path;

/// A member of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Name of the crate.
    pub(crate) name: String,
    /// Whether it is a program.
    pub(crate) program: bool,
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
