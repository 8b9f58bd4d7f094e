//! Runs the tuned pipes of its partition, with the functions that there are in any case
#![no_std]
#![no_main]

bulkhead_pipes_runtime::functions!([]);
