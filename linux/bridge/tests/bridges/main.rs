//! Two machines, as two processes on the loopback network, with buffers in files for their channels
//!
//! Each test has ports and files of its own; what it waits for, it waits for with a deadline, and what was said is shown where
//! that passes.

mod failures;
mod garbage;
mod machine;
mod ros;
mod session;
mod stages;
mod values;
mod wire;
