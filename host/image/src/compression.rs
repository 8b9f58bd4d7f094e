//! Files as they are, or compressed: distributions differ in how they keep the kernel's modules

use std::fs;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::error::BuildError;

type Expand = fn(&[u8]) -> io::Result<Vec<u8>>;

/// Endings, and how to read what has them.
const KINDS: [(&str, Expand); 3] = [("", as_it_is), ("xz", expand_xz), ("zst", expand_zstd)];

fn as_it_is(bytes: &[u8]) -> io::Result<Vec<u8>> {
    Ok(bytes.to_vec())
}

fn expand_xz(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut expanded = Vec::new();
    lzma_rs::xz_decompress(&mut Cursor::new(bytes), &mut expanded)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{error:?}")))?;
    Ok(expanded)
}

fn expand_zstd(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(bytes).map_err(invalid)?;
    let mut expanded = Vec::new();
    decoder.read_to_end(&mut expanded)?;
    Ok(expanded)
}

fn kind(path: &Path) -> (&'static str, Expand) {
    let ending = path.extension().unwrap_or_default();
    let found = KINDS.into_iter().find(|(suffix, _)| ending == *suffix);
    found.unwrap_or(KINDS[0])
}

/// The file of that name, or what it became, in a folder or below.
pub(crate) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            find(&path, name)
        } else {
            (name_of(&path) == name).then_some(path)
        }
    })
}

/// The name of a file without the ending of its compression.
fn name_of(path: &Path) -> String {
    let name = match kind(path) {
        ("", _) => path.file_name(),
        _ => path.file_stem(),
    };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of a file and its uncompressed bytes.
///
/// # Errors
/// The tool is missing, or the file is damaged.
pub(crate) fn read(path: &Path) -> Result<(String, Vec<u8>), BuildError> {
    let (_, expand) = kind(path);
    let bytes = fs::read(path).and_then(|bytes| expand(&bytes));
    let bytes = bytes.map_err(|error| BuildError::unreadable(path, &error))?;
    Ok((name_of(path), bytes))
}

#[cfg(test)]
mod tests {
    use super::{find, read};

    /// `module` behind each compression, as xz 5.4 and zstd 1.5 write it.
    const FILES: [(&str, &[u8]); 3] = [
        ("plain.ko", b"module"),
        ("xz.ko.xz", include_bytes!("compression/module.xz")),
        ("zstd.ko.zst", include_bytes!("compression/module.zst")),
    ];

    #[test]
    fn modules_are_found_and_read_however_they_are_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("kernel/drivers");
        std::fs::create_dir_all(&deep).unwrap();
        for (name, bytes) in FILES {
            std::fs::write(deep.join(name), bytes).unwrap();
        }
        for name in ["plain.ko", "xz.ko", "zstd.ko"] {
            let path = find(folder.path(), name).unwrap();
            assert_eq!(read(&path).unwrap(), (name.into(), b"module".to_vec()));
        }
        assert_eq!(find(folder.path(), "other.ko"), None);
        let damaged = deep.join("damaged.ko.xz");
        std::fs::write(&damaged, b"module").unwrap();
        assert!(read(&damaged).unwrap_err().to_string().contains("damaged"));
    }
}
