//! The file that defines what a path names
//!
//! A name that a module passes on (`pub use`) resolves to its definition, so that a facade makes no
//! cycle: code depends on what it uses, not on the door it came through.

use super::tree::{Id, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Longest chain of re-exports that is followed.
const DEPTH: usize = 16;

/// Names that one file uses of another, by the other file.
pub(super) type Uses<'t> = BTreeMap<&'t Path, BTreeSet<String>>;

/// Returns the dependencies between the files of a crate.
pub(super) fn dependencies(tree: &Tree) -> BTreeMap<&Path, Uses<'_>> {
    let mut found: BTreeMap<&Path, Uses<'_>> = BTreeMap::new();
    for (id, module) in tree.modules.iter().enumerate() {
        let uses = found.entry(&module.file).or_default();
        for path in &module.paths {
            for to in definitions(tree, id, path) {
                let to = tree.modules[to].file.as_path();
                if to != module.file {
                    uses.entry(to).or_default().insert(path.join("::"));
                }
            }
        }
    }
    found
}

/// Modules that define what the path names; none for other crates' items and for names of modules.
fn definitions(tree: &Tree, from: Id, path: &[String]) -> Vec<Id> {
    let found = resolve(tree, from, path, DEPTH);
    match path {
        [name] if found.is_empty() => tree.macros.get(name).copied().into_iter().collect(),
        _ => found,
    }
}

fn resolve(tree: &Tree, from: Id, path: &[String], depth: usize) -> Vec<Id> {
    let Some((first, rest)) = path.split_first() else {
        return Vec::new();
    };
    match first.as_str() {
        "crate" => lookup(tree, root_of(tree, from), rest, depth),
        "self" => lookup(tree, from, rest, depth),
        "super" => match tree.modules[from].parent {
            Some(parent) => resolve_super(tree, parent, rest, depth),
            None => Vec::new(),
        },
        _ => lookup(tree, from, path, depth),
    }
}

fn resolve_super(tree: &Tree, parent: Id, rest: &[String], depth: usize) -> Vec<Id> {
    match rest.first().map(String::as_str) {
        Some("super") => resolve(tree, parent, rest, depth),
        _ => lookup(tree, parent, rest, depth),
    }
}

/// Follows the segments from a module down.
fn lookup(tree: &Tree, at: Id, path: &[String], depth: usize) -> Vec<Id> {
    let Some((name, rest)) = path.split_first() else {
        return Vec::new();
    };
    let module = &tree.modules[at];
    if module.items.contains(name) {
        return vec![at];
    }
    if let Some(children) = module.children.get(name) {
        let below = children
            .iter()
            .flat_map(|&child| lookup(tree, child, rest, depth));
        return below.collect();
    }
    if depth == 0 {
        return Vec::new();
    }
    if let Some(imports) = module.imports.get(name) {
        let import = imports.iter().filter(|import| import.first() != Some(name));
        let full = import.map(|import| [import.as_slice(), rest].concat());
        return full
            .flat_map(|full| resolve(tree, at, &full, depth - 1))
            .collect();
    }
    let globs = module
        .globs
        .iter()
        .filter(|glob| glob.first() != Some(name));
    let full = globs.map(|glob| [glob.as_slice(), path].concat());
    let found = full.flat_map(|full| resolve(tree, at, &full, depth - 1));
    // One name has one meaning, through any glob it comes.
    found.take(1).collect()
}

fn root_of(tree: &Tree, mut at: Id) -> Id {
    while let Some(parent) = tree.modules[at].parent {
        at = parent;
    }
    at
}
