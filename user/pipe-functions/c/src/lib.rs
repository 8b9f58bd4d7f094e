//! A component that executes pipe functions in C

#![no_std]

use bulkhead_component::{Environment, First};
use bulkhead_pipe_table::function;

bulkhead_component::component!(run);
bulkhead_pipe_functions::entry!(function);

fn run(_: First) -> ! {
    bulkhead_c_runtime::start(&Environment::open());
    // Jobs preempt each other, so they allocate nothing.
    bulkhead_c_runtime::close_heap();
    bulkhead_pipe_functions::run(function)
}
