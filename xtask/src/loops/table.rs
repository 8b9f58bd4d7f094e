//! Loops that an executable may contain, with the reason: `loops.toml` beside its sources

use super::source::Place;
use serde::Deserialize;

/// `loops.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Its crate.
    pub(super) package: String,
    /// Symbol of the 16 exception vectors.
    pub(super) vectors: String,
    /// Symbols by which it is entered at boot.
    pub(super) boot: Vec<String>,
    /// Instructions of the longest way from an exception back, at most; absent = not measured.
    #[serde(default)]
    pub(super) longest: Option<u64>,
    /// Functions that run while the system starts, through which the longest way does not go.
    #[serde(default)]
    pub(super) starting: Vec<String>,
    /// Symbols by which it is entered otherwise than by an exception.
    #[serde(default)]
    pub(super) after_boot: Vec<String>,
    #[serde(default, rename = "jump")]
    pub(super) jumps: Vec<Jump>,
    #[serde(default, rename = "loop")]
    pub(super) loops: Vec<Bounded>,
}

/// A jump or call through a register that no table in the executable belongs to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Jump {
    /// The symbol it is in.
    pub(super) function: String,
    /// Symbols where it may go, `SYMBOL-N` so many instructions before; `next` is the one
    /// behind it.
    pub(super) to: Vec<String>,
    /// Why nowhere else.
    pub(super) why: String,
}

/// A loop.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bounded {
    /// File, from the workspace's root; assembly has none.
    pub(super) file: Option<String>,
    /// The function, or the symbol in assembly.
    pub(super) function: String,
    /// A piece of a line that belongs to it.
    pub(super) source: Option<String>,
    /// The loop runs at boot only.
    #[serde(default)]
    pub(super) boot: bool,
    /// The loop retries a pair of a load- and a store-exclusive.
    #[serde(default)]
    pub(super) retry: bool,
    /// How often it runs at most, in words.
    pub(super) bound: String,
    /// The bound as a number, which counts each run through its header; a retry has that of the
    /// other cores.
    #[serde(default)]
    pub(super) times: Option<u64>,
    /// Why no more often.
    pub(super) why: String,
}

impl Bounded {
    /// Returns true if this line covers the loop at that position.
    pub(super) fn is_about(&self, place: &Place, retry: bool) -> bool {
        let quoted = |piece: &String| place.lines.iter().any(|line| line.contains(piece));
        self.retry == retry
            && self.file == place.file
            && self.function == place.function
            && self.source.as_ref().is_none_or(quoted)
    }

    pub(super) fn name(&self) -> String {
        let file = self.file.as_deref().unwrap_or("assembly");
        let source = self.source.as_deref().unwrap_or("");
        format!("{file}: {} {source}", self.function)
            .trim_end()
            .to_owned()
    }
}
