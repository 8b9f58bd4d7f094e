//! Pipe functions as written

use super::{Field, PipeFunctionDraft};

impl PipeFunctionDraft {
    /// Names of its source and its sink.
    pub(crate) const fn ends(&self) -> [&Field<String>; 2] {
        [&self.reads, &self.writes]
    }
}
