//! GICv3 distributor and redistributor
//!
//! Initialisation of the memory-mapped parts (IHI 0069, sections 3.1 and 4.7), for the owner of the
//! machine; the CPU interface is system registers and lies in the architecture crate.

#![no_std]

mod distributor;
mod frame;
mod redistributor;

pub use distributor::Distributor;
pub use redistributor::Redistributor;
