//! The scheduler of a partition's tuned pipes, with functions in C

#![no_std]

use bulkhead_pipes_runtime::First;

bulkhead_component::component!(run);
bulkhead_pipes_runtime::serve_components!();

fn run(first: First) -> ! {
    bulkhead_pipes_runtime::run(first, bulkhead_pipe_table::function)
}
