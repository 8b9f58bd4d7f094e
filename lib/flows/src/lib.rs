//! Run-time pipes
//!
//! A line becomes a [`command`]. Its flow is bound to the repository that the host tool packed for
//! the partition ([`catalogue`]), solved beside all running pipes, and judged together with them
//! ([`pipe_admission`]). A rejection is explained in the names of the flow ([`diagnostic`]). Parser, solver and
//! judge are those of `lib/tpipe`, so that a run-time pipe gets the same budgets, periods and
//! bounds as a static one.
//!
//! No allocation and no recursion; the largest values are arrays of [`ROOM`].
#![no_std]
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod command;
pub mod diagnostic;
pub mod pipe_admission;

/// Most VCPUs, with the stages of a flow: as many as the host tool solves with.
pub const ROOM: usize = bulkhead_abi::repository::MAX_VCPUS;
