//! Runtime of components on the kernel (EL0)
//!
//! System calls, invocations and their entries, the user-level switch, and the resources with which
//! the first component of a partition starts the others.
//!
//! ```text
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
pub mod can;
pub mod clock;
#[macro_use]
pub mod console;
pub mod cores;
pub mod device;
pub mod dispatch;
pub mod environment;
pub mod fault;
pub mod figure;
pub mod first;
pub mod invocation;
pub mod load;
mod panic;
pub mod pipes;
pub mod stack;
mod start;

use bulkhead_abi::name_text;
pub use bulkhead_abi::timing::Task;
pub use environment::Environment;
pub use first::First;

/// Defines the entry of an application of the description: `fn(&Environment) -> Result<Infallible,
/// E>` with a displayable `E`.
///
/// A program that ends has failed: its reason goes to the console, and it faults.
#[macro_export]
macro_rules! application {
    ($main:path) => {
        $crate::component!(bulkhead_application);

        fn bulkhead_application(_: $crate::First) -> ! {
            let env = $crate::Environment::open();
            let Err(error) = $main(&env);
            panic!("{}: stopped: {error}", env.name())
        }
    };
}

/// Defines the component's entry, `fn(First) -> !`, and if it executes tasks besides its first thread, their
/// entry: `fn(&'static Task) -> !`. A component's first thread has its priority, or executes the first of its tasks
/// ([`Environment::task`]). The threads of the other tasks begin once [`Environment::ready`] was called.
#[macro_export]
macro_rules! component {
    ($main:path) => {
        $crate::component!($main, $crate::no_task);
    };
    ($main:path, $task:path) => {
        #[expect(unsafe_code, reason = "the runtime calls the component by this name")]
        #[unsafe(no_mangle)]
        fn bulkhead_component(first: $crate::First) -> ! {
            $main(first)
        }

        #[expect(unsafe_code, reason = "the runtime calls the component by this name")]
        #[unsafe(no_mangle)]
        fn bulkhead_component_task(task: &'static $crate::Task) -> ! {
            $task(task)
        }
    };
}

/// The entry of tasks of a program that has none.
pub fn no_task(task: &'static Task) -> ! {
    panic!(
        "this program has no entry for tasks, but is given task {}",
        name_text(&task.name)
    )
}
