//! Formats that hardware and boot loaders prescribe
//!
//! Translation tables are built and walked here and nowhere else: the host tool builds with the
//! code its self-check walks with, and a monitor may walk with it, too. Pure computation over
//! memory that the caller lends; nothing here allocates but `region` (feature `alloc`).

#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod address;
pub mod archive;
pub mod el2;
pub mod gicv3;
pub mod image_header;
#[cfg(feature = "alloc")]
pub mod region;
pub mod smmu;
pub mod stage2;
pub mod syndrome;
pub mod tables;
