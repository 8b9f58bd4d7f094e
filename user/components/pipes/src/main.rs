//! Runs the tuned pipes of its partition, with the functions of `lib/stages` only
#![no_std]
#![no_main]

bulkhead_pipes_runtime::functions!([]);
