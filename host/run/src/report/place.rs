//! Place of an instruction in the source of its program
//!
//! Executables are compiled with line tables. Of functions that were inlined into each other the innermost one with a line
//! outside of Rust's libraries is the place; the outermost one is the function that a reader finds in the symbol table.

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection, ObjectSegment, SectionKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Beginning of the paths of Rust's libraries, which say nothing about a program.
const STANDARD_LIBRARY: &str = "/rustc/";

/// A place in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The function, as its source names it.
    pub function: String,
    /// Source file, as the compiler was given it.
    #[serde(default)]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// The function into which the compiler inlined this one, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inlined_in: Option<Box<Self>>,
}

/// An executable that was read.
#[derive(Debug)]
pub(super) struct Program(Vec<u8>);

impl Program {
    /// Reads it; `None` if it is not there any more.
    pub(super) fn read(path: &Path) -> Option<Self> {
        std::fs::read(path).ok().map(Self)
    }

    /// Address behind its last segment.
    pub(super) fn end(&self) -> Option<u64> {
        let file = object::File::parse(&*self.0).ok()?;
        file.segments()
            .map(|segment| segment.address().saturating_add(segment.size()))
            .max()
    }

    /// Returns `true` if these instructions are at `pc`, as far as its code goes.
    pub(super) fn has_code(&self, pc: u64, code: &[u32]) -> bool {
        let Ok(file) = object::File::parse(&*self.0) else {
            return false;
        };
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.sections()
            .filter(|one| one.kind() == SectionKind::Text)
            .any(|section| {
                let offset = pc.checked_sub(section.address());
                let offset = offset.and_then(|offset| usize::try_from(offset).ok());
                let rest = offset.and_then(|offset| section.data().ok()?.get(offset..));
                rest.is_some_and(|rest| {
                    let length = rest.len().min(bytes.len());
                    length >= 4 && rest.get(..length) == bytes.get(..length)
                })
            })
    }

    /// Returns the place of the instruction at `pc`.
    pub(super) fn place(&self, pc: u64) -> Option<Place> {
        let file = object::File::parse(&*self.0).ok()?;
        // The line tables of functions that the linker removed begin at address 0.
        let mut code = file
            .sections()
            .filter(|one| one.kind() == SectionKind::Text);
        if !code.any(|one| (one.address()..one.address() + one.size()).contains(&pc)) {
            return None;
        }
        lines(&file, pc).or_else(|| {
            let symbols = file.symbol_map();
            Some(Place {
                function: readable(symbols.get(pc)?.name()),
                ..Place::default()
            })
        })
    }
}

fn lines(file: &object::File<'_>, pc: u64) -> Option<Place> {
    let section = |id: SectionId| {
        let section = file.section_by_name(id.name());
        let data = section.map_or(Ok(&[][..]), |section| section.data());
        data.map(|data| EndianSlice::new(data, LittleEndian))
    };
    let context = Context::from_dwarf(Dwarf::load(section).ok()?).ok()?;
    let mut frames = context.find_frames(pc).skip_all_loads().ok()?;
    let mut places = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        let function = frame.function.as_ref();
        let function = function.and_then(|name| name.demangle().ok());
        let location = frame.location.as_ref();
        places.push(Place {
            function: function.map(|name| without_hash(&name)).unwrap_or_default(),
            file: location.and_then(|at| at.file).map(near),
            line: location.and_then(|at| at.line),
            inlined_in: None,
        });
    }
    let outermost = places.len().checked_sub(1)?;
    let innermost = places.iter().position(Place::has_own_line).unwrap_or(0);
    let inlined_in = (innermost < outermost).then(|| places.pop()).flatten();
    let mut place = places.swap_remove(innermost);
    // An instance of a generic function says nothing to a reader.
    let inlined_in = inlined_in.filter(|outer| !outer.function.contains('<'));
    place.inlined_in = inlined_in.map(Box::new);
    Some(place).filter(|place| !place.function.is_empty())
}

/// A symbol without its mangling.
fn readable(symbol: &str) -> String {
    without_hash(&addr2line::demangle_auto(symbol.into(), None))
}

/// Names of Rust functions end in a hash, which says nothing to a reader.
fn without_hash(name: &str) -> String {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 => path.into(),
        _ => name.into(),
    }
}

/// A path below the current folder is shown from there on.
fn near(path: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let below = Path::new(path).strip_prefix(here);
    below.map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

impl Place {
    /// Returns `true` if a line outside of Rust's libraries is known.
    fn has_own_line(&self) -> bool {
        let is_standard = |file: &String| file.starts_with(STANDARD_LIBRARY);
        self.line.is_some_and(|line| line != 0) && !self.file.as_ref().is_some_and(is_standard)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.function)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " ({file}:{line})")?,
            (Some(file), None) => write!(f, " ({file})")?,
            _ => (),
        }
        match &self.inlined_in {
            Some(outer) => write!(f, ", inlined in {outer}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn here() -> u64 {
        here as *const () as u64
    }

    #[test]
    fn a_function_of_this_program_is_found_with_its_line() {
        let base = here();
        let path = std::env::current_exe().expect("a program");
        let program = Program::read(&path).expect("readable");
        // The program is relocated: its own symbol says by how much.
        let file = object::File::parse(&*program.0).expect("an executable");
        let symbols = file.symbol_map();
        let mut named = symbols.symbols().iter();
        let symbol = named
            .find(|symbol| symbol.name().contains("place5tests4here"))
            .expect("a symbol");
        assert!(base >= symbol.address());
        let place = program.place(symbol.address()).expect("a place");
        assert!(place.function.contains("here"), "{place}");
        assert_eq!(place.inlined_in, None, "{place}");
        assert_eq!(program.place(1), None);
        assert!(program.end().is_some_and(|end| end > symbol.address()));
    }

    #[test]
    fn an_inlined_place_names_the_function_around_it() {
        let named = |function: &str, line| Place {
            function: function.into(),
            file: Some("main.rs".into()),
            line: Some(line),
            inlined_in: None,
        };
        let mut place = named("now", 12);
        assert_eq!(place.to_string(), "`now` (main.rs:12)");
        place.inlined_in = Some(Box::new(named("turn", 83)));
        assert_eq!(
            place.to_string(),
            "`now` (main.rs:12), inlined in `turn` (main.rs:83)"
        );
    }

    #[test]
    fn hashes_are_left_out() {
        assert_eq!(without_hash("a::b::h0123456789abcdef"), "a::b");
        assert_eq!(without_hash("worker"), "worker");
    }
}
