//! Scheduling events, recorded when the `trace` feature is built in.

#[cfg(not(feature = "trace"))]
mod off;
#[cfg(not(feature = "trace"))]
pub use off::{end, fail, park, ready, ready_fiber, resume, save, search, start, unpark};

#[cfg(feature = "trace")]
mod on;
#[cfg(feature = "trace")]
pub use on::{end, fail, park, ready, ready_fiber, resume, save, search, start, unpark};
