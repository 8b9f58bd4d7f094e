//! Four-slot, ring, mailbox and recorder over shared memory
//!
//! The ends of a buffer may live in different partitions, and the peer may be hostile: it can spoil
//! the messages of its own pair and nothing else. Three rules make that so.
//!
//! - Shape comes from the trusted description (a `Layout`), never from shared memory.
//! - Shared memory is only ever touched through aligned 64-bit atomic words inside one bounds-checked
//!   [`Region`], so a racing peer causes neither undefined behaviour nor a stray access.
//! - Every word has one writer, which also keeps its value privately; a word of the peer is checked
//!   or masked at each use.
//!
//! All-zero memory is a valid empty buffer of every kind, so a region needs no constructor, and
//! `attach` is both creation and recovery: either end may restart at any instant.
//! `doc/interfaces/channel.md` specifies the binary layouts.
//!
//! | kind | sides | when full | reader sees |
//! |---|---|---|---|
//! | [`four_slot`] | 1 → 1 | never is | the newest message, whole |
//! | [`ring`] | 1 → 1 | `Error::Full` | every message, in order |
//! | [`mailbox`] | 1 ↔ 1, one slot | `Error::Full` | every part of every transaction |
//! | [`recorder`] | 1 → n, read-only | overwrites the oldest | what is left, with an exact count of what is lost |
//!
//! Where messages carry numbers, [`sequence`] counts the missed ones.

#![cfg_attr(not(loom), no_std)]

mod atomic;
mod copy;
mod error;
pub mod four_slot;
mod line;
pub mod mailbox;
pub mod recorder;
mod region;
pub mod ring;
pub mod sequence;

pub use atomic::AtomicU64;
pub use error::{AttachError, Error, LayoutError};
pub use region::{Region, View};
