//! Minimal EL1 runtime of programs that need a partition to themselves
//!
//! Real-time applications are components on the kernel; what attacks the monitor, or measures it, must
//! stand where the kernel stands. One program per partition, which owns its cores: tables and vectors,
//! the shared counter, periodic jobs, interrupts, a console, channels and their tracing. Nothing it
//! does in the steady state enters EL2.
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//! bulkhead_rtos::application!(main);
//!
//! fn main(system: &System) -> Result<Infallible, ChannelError> {
//!     let mut sensors = Subscriber::<Sensors>::open(system, "sensors")?;
//!     system.announce_up();
//!     system.run_periodic("control", Period::from_micros(1000), |job| { … })
//! }
//! ```
//!
//! An application's `build.rs` prints `cargo:rustc-link-arg-bins=-Tbulkhead-rtos.ld`.

#![no_std]

mod channel;
pub mod clock;
#[macro_use]
pub mod console;
pub mod cores;
pub mod exception;
mod gic;
pub mod hypercall;
pub mod interrupt;
mod lock;
pub mod mmu;
mod panic;
mod registers;
mod shared;
mod stack;
mod start;
mod system;
pub mod trace;

pub use bulkhead_abi::status::LinkState;
pub use bulkhead_guest::{ChannelError, Job, Link, Message, Period, Received};
pub use channel::{Neighbour, Receiver, Sender, Subscriber};
pub use lock::Lock;
pub use stack::Stack;
pub use system::System;

/// Names the application's entry: `fn(&System) -> Result<Infallible, E>` with a displayable `E`.
///
/// A program that ends has failed: its reason goes to the console and the partition's policy for
/// `panic` decides.
#[macro_export]
macro_rules! application {
    ($main:path) => {
        #[expect(unsafe_code, reason = "the runtime calls the application by this name")]
        #[unsafe(no_mangle)]
        fn bulkhead_application(system: &$crate::System) {
            if let Err(error) = $main(system) {
                $crate::println!("stopped: {error}");
            }
        }
    };
}
