//! Output that cannot be written
//!
//! `println!` panics where its stream fails: the terminal was closed, or the disk is full. Such a panic is no defect
//! of the tool. It unwinds as any other, so that what runs is ended, and the tool ends with a status and at most a line.

use std::any::Any;
use std::io::Write;
use std::panic::{self, UnwindSafe};
use std::process::ExitCode;

/// First words of the standard library's message.
const FAILED: &str = "failed printing to ";
/// Exit status where the output is lost, as after an interrupt.
const INTERRUPTED: u8 = 130;

/// Runs the tool; its status, also where its output cannot be written.
pub(crate) fn guarded(run: impl FnOnce() -> ExitCode + UnwindSafe) -> ExitCode {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if reason(info.payload()).is_none() {
            usual(info);
        }
    }));
    panic::catch_unwind(run).unwrap_or_else(|payload| match reason(&*payload) {
        Some(reason) => {
            // The same stream may be the one that fails.
            let _ = writeln!(std::io::stderr(), "bulkhead: {reason}");
            ExitCode::from(INTERRUPTED)
        }
        None => panic::resume_unwind(payload),
    })
}

/// The message of a panic of `println!` and its kin.
fn reason(payload: &(dyn Any + Send)) -> Option<String> {
    let text = payload.downcast_ref::<String>()?;
    text.starts_with(FAILED).then(|| text.clone())
}
