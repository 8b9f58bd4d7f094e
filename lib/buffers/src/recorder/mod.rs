//! Recorder: the writer never waits, readers count what they lost
//!
//! A flight recorder: the newest units overwrite the oldest. A unit is a byte ([`stream`], for
//! consoles) or a record of fixed size ([`records`]). One writer, any number of readers, each with
//! a cursor of its own and a read-only mapping: the writer does not know of them.
//!
//! Positions count units since creation. The writer stores `reserved` before it overwrites and
//! `committed` after; a reader copies what lies between its cursor and `committed`, then looks at
//! `reserved` and drops the front of its copy that may have been overwritten meanwhile. One pass,
//! no retry: every unit is delivered whole or counted as lost, exactly.
//!
//! *Ordering* (H.-J. Boehm, "Can seqlocks get along with programming language memory models?", MSPC
//! 2012). Writer: `reserved` (relaxed), release fence, payload (relaxed), `committed` (release).
//! Reader: `committed` (relaxed), acquire fence, payload (relaxed), acquire fence, `reserved`
//! (relaxed). A reader that saw a byte of an overwriting unit sees its reservation: the fences
//! pair. The reader's loads are relaxed ones with fences because only such are promised to work on
//! read-only pages (documentation of `core::sync::atomic`, "Atomic accesses to read-only memory").
//!
//! *Restart.* The writer goes on at `committed`; what it had reserved beyond stays given up. A reader
//! starts at the oldest unit, or at a position it remembers. Nonsense: a reader that finds its
//! cursor ahead of the writer reports [`crate::Error::Corrupt`] and goes to the oldest unit there
//! is.

mod log;
pub mod records;
pub mod stream;

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Units at the front of the caller's buffer.
    pub count: usize,
    /// Units overwritten before this reader got them, just before those delivered.
    pub lost: u64,
}
