//! Files that are written whole or not at all

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::BuildError;

/// File mode before the user's mask.
const EVERYBODY: u32 = 0o666;

/// Writes a file beside its place and moves it there; leaves an equal file alone.
///
/// # Errors
/// The folder cannot be written, or the disk is full; no part of the file is left behind.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    if is_equal(path, bytes) {
        return Ok(());
    }
    replace(path, bytes).map_err(|error| BuildError::unwritable(path, &error))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(path.file_name().unwrap_or_default())
        .suffix(".partial")
        .permissions(Permissions::from_mode(EVERYBODY))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn is_equal(path: &Path, bytes: &[u8]) -> bool {
    let same_size = fs::metadata(path).is_ok_and(|found| found.len() == bytes.len() as u64);
    same_size && fs::read(path).is_ok_and(|found| found == bytes)
}
