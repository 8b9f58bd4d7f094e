//! Two machines, as two processes on the loopback network, with buffers in files for their channels
//!
//! Each test has ports and files of its own. Every wait has a deadline, and a failure shows the output of both
//! processes.

mod failures;
mod garbage;
mod machine;
mod ros;
mod session;
mod stages;
mod values;
mod wire;
