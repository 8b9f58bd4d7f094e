//! Stages of a solved flow, as the partitions that run them need them

use super::Planner;
use crate::endpoints;
use bulkhead_abi::pipe::{NONE, Stage};
use bulkhead_abi::repository::Device;
use bulkhead_flows::pipe_admission::Solved;
use bulkhead_tpipe::language::Buffering;

impl Planner {
    /// All of them, in the order of the flow.
    pub(super) fn stages<'s>(&'s self, solved: &'s Solved) -> impl Iterator<Item = Stage> + 's {
        solved.stages().iter().filter_map(|stage| {
            let packed = self.catalogue.packed();
            let function = packed.functions.get(stage.function)?;
            let ends = endpoints::of(packed, function);
            let mut served = ends.iter().flatten().map(|device| device.vcpu);
            Some(Stage {
                function: function.function,
                source: function.source,
                sink: function.sink,
                fallback: Default::default(),
                core: self.core_for(None, stage.function),
                vcpu: NONE,
                io: served.next().unwrap_or(NONE),
                scatter: ends.map(|end| end.map_or(NONE, |device| device.scatter)),
                from: stage.from.into(),
                to: stage.to.into(),
                messages: stage.messages as u32,
                buffer: stage.buffer as u32,
                on_overrun: function.on_overrun,
                message_bytes: function.message_bytes,
                identifiers: function.identifiers,
                addresses: function.addresses,
                port: function.port,
                endpoint_kinds: function.endpoint_kinds,
                distance_ns: ends[0].map_or(0, |source| Self::distance(solved, source)),
                wcet_ns: function.wcet_ns,
                capacity_ns: stage.capacity,
                period_ns: stage.period,
            })
        })
    }

    /// The shortest distance of the messages that a stage reads at a device: the endpoint's, or the
    /// one that a lossless pipe assumes.
    const fn distance(solved: &Solved, source: &Device) -> u64 {
        match (solved.buffering, source.distance_ns) {
            (Buffering::Fifo, 0) => solved.interval,
            (_, declared) => declared,
        }
    }
}
