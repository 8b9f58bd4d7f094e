//! Text files of sysfs

use crate::error::Error;
use std::path::Path;
use std::str::FromStr;

/// The text without its newline.
pub(crate) fn text(folder: &Path, name: &str) -> Result<String, Error> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).map_err(Error::file(path))?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// The text as a value.
pub(crate) fn value<T: FromStr>(folder: &Path, name: &str) -> Result<T, Error> {
    let text = text(folder, name)?;
    text.parse().map_err(|_| Error::Unexpected {
        path: folder.join(name),
        text,
    })
}

/// Writes `text` in one call.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(Error::file(path))
}
