//! Schedules the components of a core with VCPUs
#![no_std]
#![no_main]

mod scheduler;

/// Sizes of the tables.
mod size {
    pub(crate) use bulkhead_abi::timing::MAX_SLOTS as SLOTS;
    pub(crate) use bulkhead_abi::timing::MAX_TIME_PARTITIONS as TIME_PARTITIONS;
    pub(crate) use bulkhead_abi::timing::MAX_VCPUS as VCPUS;
    /// VCPUs that can be requested at run time.
    pub(crate) const REQUESTED: usize = 4;
}
