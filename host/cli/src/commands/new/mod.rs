//! `bulkhead new`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::{Language, New};
use crate::checkout::Checkout;
use crate::failure::Failure;

const NAME_LEN: usize = bulkhead_abi::NAME_LEN - 1;

/// Description of an application's system.
const SYSTEM: &str = include_str!("system.toml");
/// Files of an application: path and content.
const C: &[(&str, &str)] = &[("app/main.c", include_str!("c/main.c"))];
const RUST: &[(&str, &str)] = &[
    ("app/Cargo.toml", include_str!("rust/Cargo.toml.in")),
    ("app/build.rs", include_str!("rust/build.rs.in")),
    ("app/src/main.rs", include_str!("rust/main.rs.in")),
];

pub(super) fn execute(arguments: &New) -> Result<ExitCode, Failure> {
    let name = &arguments.name;
    if !is_name(name) {
        return Err(Failure::BadName { name: name.clone() });
    }
    let folder = PathBuf::from(name);
    if folder.exists() {
        return Err(Failure::Exists { path: folder });
    }
    if arguments.app {
        application(&folder, name, arguments.lang)?;
    } else {
        write(&folder.join("system.toml"), &bulkhead_model::template(name))?;
    }
    let path = folder.join("system.toml");
    println!("{} is there; `bulkhead run {name}` runs it", path.display());
    Ok(ExitCode::SUCCESS)
}

fn application(folder: &Path, name: &str, language: Language) -> Result<(), Failure> {
    let checkout = Checkout::find()?;
    let root = checkout.root().display().to_string();
    let files = match language {
        Language::C => C,
        Language::Rust => RUST,
    };
    for (path, text) in [("system.toml", SYSTEM)].iter().chain(files) {
        let text = text.replace("NAME", name).replace("ROOT", &root);
        write(&folder.join(path), &text)?;
    }
    if language == Language::Rust {
        // The same versions of what it depends on as the checkout has.
        let lock = checkout.root().join("Cargo.lock");
        let copy = folder.join("app/Cargo.lock");
        fs::copy(&lock, &copy).map_err(|source| file(&lock, source))?;
    }
    Ok(())
}

/// Writes a new file, and makes its folder.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|source| file(folder, source))?;
    fs::write(path, text).map_err(|source| file(path, source))
}

fn file(path: &Path, source: std::io::Error) -> Failure {
    Failure::File {
        path: path.into(),
        source,
    }
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase();
    name.len() <= NAME_LEN
        && name.starts_with(letter)
        && name
            .chars()
            .all(|c| letter(c) || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(is_name("drive") && is_name("a-2"));
        for name in ["", "2a", "Drive", "a/b", "..", "a-name-too-long-for-it"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
