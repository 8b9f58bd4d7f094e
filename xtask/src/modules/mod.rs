//! Direction: files of a crate do not depend on each other in circles
//!
//! Files that form a cycle can only be understood together. Up to three may (a type, its parts and
//! their error, say). Larger cycles that have not been removed yet stand in layers.toml with their
//! size, which must be exact: they can shrink and cannot grow.

mod resolve;
mod tree;

use crate::licences::BRIDGE;
use crate::workspace::Workspace;
use cargo_metadata::MetadataCommand;
use miette::{IntoDiagnostic, Result, miette};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use resolve::{Uses, dependencies};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tree::Tree;

/// Files that may form a cycle.
const LARGEST: usize = 3;

/// A crate's library, program or test.
struct Target {
    /// Of its package, from the workspace's root.
    folder: String,
    name: String,
    root: PathBuf,
}

/// Reports all cycles that layers.toml does not state.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut wrong = Vec::new();
    let mut accepted = workspace.rules.cycles.clone();
    for target in targets(workspace)? {
        let tree = Tree::read(&target.root)?;
        let size: usize = cycles(&dependencies(&tree)).iter().map(Vec::len).sum();
        let stated = accepted.remove(&target.name).unwrap_or(0);
        if size != stated {
            let Target { folder, name, .. } = target;
            wrong.push(format!(
                "{folder} ({name}): {size} files, layers.toml states {stated}"
            ));
        }
    }
    wrong.extend(
        accepted
            .into_keys()
            .map(|name| format!("{name} does not exist")),
    );
    if wrong.is_empty() {
        return Ok(());
    }
    Err(miette!(
        help = "`cargo xtask cycles NAME` shows the dependencies within; move what both sides need below them",
        "import cycles of more than {LARGEST} files:\n  {}",
        wrong.join("\n  ")
    ))
}

/// Prints cycles and the dependencies that form them, of the targets with this name or of all.
pub(crate) fn print(workspace: &Workspace, name: Option<&str>) -> Result<()> {
    let is_chosen = |target: &Target| name.is_none_or(|name| target.name == name);
    for target in targets(workspace)?.into_iter().filter(is_chosen) {
        let tree = Tree::read(&target.root)?;
        let dependencies = dependencies(&tree);
        let above = target.root.parent().unwrap_or(&target.root);
        for cycle in cycles(&dependencies) {
            println!("{} ({}): {} files", target.folder, target.name, cycle.len());
            print_cycle(&dependencies, above, &cycle);
        }
    }
    Ok(())
}

fn print_cycle(dependencies: &BTreeMap<&Path, Uses<'_>>, above: &Path, cycle: &[&Path]) {
    let short = |path: &Path| {
        path.strip_prefix(above)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    for &from in cycle {
        let within = dependencies[from]
            .iter()
            .filter(|(to, _)| cycle.contains(to));
        for (&to, names) in within {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            println!("  {} -> {}: {}", short(from), short(to), names.join(", "));
        }
    }
}

/// Strongly connected components of more than `LARGEST` files.
fn cycles<'t>(dependencies: &BTreeMap<&'t Path, Uses<'t>>) -> Vec<Vec<&'t Path>> {
    let edges = dependencies
        .iter()
        .flat_map(|(&from, uses)| uses.keys().map(move |&to| (from, to)));
    let graph: DiGraphMap<&Path, ()> = DiGraphMap::from_edges(edges);
    let mut cycles = tarjan_scc(&graph);
    cycles.retain(|cycle| cycle.len() > LARGEST);
    cycles.iter_mut().for_each(|cycle| cycle.sort_unstable());
    cycles
}

/// Every target of every crate, the bridge's workspace included.
fn targets(workspace: &Workspace) -> Result<Vec<Target>> {
    let mut bridge = MetadataCommand::new();
    bridge.manifest_path(workspace.root.join(BRIDGE)).no_deps();
    let bridge = bridge.exec().into_diagnostic()?;
    let packages = workspace.metadata.workspace_packages();
    let mut found = Vec::new();
    for package in packages.into_iter().chain(&bridge.packages) {
        let folder = workspace.folder_of(package).display().to_string();
        found.extend(package.targets.iter().map(|target| Target {
            folder: folder.clone(),
            name: target.name.clone(),
            root: target.src_path.clone().into_std_path_buf(),
        }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles of a crate with these files, by the files' names.
    fn cycles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let tree = Tree::read(&folder.path().join("lib.rs")).expect("a crate");
        let dependencies = dependencies(&tree);
        let short = |path: &Path| {
            path.strip_prefix(folder.path())
                .expect("below")
                .display()
                .to_string()
        };
        let names = |cycle: Vec<&Path>| cycle.into_iter().map(short).collect();
        cycles(&dependencies).into_iter().map(names).collect()
    }

    const DECLARED: &str = "mod a; mod b; mod c; mod d;";

    #[test]
    fn four_files_in_a_circle_are_found_however_they_name_each_other() {
        let files = [
            ("lib.rs", DECLARED),
            ("a.rs", "use crate::b::B; pub fn a(b: B) {}"),
            ("b.rs", "pub struct B(super::c::inner::C);"),
            ("c/mod.rs", "pub mod inner;"),
            ("c/inner.rs", "use crate::d; pub type C = d::D;"),
            (
                "d.rs",
                "pub type D = u8; fn d() { println!(\"{}\", crate::a::a(1)) }",
            ),
        ];
        assert_eq!(cycles_of(&files), [["a.rs", "b.rs", "c/inner.rs", "d.rs"]]);
    }

    #[test]
    fn three_files_may_form_a_cycle() {
        let files = [
            ("lib.rs", DECLARED),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::a::A; pub struct C;"),
            ("d.rs", "use crate::a::A;"),
        ];
        assert_eq!(cycles_of(&files), [[""; 0]; 0]);
    }

    #[test]
    fn a_facade_and_tests_make_no_cycle() {
        let files = [
            (
                "lib.rs",
                "mod a; mod b; mod c; mod d; pub use a::A; pub use b::*; pub use c::C as E;",
            ),
            ("a.rs", "use crate::B; pub struct A;"),
            ("b.rs", "use crate::E; pub struct B;"),
            ("c.rs", "use crate::d::D; pub struct C;"),
            (
                "d.rs",
                "pub struct D; #[cfg(test)] mod tests { use crate::A; }",
            ),
        ];
        assert_eq!(cycles_of(&files), [[""; 0]; 0]);
    }

    #[test]
    fn files_of_other_configurations_and_macros_count() {
        let files = [
            (
                "lib.rs",
                "#[macro_use] mod m; #[cfg_attr(unix, path = \"p/q.rs\")] mod a; mod b; mod c;",
            ),
            ("m.rs", "macro_rules! make { () => { crate::b::B } }"),
            ("p/q.rs", "pub struct A(make!());"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::a::A; pub struct C;"),
        ];
        assert_eq!(cycles_of(&files), [["b.rs", "c.rs", "m.rs", "p/q.rs"]]);
    }
}
