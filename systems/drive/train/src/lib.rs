//! Trains the network that estimates slope and headway, on drives of the plant model
//!
//! All follows from seeds, in operations that IEEE 754 defines to the bit: training anew gives the same weights on every
//! machine, which a test does.
#![forbid(unsafe_code)]

pub mod accuracy;
pub mod drive;
pub mod training;

/// Seeds of the drives that are learnt from, and how many.
pub const LEARNT: std::ops::Range<u64> = 1..41;
/// Of those that accuracy is judged by.
pub const JUDGED: std::ops::Range<u64> = 1001..1017;
