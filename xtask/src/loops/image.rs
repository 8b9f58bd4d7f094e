//! An executable's instructions, constants and symbols

use miette::{IntoDiagnostic, Result, miette};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;

/// Loaded segments, by address.
#[derive(Debug, Default)]
pub(super) struct Image {
    /// Start and bytes of each loaded piece.
    pub(super) pieces: Vec<(u64, Vec<u8>)>,
    /// Names that stand for places, demangled, by address.
    symbols: BTreeMap<u64, Vec<String>>,
}

impl Image {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let file = object::File::parse(bytes).into_diagnostic()?;
        let mut image = Self::default();
        for segment in file.segments() {
            let data = segment.data().into_diagnostic()?.to_vec();
            image.pieces.push((segment.address(), data));
        }
        for symbol in file.symbols() {
            if matches!(
                symbol.kind(),
                SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown
            ) {
                image.name(symbol.address(), symbol.name().into_diagnostic()?);
            }
        }
        Ok(image)
    }

    pub(super) fn name(&mut self, address: u64, mangled: &str) {
        let name = format!("{:#}", rustc_demangle::demangle(mangled));
        // `$x` and `$d` only say where code and data begin.
        if !name.is_empty() && !name.starts_with('$') {
            self.symbols.entry(address).or_default().push(name);
        }
    }

    /// The address of a symbol.
    pub(super) fn symbol(&self, name: &str) -> Result<u64> {
        let mut found = self.symbols.iter();
        found
            .find(|(_, names)| names.iter().any(|one| one == name))
            .map(|(address, _)| *address)
            .ok_or_else(|| miette!("there is no symbol `{name}`"))
    }

    /// All names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.symbols.values().flatten().map(String::as_str)
    }

    /// The symbol that an address belongs to.
    pub(super) fn function(&self, address: u64) -> &str {
        let mut before = self.symbols.range(..=address);
        before
            .next_back()
            .and_then(|(_, names)| names.first())
            .map_or("?", String::as_str)
    }

    /// Returns true if two addresses belong to one symbol.
    pub(super) fn same_function(&self, one: u64, other: u64) -> bool {
        let start = |at| {
            self.symbols
                .range(..=at)
                .next_back()
                .map(|(start, _)| *start)
        };
        start(one) == start(other)
    }

    /// `N` bytes at an address, if they are loaded.
    pub(super) fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        self.pieces.iter().find_map(|(start, bytes)| {
            let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(offset..)?.first_chunk().copied()
        })
    }

    /// Returns the addresses of instructions.
    pub(super) fn places(&self) -> impl Iterator<Item = u64> {
        let ends = self
            .pieces
            .iter()
            .map(|(start, bytes)| (*start, start + bytes.len() as u64));
        ends.flat_map(|(start, end)| (start..end).step_by(4))
    }

    /// The instruction at an address.
    pub(super) fn word(&self, address: u64) -> Option<u32> {
        self.bytes(address).map(u32::from_le_bytes)
    }
}
