//! Runtime of components on the kernel (EL0)
//!
//! The system call as a function, invocations and their entries, the user-level switch, and for the
//! first component of a partition what it needs to start the others.
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//! bulkhead_component::component!(main);
//!
//! fn main(first: First) -> ! { … }
//! ```
//!
//! A component's `build.rs` prints `cargo:rustc-link-arg-bins=-Tbulkhead-component.ld`.

#![no_std]

pub mod call;
pub mod clock;
#[macro_use]
pub mod console;
pub mod cores;
pub mod dispatch;
pub mod figure;
pub mod first;
pub mod invocation;
mod panic;
mod start;

pub use first::First;

/// Names the component's entry: `fn(First) -> !`.
#[macro_export]
macro_rules! component {
    ($main:path) => {
        #[expect(unsafe_code, reason = "the runtime calls the component by this name")]
        #[unsafe(no_mangle)]
        fn bulkhead_component(first: $crate::First) -> ! {
            $main(first)
        }
    };
}
