//! Schedules the components of a core of a partition without VCPUs: the same program, with room for priorities alone
#![no_std]
#![no_main]

mod scheduler;

/// Sizes of the tables.
mod size {
    pub(crate) const SLOTS: usize = 0;
    pub(crate) const TIME_PARTITIONS: usize = 1;
    pub(crate) const VCPUS: usize = 0;
    pub(crate) const REQUESTED: usize = 0;
}
