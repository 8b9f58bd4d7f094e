//! The run's digest: equal for equal runs, whatever the host did
//!
//! Everything that carries its own time counts, up to the run's length: trace events, recorded
//! messages, console lines by the stamp they begin with. A line without a stamp counts with the one
//! before it, once a later stamp proves that it belongs in front of the cut.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

use crate::watch::stamp_ns;

/// Digests by source.
#[derive(Debug, Default)]
pub struct Digests {
    sources: BTreeMap<String, Sha256>,
    consoles: BTreeMap<String, ConsoleDigest>,
}

impl Digests {
    /// Adds a source that shall show even if it stays empty.
    pub fn add_source(&mut self, source: &str) {
        self.sources.entry(source.into()).or_default();
    }

    /// Adds bytes that are known to lie before the cut.
    pub fn add(&mut self, source: &str, bytes: &[u8]) {
        match self.sources.get_mut(source) {
            Some(hash) => hash.update(bytes),
            None => {
                self.sources
                    .insert(source.into(), Sha256::new_with_prefix(bytes));
            }
        }
    }

    /// Adds a line of a console; its stamps are `offset_ns` behind the machine's clock.
    pub fn add_line(&mut self, source: &str, line: &str, offset_ns: u64, cut_ns: u64) {
        let console = self.consoles.entry(source.into()).or_default();
        if let Some(bytes) = console.take(line, offset_ns, cut_ns) {
            self.add(source, &bytes);
        }
    }

    /// Each source's digest, hexadecimal.
    #[must_use]
    pub fn by_source(&self) -> BTreeMap<String, String> {
        let digest =
            |(name, hash): (&String, &Sha256)| (name.clone(), hex(&hash.clone().finalize()));
        self.sources.iter().map(digest).collect()
    }

    /// The digest of all.
    #[must_use]
    pub fn total(&self) -> String {
        let mut total = Sha256::new();
        for (name, digest) in self.by_source() {
            total.update(format!("{name} {digest}\n"));
        }
        hex(&total.finalize())
    }
}

/// Holds lines back until a stamp decides about them.
#[derive(Debug, Default)]
struct ConsoleDigest {
    undecided: Vec<u8>,
    past_cut: bool,
}

impl ConsoleDigest {
    /// Bytes that are now known to count.
    fn take(&mut self, line: &str, offset_ns: u64, cut_ns: u64) -> Option<Vec<u8>> {
        let at_ns = stamp_ns(line).map(|ns| ns.saturating_add(offset_ns));
        self.past_cut |= at_ns.is_some_and(|ns| ns > cut_ns);
        if self.past_cut {
            return None;
        }
        self.undecided.extend_from_slice(line.as_bytes());
        self.undecided.push(b'\n');
        at_ns.map(|_| std::mem::take(&mut self.undecided))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT_NS: u64 = 2_000_000_000;

    fn total(lines: &[&str]) -> String {
        let mut digests = Digests::default();
        digests.add_source("a console");
        lines
            .iter()
            .for_each(|line| digests.add_line("a console", line, 0, CUT_NS));
        digests.total()
    }

    #[test]
    fn what_comes_after_the_cut_does_not_count() {
        let short = total(&["[1.0] a", "more", "[2.0] b"]);
        assert_eq!(
            short,
            total(&["[1.0] a", "more", "[2.0] b", "undecided", "[2.1] c", "d"])
        );
        assert_eq!(short, total(&["[1.0] a", "more", "[2.0] b", "cut off he"]));
        assert_ne!(short, total(&["[1.0] a", "more!", "[2.0] b"]));
        assert_ne!(short, total(&["[1.0] a", "more"]));
    }

    #[test]
    fn sources_do_not_mix() {
        let mut one = Digests::default();
        one.add("a", b"xy");
        let mut other = Digests::default();
        other.add("a", b"x");
        other.add("b", b"y");
        assert_ne!(one.total(), other.total());
        assert_eq!(one.by_source().len(), 1);
    }

    #[test]
    fn an_offset_moves_the_cut() {
        let mut digests = Digests::default();
        digests.add_line("a", "[1.0] x", 1_500_000_000, CUT_NS);
        assert!(digests.by_source().is_empty());
    }
}
