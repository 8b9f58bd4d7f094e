//! Run a system in the emulator, watch it, report
//!
//! The tool only reads: consoles, traces, counters and link pages are looked at in the emulator's
//! memory while the machine runs, so nothing in the machine depends on whether, when or how fast
//! the tool reads. The one exception is console input.
//!
//! `machine` starts and stops the emulator, `watch` follows one run, `report` says what it showed.

pub mod error;
pub mod figures;
pub mod machine;
pub mod ram;
pub mod report;
pub mod run;
pub mod watch;

pub use error::RunError;
pub use run::{Ended, Observer, RunOptions, run};
