//! Budgets: how much a server may execute, and when it gets more
//!
//! A budget knows nothing of threads or priorities. It is told when its server became ready, ran
//! and stopped running, and answers whether it may run and for how long.

mod bandwidth_preserving;
mod constant_bandwidth;
mod deferrable;
mod interface;
mod polling;
mod posix_sporadic;
mod sporadic;

pub use bandwidth_preserving::{BandwidthPreserving, Utilisation};
pub use constant_bandwidth::ConstantBandwidth;
pub use deferrable::Deferrable;
pub use interface::{Budget, Capacity};
pub use polling::Polling;
pub use posix_sporadic::PosixSporadic;
pub use sporadic::{Chunk, Sporadic};
