//! Pipes that are typed while a partition runs
//!
//! A line becomes a [`command`]; its flow is bound to what the host tool packed for the partition ([`known`]), solved beside all that
//! runs there, and judged together with it ([`propose`]). What is refused is said in the names that were typed ([`said`]). It is the
//! parser, the solver and the judge of `lib/tpipe` in all of it, so that a typed flow gets the same budgets, periods and bounds as a described one.
//!
//! No allocation and no recursion; the largest values are arrays of [`ROOM`].
#![no_std]
#![forbid(unsafe_code)]

pub mod command;
pub mod known;
pub mod propose;
pub mod said;

/// Most VCPUs, with the stages of a flow: as many as the host tool solves with.
pub const ROOM: usize = bulkhead_abi::repository::MAX_VCPUS;
