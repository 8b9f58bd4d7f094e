//! `bulkhead new`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::{Language, New};
use crate::checkout::Checkout;
use crate::failure::Failure;

const NAME_LEN: usize = bulkhead_abi::NAME_LEN - 1;

/// Files that are made: path and content.
type Files = &'static [(&'static str, &'static str)];

/// The target and toolchain with which the tool builds, so that `cargo check` and editors take the same.
const TARGET: &str = include_str!("rust/config.toml.in");
const TOOLCHAIN: &str = include_str!("../../../../../rust-toolchain.toml");

const APP_C: Files = &[
    ("system.toml", include_str!("app.toml")),
    ("app/main.c", include_str!("c/main.c")),
];
const APP_RUST: Files = &[
    ("system.toml", include_str!("app.toml")),
    ("app/Cargo.toml", include_str!("rust/Cargo.toml.in")),
    ("app/.cargo/config.toml", TARGET),
    ("app/rust-toolchain.toml", TOOLCHAIN),
    ("app/build.rs", include_str!("rust/build.rs.in")),
    ("app/src/main.rs", include_str!("rust/main.rs.in")),
];
const PIPE_C: Files = &[
    ("system.toml", include_str!("pipe.toml")),
    ("functions/functions.c", include_str!("pipe/c/functions.c")),
];
const PIPE_RUST: Files = &[
    ("system.toml", include_str!("pipe.toml")),
    (
        "functions/Cargo.toml",
        include_str!("pipe/rust/Cargo.toml.in"),
    ),
    ("functions/.cargo/config.toml", TARGET),
    ("functions/rust-toolchain.toml", TOOLCHAIN),
    ("functions/build.rs", include_str!("rust/build.rs.in")),
    (
        "functions/src/main.rs",
        include_str!("pipe/rust/main.rs.in"),
    ),
    (
        "functions/src/functions.rs",
        include_str!("pipe/rust/functions.rs.in"),
    ),
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
    let files = match (arguments.app, arguments.pipe, arguments.lang) {
        (true, _, Language::C) => APP_C,
        (true, _, Language::Rust) => APP_RUST,
        (_, true, Language::C) => PIPE_C,
        (_, true, Language::Rust) => PIPE_RUST,
        _ => &[],
    };
    if files.is_empty() {
        write(&folder.join("system.toml"), &bulkhead_model::template(name))?;
    } else {
        program(&folder, name, files)?;
    }
    let path = folder.join("system.toml");
    println!("{} is there; `bulkhead run {name}` runs it", path.display());
    Ok(ExitCode::SUCCESS)
}

/// A system with a program of its own.
fn program(folder: &Path, name: &str, files: Files) -> Result<(), Failure> {
    let checkout = Checkout::find()?;
    let root = checkout.root().display().to_string();
    for (path, text) in files {
        let text = text.replace("NAME", name).replace("ROOT", &root);
        let path = folder.join(path);
        write(&path, &text)?;
        if path.ends_with("Cargo.toml") {
            // The same versions of what it depends on as the checkout has.
            let lock = checkout.root().join("Cargo.lock");
            let copy = path.with_file_name("Cargo.lock");
            fs::copy(&lock, &copy).map_err(|source| file(&lock, source))?;
        }
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
