//! Files that are written whole or not at all

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::error::BuildError;

/// Writes a file beside its place and moves it there; leaves an equal file alone.
///
/// # Errors
/// The folder cannot be written, or the disk is full; no part of the file is left behind.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    if is_equal(path, bytes) {
        return Ok(());
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(name);
    let written = create(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        // The write's own error is the one to tell.
        let _ = fs::remove_file(&partial);
        BuildError::unwritable(path, &error)
    })
}

fn create(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.flush()
}

fn is_equal(path: &Path, bytes: &[u8]) -> bool {
    let same_size = fs::metadata(path).is_ok_and(|found| found.len() == bytes.len() as u64);
    same_size && fs::read(path).is_ok_and(|found| found == bytes)
}
