//! The GOMP interface, as GCC 9 and later call it: one module per family of constructs.
//!
//! All functions are called by code that the compiler generated; the arguments are what its
//! lowering of the construct defines. None of them unwinds.
#![expect(
    unsafe_code,
    reason = "the compiler's calling convention: raw arguments, exported names"
)]

pub mod cancel;
pub mod loops;
pub mod marks;
pub mod memory;
pub mod parallel;
pub mod sections;
pub mod synchronize;
pub mod target;
pub mod task;
pub mod taskloop;
pub mod teams;
