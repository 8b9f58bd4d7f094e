//! Archives of the `newc` kind
//!
//! The format of Linux's initial file system (Documentation/driver-api/early-userspace/buffer-format).
//! Entries are sorted, owned by root and without times: equal contents give equal bytes.

use std::collections::BTreeMap;

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A folder.
    Folder,
    /// A file: whether it may be executed, and its bytes.
    File(bool, Vec<u8>),
    /// A symbolic link and where it leads.
    Link(String),
    /// A character device: major and minor number.
    Device(u32, u32),
}

/// An archive, by path without leading slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive(BTreeMap<String, Entry>);

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const DEVICE: u32 = 0o020_600;

impl Entry {
    const fn mode(&self) -> u32 {
        match self {
            Self::Folder => FOLDER,
            Self::File(true, _) => PROGRAM,
            Self::File(false, _) => FILE,
            Self::Link(_) => LINK,
            Self::Device(..) => DEVICE,
        }
    }

    fn data(&self) -> &[u8] {
        match self {
            Self::File(_, bytes) => bytes,
            Self::Link(target) => target.as_bytes(),
            Self::Folder | Self::Device(..) => &[],
        }
    }
}

impl Archive {
    /// Adds an entry and the folders above it; a later one of the same path replaces it.
    pub fn add(&mut self, path: &str, entry: Entry) {
        for (at, _) in path.match_indices('/') {
            self.0.entry(path[..at].to_owned()).or_insert(Entry::Folder);
        }
        self.0.insert(path.to_owned(), entry);
    }

    /// The archive's bytes, a multiple of four.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (inode, (path, entry)) in (1..).zip(&self.0) {
            append(&mut bytes, inode, path, entry);
        }
        let trailer = Entry::File(false, Vec::new());
        append(&mut bytes, 0, "TRAILER!!!", &trailer);
        bytes
    }
}

fn append(bytes: &mut Vec<u8>, inode: u32, path: &str, entry: &Entry) {
    let (major, minor) = match entry {
        Entry::Device(major, minor) => (*major, *minor),
        _ => (0, 0),
    };
    let links = if matches!(entry, Entry::Folder) { 2 } else { 1 };
    let mode = if inode == 0 { 0 } else { entry.mode() };
    let (size, name_size) = (entry.data().len() as u32, path.len() as u32 + 1);
    // inode, mode, uid, gid, links, time, size, device, special device, name size, checksum
    let fields = [
        inode, mode, 0, 0, links, 0, size, 0, 0, major, minor, name_size, 0,
    ];
    bytes.extend_from_slice(b"070701");
    fields
        .iter()
        .for_each(|field| bytes.extend_from_slice(format!("{field:08x}").as_bytes()));
    bytes.extend_from_slice(path.as_bytes());
    bytes.push(0);
    pad(bytes);
    bytes.extend_from_slice(entry.data());
    pad(bytes);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_byte_for_byte_the_format() {
        let mut archive = Archive::default();
        archive.add("a/b", Entry::File(true, b"hello".to_vec()));
        let bytes = archive.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let fields = [
            "1", "41ed", "0", "0", "2", "0", "0", "0", "0", "0", "0", "2", "0",
        ];
        let folder = format!(
            "070701{}a\0",
            fields.map(|field| format!("{field:0>8}")).concat()
        );
        assert!(text.starts_with(&folder), "{text}");
        assert!(text.contains("000081ed"), "{text}");
        assert!(text.contains("a/b\0\0\0hello\0\0\x00070701"), "{text}");
        assert!(text.ends_with("TRAILER!!!\0\0\0\0"), "{text}");
        assert!(bytes.len().is_multiple_of(4));
    }

    #[test]
    fn order_of_adding_does_not_matter() {
        let entries = [
            ("x", Entry::Device(5, 1)),
            ("bin/sh", Entry::Link("busybox".into())),
        ];
        let mut forward = Archive::default();
        entries
            .iter()
            .for_each(|(path, entry)| forward.add(path, entry.clone()));
        let mut backward = Archive::default();
        entries
            .iter()
            .rev()
            .for_each(|(path, entry)| backward.add(path, entry.clone()));
        assert_eq!(forward.bytes(), backward.bytes());
    }
}
