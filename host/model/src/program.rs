//! Programs that a description names by their folders: what their sources tell
//!
//! A folder with a `Cargo.toml` is a crate; others hold C files, built with a runtime that follows
//! from what they include. The names of pipe functions stand in the sources as text. Where they
//! cannot be read there (a macro makes them, or the program is an ELF file), nothing is known and
//! nothing is refused.

use crate::kinds::Program;
use crate::workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Library that a C program is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// OpenMP.
    OpenMp,
    /// Functions of tuned pipes, `pipe.h`: a scheduler that runs their stages.
    Pipes,
    /// Functions of tuned pipes, `pipe.h`: a component that executes them.
    PipeFunctions,
    /// Threads of SliteOS, `slite.h`, or of CMSIS-RTOS v2, `cmsis_os2.h`.
    Slite,
    /// One thread beside other components, `bulkhead.h`.
    Component,
}

/// Words of which a file of a program for a runtime contains one; a component beside others is what is left.
const MARKS: [(Runtime, &[&str]); 3] = [
    (Runtime::OpenMp, &["#pragma omp ", "#include <omp.h>"]),
    (
        Runtime::Pipes,
        &["#include <pipe.h>", "#include \"pipe.h\""],
    ),
    (
        Runtime::Slite,
        &[
            "#include <slite.h>",
            "#include \"slite.h\"",
            "#include <cmsis_os2.h>",
            "#include \"cmsis_os2.h\"",
        ],
    ),
];

impl Runtime {
    /// The runtime of the C program in a folder; nothing where there is none.
    #[must_use]
    pub fn of(folder: &Path) -> Option<Self> {
        if folder.join("Cargo.toml").is_file() {
            return None;
        }
        let mut files = c_files(folder);
        if files.is_empty() {
            return None;
        }
        // A header of the program may include that of the runtime.
        for suffix in ["h", "hpp"] {
            collect(folder, suffix, false, &mut files);
        }
        let texts: Vec<_> = files.iter().filter_map(|path| text(path)).collect();
        let has = |mark: &&str| texts.iter().any(|text| text.contains(*mark));
        let found = MARKS.iter().find(|(_, marks)| marks.iter().any(has));
        Some(found.map_or(Self::Component, |(runtime, _)| *runtime))
    }

    /// The runtime of a component with such sources, which is a scheduler or not.
    #[must_use]
    pub const fn in_component(self, is_scheduler: bool) -> Self {
        match self {
            Self::Pipes if !is_scheduler => Self::PipeFunctions,
            other => other,
        }
    }

    /// Header that its programs include.
    #[must_use]
    pub const fn header(self) -> &'static str {
        match self {
            Self::OpenMp => "omp.h",
            Self::Pipes | Self::PipeFunctions => "pipe.h",
            Self::Slite => "slite.h",
            Self::Component => "bulkhead.h",
        }
    }
}

/// Suffixes of C++ files.
pub const CPP: [&str; 3] = ["cpp", "cc", "cxx"];

/// The C and C++ files of a folder, in order.
#[must_use]
pub fn c_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for suffix in ["c"].iter().chain(&CPP) {
        collect(folder, suffix, false, &mut files);
    }
    files.sort();
    files
}

/// A source as text; bytes that are no UTF-8 do not matter.
fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn collect(folder: &Path, extension: &str, deep: bool, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if deep && path.is_dir() {
            collect(&path, extension, deep, files);
        } else if path.extension().is_some_and(|suffix| suffix == extension) {
            files.push(path);
        }
    }
}

/// Names of the pipe functions that a program brings along; nothing where its sources do not tell.
pub(crate) fn functions(root: &Path, program: &Program) -> Option<BTreeSet<String>> {
    let folder = match program {
        Program::Crate(name) => workspace::folder(root, name)?,
        Program::Folder(folder) => folder.path.clone(),
        Program::File(_) => return None,
    };
    let mut files = Vec::new();
    let (mark, open, entry) = match folder.join("Cargo.toml").is_file() {
        true => {
            collect(&folder.join("src"), "rs", true, &mut files);
            ("functions!", '[', '(')
        }
        false => {
            files = c_files(&folder);
            ("pipe_functions[]", '{', '{')
        }
    };
    let texts = files.iter().filter_map(|path| text(path));
    let mut found = texts.filter_map(|text| {
        let text = without_comments(&text);
        let (_, list) = text.split_once(mark)?;
        Some(names(list, open, entry))
    });
    let names = found.next()?;
    // A second list would be another program's.
    found.next().is_none().then_some(names)?
}

/// The first texts of a list's entries, each of which begins with one, or is the end (`{0}`).
fn names(list: &str, open: char, entry: char) -> Option<BTreeSet<String>> {
    let close = if open == '[' { ']' } else { '}' };
    let start = list.find(open)?;
    let mut rest = &list[start + 1..];
    let mut names = BTreeSet::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if rest.starts_with(close) {
            return Some(names);
        }
        let inside = rest.strip_prefix(entry)?.trim_start();
        if let Some(quoted) = inside.strip_prefix('"') {
            names.insert(quoted.split('"').next()?.to_owned());
        } else if !inside.starts_with("0}") && !inside.starts_with("NULL") {
            return None;
        }
        rest = behind(rest, entry)?;
    }
}

/// Text behind the bracket that closes the first one.
fn behind(text: &str, open: char) -> Option<&str> {
    let close = if open == '(' { ')' } else { '}' };
    let (mut depth, mut quoted) = (0_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            c if c == open => depth += 1,
            c if c == close => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return text.get(at + 1..);
                }
            }
            _ => {}
        }
    }
    None
}

/// A C or Rust text without its comments.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
            kept.push(' ');
        } else {
            let end = match c {
                '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                _ => c.len_utf8(),
            };
            kept.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_c(text: &str) -> Option<Vec<String>> {
        let text = without_comments(text);
        let (_, list) = text.split_once("pipe_functions[]")?;
        Some(names(list, '{', '{')?.into_iter().collect())
    }

    #[test]
    fn names_stand_in_the_sources() {
        let source = "const struct pipe_named pipe_functions[] = {\n /* {\"old\", f}, */ {\"limit\", limit},\n {\"mean\",\n mean}, // {\n {0}};";
        assert_eq!(of_c(source).unwrap(), ["limit", "mean"]);
        assert_eq!(of_c("pipe_functions[] = {{0}};").unwrap().len(), 0);
        // What a macro makes is not known.
        assert_eq!(of_c("pipe_functions[] = {ENTRY(a), {0}};"), None);
        assert_eq!(of_c("pipe_functions[] = {{\"a\", f},"), None);
        let rust = "x::functions!([(\"a\", a), (\"b\", &|job| f(job, \")\"))]);";
        let (_, list) = rust.split_once("functions!").unwrap();
        let found = names(list, '[', '(').unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_header_of_the_program_names_its_runtime() {
        let folder = std::env::temp_dir().join(format!("bulkhead-runtime-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("check.h", "#include <cmsis_os2.h>\n");
        assert_eq!(Runtime::of(&folder), None);
        write("main.c", "#include \"check.h\"\n");
        assert_eq!(Runtime::of(&folder), Some(Runtime::Slite));
        write("check.h", "");
        assert_eq!(Runtime::of(&folder), Some(Runtime::Component));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(without_comments("a/*b*/c//d\ne\"//\"/*"), "a c\ne\"//\" ");
        assert_eq!(without_comments("\"open"), "\"open");
        assert_eq!(without_comments("ä//ö"), "ä");
    }
}
