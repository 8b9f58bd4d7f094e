//! Experiments as commands
//!
//! Each experiment is a [`Bench`]: it names the table or figure that it reproduces, the kind of its
//! figures and its promise. A run gives a [`Report`]; each row holds figures, a bound, and `ok` if the
//! bound holds.
#![forbid(unsafe_code)]

mod alone;
mod bench;
mod budgets;
mod communication;
mod determinism;
mod edge;
mod error;
mod external;
mod footprint;
mod guest_overhead;
mod interrupt_log;
mod l3c;
mod linux_peer;
mod load;
mod measures;
mod pipe_isolated;
mod pipe_solve;
mod pipeline_isolation;
mod primitives;
pub mod profile;
mod report;
mod restart;
mod setting;
mod sloc;
mod stop_latency;
mod traps;
mod tuned_pipes;
mod until;

pub use bench::Bench;
pub use error::BenchError;
pub use report::{Figures, Report, Row, html};
pub use setting::Context;

/// All experiments there are, in the order of the specification.
#[must_use]
pub fn all() -> Vec<Box<dyn Bench>> {
    vec![
        Box::new(traps::Traps),
        Box::new(footprint::Footprint),
        Box::new(guest_overhead::GuestOverhead),
        Box::new(restart::Restart),
        Box::new(restart::RestartShowcase),
        Box::new(stop_latency::StopLatency),
        Box::new(determinism::Determinism),
        Box::new(primitives::Primitives),
        Box::new(pipeline_isolation::PipelineIsolation),
        Box::new(pipe_isolated::PipeIsolated),
        Box::new(external::BUFFERS_HOST),
        Box::new(budgets::Budgets),
        Box::new(communication::Communication),
        Box::new(l3c::Slots),
        Box::new(l3c::Burst),
        Box::new(external::SWITCH_HOST),
        Box::new(tuned_pipes::ASYNC),
        Box::new(tuned_pipes::LOSS),
        Box::new(tuned_pipes::FIFO),
        Box::new(tuned_pipes::MIMO),
        Box::new(pipe_solve::PipeSolve),
        Box::new(edge::SHORT),
        Box::new(edge::FULL),
        Box::new(external::ATTACK),
        Box::new(external::OMP_MICRO),
        Box::new(external::OMP_BOTS),
        Box::new(external::OMP_APPS),
        Box::new(external::OMP_CONSTRUCTS),
        Box::new(external::OMP_CONSERVE),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_guarantees_are_stated() {
        let benches = all();
        let ids: BTreeSet<_> = benches.iter().map(|bench| bench.id()).collect();
        assert_eq!(ids.len(), benches.len());
        for bench in benches {
            assert!(!bench.guarantee().is_empty() && !bench.reproduces().is_empty());
        }
    }
}
