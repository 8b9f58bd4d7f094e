//! The kernel's mechanism: capabilities, threads, invocations, notifications, time
//!
//! All decisions of the kernel, without the instructions that carry them out: those are behind [`Hal`].
//! This code runs at EL1 and, on a machine of plain memory, in the host's tests.
//!
//! An object is one page ([`Frame`]) of words that are read and written whole, so no content of a
//! page can break the language's rules, only the kernel's; the frame table has the type of each page
//! ([`frame`]). There is no lock, no allocation, no recursion; loops are bounded by constants of
//! [`bulkhead_abi::kernel`]. A kernel path is never interrupted.
//!
//! Sources: spec 20-kernel; papers 004 §III–V (dispatch, invocations, events) and 000 §III–IV.

#![no_std]
#![forbid(unsafe_code)]

mod bits;
pub mod boot;
mod cores;
mod creation;
mod dispatch;
mod event;
mod fault;
pub mod frame;
mod hal;
mod invocation;
mod memory;
mod notification;
pub mod object;
pub mod quiescence;
mod reclaim;
mod slot;
mod system_call;
mod table;
mod time;
pub mod translation;

#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use frame::{Frame, Ref, Word};
pub use hal::{Hal, MonitorCall};
pub use system_call::Arguments;

/// The kernel of one core, on its machine.
pub struct Kernel<'h, H>(&'h H);

impl<H> Clone for Kernel<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for Kernel<'_, H> {}

impl<'h, H: Hal> Kernel<'h, H> {
    /// Returns the kernel over `hal`, for a core page that [`boot`] has prepared.
    #[inline(always)]
    pub const fn new(hal: &'h H) -> Self {
        Self(hal)
    }
}
