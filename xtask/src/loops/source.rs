//! Source lines of a loop
//!
//! Functions are inlined into each other, so a loop of the source is in many places of the program. What
//! its instructions have in common is the chain of functions that were inlined at that place; the
//! innermost function of this workspace in that chain contains the loop.

use super::image::Image;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use addr2line::{Context, Frame};
use miette::{IntoDiagnostic, Result};
use object::{Object, ObjectSection};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

type Reader<'b> = EndianSlice<'b, LittleEndian>;

/// Source position of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// From the workspace's root, or from the library's; assembly has none.
    pub(super) file: Option<String>,
    pub(super) function: String,
    /// Text of the lines of that function that its instructions belong to.
    pub(super) lines: Vec<String>,
}

/// A function that an instruction belongs to, and the line there.
#[derive(Clone, Debug)]
struct Level {
    function: String,
    file: String,
    line: u32,
}

/// The debug information of an executable.
pub(super) struct Source<'b> {
    root: PathBuf,
    context: Context<Reader<'b>>,
}

impl<'b> Source<'b> {
    pub(super) fn read(root: &Path, bytes: &'b [u8]) -> Result<Self> {
        let file = object::File::parse(bytes).into_diagnostic()?;
        let section = |id: SectionId| {
            let section = file.section_by_name(id.name());
            let data = section.map_or(Ok(&[][..]), |section| section.data());
            data.map(|data| EndianSlice::new(data, LittleEndian))
                .into_diagnostic()
        };
        let context = Context::from_dwarf(Dwarf::load(section)?).into_diagnostic()?;
        let root = root.to_owned();
        Ok(Self { root, context })
    }

    /// Returns the source position of a loop's instructions.
    pub(super) fn place(&self, image: &Image, instructions: &BTreeSet<u64>) -> Place {
        let chains = instructions.iter().map(|&at| self.chain(at));
        let (complete, incomplete): (Vec<_>, Vec<_>) = chains
            .filter(|chain| !chain.is_empty())
            .partition(|chain| chain.last().is_some_and(|level| level.line != 0));
        // An instruction that the compiler has merged of several has no line, and says little.
        let chains = if complete.is_empty() {
            incomplete
        } else {
            complete
        };
        let common = in_common(&chains);
        let ours = |level: &Level| self.root.join(&level.file).exists();
        let chain = chains.first().map_or(&[][..], |chain| &chain[..common]);
        let depth = chain.iter().rposition(ours).unwrap_or(0);
        let Some(level) = chain.get(depth) else {
            let header = instructions.first().copied().unwrap_or_default();
            let function = image.function(header).to_owned();
            return Place {
                function,
                ..Place::default()
            };
        };
        let numbers: BTreeSet<u32> = chains.iter().map(|chain| chain[depth].line).collect();
        let text = std::fs::read_to_string(self.root.join(&level.file)).unwrap_or_default();
        let text: Vec<&str> = text.lines().collect();
        let line = |number: &u32| text.get((*number as usize).checked_sub(1)?);
        Place {
            file: Some(level.file.clone()),
            function: level.function.clone(),
            lines: numbers
                .iter()
                .filter_map(line)
                .map(|line| line.trim().to_owned())
                .collect(),
        }
    }

    /// Returns true if an instruction belongs to a file with `part` in its path.
    pub(super) fn is_from(&self, at: u64, part: &str) -> bool {
        self.chain(at).iter().any(|level| level.file.contains(part))
    }

    /// Functions inlined into each other, the outermost first.
    fn chain(&self, at: u64) -> Vec<Level> {
        let mut levels = Vec::new();
        let Ok(mut frames) = self.context.find_frames(at).skip_all_loads() else {
            return levels;
        };
        while let Ok(Some(frame)) = frames.next() {
            levels.extend(self.level(&frame));
        }
        levels.reverse();
        levels
    }

    fn level(&self, frame: &Frame<'_, Reader<'_>>) -> Option<Level> {
        let name = frame.function.as_ref()?.raw_name().ok()?.into_owned();
        let location = frame.location.as_ref()?;
        Some(Level {
            function: short(&format!("{:#}", rustc_demangle::demangle(&name))),
            file: self.relative(location.file?),
            line: location.line.unwrap_or(0),
        })
    }

    fn relative(&self, file: &str) -> String {
        let path = Path::new(file);
        let library = file.find("/library/").map_or(file, |at| &file[at + 1..]);
        path.strip_prefix(&self.root)
            .map_or(library.to_owned(), |ours| ours.display().to_string())
    }
}

/// How many levels all chains have in common; lines that are not known are like any.
fn in_common(chains: &[Vec<Level>]) -> usize {
    let Some((first, rest)) = chains.split_first() else {
        return 0;
    };
    let same_place =
        |one: &Level, other: &Level| one.line == other.line || one.line == 0 || other.line == 0;
    let same = |depth: usize, other: &Vec<Level>| {
        let (one, Some(other_level)) = (&first[depth], other.get(depth)) else {
            return false;
        };
        let above = depth.checked_sub(1).map(|up| (&first[up], &other[up]));
        one.function == other_level.function
            && one.file == other_level.file
            && above.is_none_or(|(one, other)| same_place(one, other))
    };
    let differs = |depth: &usize| !rest.iter().all(|other| same(*depth, other));
    (0..first.len()).find(differs).unwrap_or(first.len())
}

/// The function's own name: no path, no parameters.
fn short(name: &str) -> String {
    let mut depth = 0_usize;
    let mut short = String::new();
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => short.clear(),
            _ if depth == 0 => short.push(letter),
            _ => {}
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(function: &str, line: u32) -> Level {
        let (function, file) = (function.into(), "x.rs".into());
        Level {
            function,
            file,
            line,
        }
    }

    #[test]
    fn names_lose_their_path_and_parameters() {
        assert_eq!(short("claim<bulkhead_kernel::machine::Machine>"), "claim");
        assert_eq!(short("a::b::<impl a::Kernel<H>>::boot"), "boot");
        assert_eq!(short("<a::Processor as b::Machine>::reset"), "reset");
        assert_eq!(short("memcpy"), "memcpy");
    }

    #[test]
    fn a_chain_is_common_as_far_as_the_place_of_inlining_is() {
        let one = vec![level("call", 5), level("fill", 7), level("next", 9)];
        let two = vec![level("call", 5), level("fill", 8), level("set", 1)];
        assert_eq!(in_common(&[one.clone(), two.clone()]), 2);
        let elsewhere = vec![level("call", 6), level("fill", 7)];
        assert_eq!(in_common(&[one.clone(), elsewhere]), 1);
        let incomplete = vec![level("call", 0), level("fill", 7), level("next", 9)];
        assert_eq!(in_common(&[one, incomplete]), 3);
        assert_eq!(in_common(&[]), 0);
    }
}
