//! Runs that end when the guest says so

use bulkhead_run::Observer;
use bulkhead_run::report::Live;
use std::sync::atomic::{AtomicBool, Ordering};

/// Last line of a measuring program.
pub(crate) const DONE: &str = "bench done";

/// Ends the run when all is measured.
pub(crate) struct UntilDone<'a> {
    /// Ends the run once it is set.
    pub(crate) over: &'a AtomicBool,
}

impl Observer for UntilDone<'_> {
    fn line(&mut self, _: &str, text: &str) {
        if text.contains(DONE) {
            self.over.store(true, Ordering::Relaxed);
        }
    }
    fn live(&mut self, _: &Live) {}
    fn notice(&mut self, _: &str) {}
}
