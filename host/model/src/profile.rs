//! Times of pipe functions that `bulkhead profile` measured
//!
//! A file beside the description, which names it: for each function the worst measured time (WCMT)
//! of a job, and a digest of the measured sources. With the margin of the description, it replaces
//! a missing WCET, and is compared with a given one.

use crate::document;
use crate::draft::Section;
use crate::kinds::Program;
use crate::program::CPP;
use crate::{text_file, workspace};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Default margin that is added to a measured time, percent.
pub(crate) const MARGIN: u64 = 20;

/// Measured time of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Worst time of a job, nanoseconds.
    pub wcmt_ns: u64,
    /// Jobs that were measured.
    pub jobs: u64,
    /// Instructions of the function, on average and at worst: path.
    pub instructions: [u64; 2],
    /// Of the sources, hexadecimal.
    pub digest: String,
}

/// By partition and function, `PARTITION.FUNCTION`.
pub type Profile = BTreeMap<String, Measured>;

/// A profile as it is written.
#[must_use]
pub fn text(profile: &Profile) -> String {
    let mut text = String::from(
        "# Written by `bulkhead profile`: measured in the emulator, instructions on one core. Do not edit.\n",
    );
    for (name, measured) in profile {
        let Measured {
            wcmt_ns,
            jobs,
            instructions: [average, worst],
            digest,
        } = measured;
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n[function.\"{name}\"]\nwcmt_ns = {wcmt_ns}\njobs = {jobs}\naverage = {average}\nworst = {worst}\ndigest = \"{digest}\"\n"
        );
    }
    text
}

/// Reads a profile.
///
/// # Errors
/// Why not, in words.
pub fn read(file: &Path) -> Result<Profile, String> {
    let bytes = text_file::read(file)?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let (table, errors) = document::parse(&text, 0);
    if let Some(error) = errors.first() {
        return Err(error.message.clone());
    }
    let entry = |section: Section<'_>| {
        let name = section.name.value.clone();
        let number = |key| section.number(key).value();
        let measured = (|| {
            Some(Measured {
                wcmt_ns: number("wcmt_ns").filter(|ns| *ns > 0)?,
                jobs: number("jobs")?,
                instructions: [number("average")?, number("worst")?],
                digest: section.text("digest").value()?,
            })
        })();
        let measured = measured.ok_or_else(|| format!("its entry `{name}` is not whole"));
        measured.map(|measured| (name, measured))
    };
    Section::named(&table, "function").map(entry).collect()
}

/// The program that runs stages; its functions are always available.
const RUNTIME: &str = "bulkhead-pipes-runtime";

/// Digest of the sources of a program's pipe functions: all that is called `functions` in the
/// `src` of the crates of the workspace that it is built of, and all sources in a folder of its
/// own. What those call elsewhere is not seen.
#[must_use]
pub fn digest(root: &Path, program: &Program) -> Option<String> {
    let mut files = Vec::new();
    let member = match program {
        Program::Crate(name) => name,
        Program::Folder(folder) => {
            collect(&folder.path.join("src"), &mut files);
            files.extend(entries(&folder.path));
            files.extend(folder.sources.iter().cloned());
            folder
                .sources
                .iter()
                .for_each(|path| files.extend(entries(path)));
            files.retain(|file| file.is_file() && is_source(file));
            RUNTIME
        }
        Program::File(_) => return None,
    };
    for folder in workspace::folders(root, member) {
        let named = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == "functions");
        let named: Vec<_> = entries(&folder.join("src")).filter(named).collect();
        named.iter().for_each(|path| collect(path, &mut files));
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        let bytes = fs::read(file).ok()?;
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    let hexadecimal = |text: String, byte: &u8| format!("{text}{byte:02x}");
    (!files.is_empty()).then(|| hash.finalize().iter().fold(String::new(), hexadecimal))
}

fn is_source(file: &Path) -> bool {
    let extension = file.extension().unwrap_or_default();
    ["rs", "c", "h"]
        .iter()
        .chain(&CPP)
        .any(|suffix| extension == *suffix)
}

/// Entries of a folder, if it is one.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    match fs::read_dir(path) {
        Ok(entries) => entries
            .flatten()
            .for_each(|entry| collect(&entry.path(), files)),
        Err(_) => files.push(path.to_path_buf()),
    }
}

/// A measured time with the margin, nanoseconds.
#[must_use]
pub fn with_margin(wcmt_ns: u64, percent: u64) -> u64 {
    let more = u128::from(wcmt_ns) * u128::from(100 + percent);
    u64::try_from(more.div_ceil(100)).unwrap_or(u64::MAX)
}

/// The profile of a description.
#[derive(Clone, Debug, Default)]
pub(crate) enum Named {
    /// The description names none.
    #[default]
    None,
    /// The description names a file that cannot be read, for this reason.
    Unread(String),
    /// The description names this file.
    Read(Profile),
}

impl Named {
    /// Measured time of a function.
    pub(crate) fn measured(&self, partition: &str, function: &str) -> Option<&Measured> {
        match self {
            Self::Read(profile) => profile.get(&format!("{partition}.{function}")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let measured = Measured {
            wcmt_ns: 31_250,
            jobs: 1000,
            instructions: [120, 210],
            digest: "abcd".into(),
        };
        let profile: Profile = [("control.filter".to_owned(), measured)].into();
        let file =
            std::env::temp_dir().join(format!("bulkhead-profile-{}.toml", std::process::id()));
        fs::write(&file, text(&profile)).expect("writable");
        let read_back = read(&file);
        fs::write(&file, "[function.\"a.b\"]\njobs = 1\n").expect("writable");
        let torn = read(&file);
        fs::remove_file(&file).expect("it is there");
        assert_eq!(read_back, Ok(profile));
        assert_eq!(torn, Err("its entry `a.b` is not whole".into()));
    }

    #[test]
    fn a_margin_is_rounded_up() {
        assert_eq!(with_margin(31_250, 20), 37_500);
        assert_eq!(with_margin(1, 1), 2);
        assert_eq!(with_margin(u64::MAX, 1000), u64::MAX);
    }
}
