//! Stacks of the threads that run pipes, in pages
//!
//! The tool counts them before the partition starts, and the program makes them.

/// Stack of a stage: 10.2 KiB were used at most, without the functions' own, which `pipe functions` prints.
pub const STAGE: u64 = 4;
/// Stack of the recorder, of which 8.1 KiB were used at most.
pub const RECORDER: u64 = 3;
/// Stack of the thread that executes the planner's commands on another core than the first, of which 47 KiB were used at most: it
/// builds the plans of all stages of a pipe there.
pub const COMMANDS: u64 = 20;
/// Stack of the planner, of which about 245 KiB were used at most: the arrays of solver and admission lie there, as large for small
/// flows as for large ones.
pub const PLANNER: u64 = 76;
