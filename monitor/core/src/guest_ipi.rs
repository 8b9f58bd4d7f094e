//! Inter-processor interrupts within a partition
//!
//! `ICC_SGI1R_EL1` (IHI 0069, section 12.2.22) names virtual affinities; the monitor sends to the cores with these
//! affinities. No value names a core of another partition.

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::Core;

const INTID: u64 = 0xF << 24;
const ALL_BUT_SELF: u64 = 1 << 40;
/// Aff3, range, Aff2 and Aff1: zero for each core of a partition.
const CLUSTER: u64 = 0x00FF_F0FF_00FF_0000;
/// Bits of the target list: a partition's ranks.
const TARGETS: u64 = 0xFFFF;

impl<M: Machine> Monitor<M> {
    pub(crate) fn send_ipi(self, value: u64) {
        for core in self.core.partition.cores {
            if self.is_named(core, value) {
                self.machine.send_ipi(core.target | value & INTID);
            }
        }
    }

    fn is_named(self, core: &Core, value: u64) -> bool {
        if value & ALL_BUT_SELF != 0 {
            return core.rank != self.core.rank;
        }
        value & CLUSTER == 0 && (value & TARGETS) >> (core.rank & 63) & 1 != 0
    }
}
