//! The runtime as one archive; the version nodes of the shared object are `omp/libgomp.map`.
//!
//! Built for use (panics abort) it is free of the standard library: that library's pages would otherwise
//! count in every program's memory.
#![cfg_attr(panic = "abort", no_std)]

use bulkhead_omp as _;

/// The runtime does not panic; if it ever does, it says where.
#[cfg(panic = "abort")]
#[panic_handler]
fn die(info: &core::panic::PanicInfo<'_>) -> ! {
    bulkhead_omp::report::fatal(format_args!("internal error: {info}"))
}
