//! `bulkhead new`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::New;
use crate::failure::Failure;

const NAME_LEN: usize = bulkhead_abi::NAME_LEN - 1;

pub(super) fn execute(arguments: &New) -> Result<ExitCode, Failure> {
    let name = &arguments.name;
    if !is_name(name) {
        return Err(Failure::BadName { name: name.clone() });
    }
    let folder = PathBuf::from(name);
    if folder.exists() {
        return Err(Failure::Exists { path: folder });
    }
    let path = folder.join("system.toml");
    fs::create_dir(&folder).map_err(|source| file(&folder, source))?;
    fs::write(&path, bulkhead_model::template(name)).map_err(|source| file(&path, source))?;
    println!("{} is there; `bulkhead run {name}` runs it", path.display());
    Ok(ExitCode::SUCCESS)
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
