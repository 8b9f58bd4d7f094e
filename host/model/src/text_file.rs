//! Reading text files of the user

use crate::quantity::size_text;
use std::fs;
use std::path::Path;

/// Largest description or board file, bytes.
const LARGEST: u64 = 256 << 10;

/// The bytes of a file of a size that such a text can have.
///
/// # Errors
/// Why not, in words.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, String> {
    let facts = fs::metadata(file).map_err(|reason| plain(&reason))?;
    if !facts.is_file() {
        return Err("it is no file".into());
    }
    if facts.len() > LARGEST {
        return Err(format!("it is larger than {}", size_text(LARGEST)));
    }
    fs::read(file).map_err(|reason| plain(&reason))
}

/// The reason without the number of the operating system.
fn plain(reason: &std::io::Error) -> String {
    let text = reason.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_lowercase()
}
