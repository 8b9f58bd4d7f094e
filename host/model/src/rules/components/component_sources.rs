//! Sources, headers and macros of a C program

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, items};
use crate::program::{Runtime, c_files};

crate::rules::declaration::rule! {
    Error, "component-sources",
    "`sources`, `include` and `define` belong to a folder of C or C++ files; the paths are there, and the macros have names of C",
    "They are given to the compiler of those files. A crate names its own in its `Cargo.toml` and `build.rs`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        if !is_compiled(draft, component) {
            let lists = [
                &component.image.sources,
                &component.image.include,
                &component.image.define,
            ];
            if let Some(list) = lists.into_iter().find_map(|list| list.given()) {
                let message = format!("`{}` has no C files", component.path(partition));
                let help = "name a `folder` of C or C++ files beside it, or leave it out";
                let here = "given to no compiler";
                report.add(RULE.at(&list.span, message).here(here).help(help));
            }
            continue;
        }
        for item in items(&component.image.sources) {
            let path = draft.path(item);
            if !path.is_file() && c_files(&path).is_empty() {
                let message = format!("there are no C or C++ files at `{}`", item.value);
                let help = "name a file, or a folder with such files, relative to the folder of the description";
                let here = "nothing to compile";
                report.add(RULE.at(&item.span, message).here(here).help(help));
            }
        }
        for item in items(&component.image.include) {
            if !draft.path(item).is_dir() {
                let message = format!("there is no folder `{}`", item.value);
                let help = "relative names start from the folder of the description";
                report.add(RULE.at(&item.span, message).here("no headers").help(help));
            }
        }
        for item in items(&component.image.define) {
            if !is_macro(&item.value) {
                let message = format!("`{}` defines no macro", item.value);
                let help = "write `NAME` or `NAME=VALUE`; a name has letters, digits and `_`, and begins with no digit";
                report.add(RULE.at(&item.span, message).here("no name of C").help(help));
            }
        }
    }
}

/// Returns whether the component is a folder of C files; yes where the folder is broken.
fn is_compiled(draft: &Draft, component: &ComponentDraft) -> bool {
    match component.image.folder.given() {
        Some(folder) => {
            let path = draft.path(folder);
            !path.is_dir() || Runtime::of(&path).is_some()
        }
        None => !component.image.folder.is_absent(),
    }
}

fn is_macro(text: &str) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}
