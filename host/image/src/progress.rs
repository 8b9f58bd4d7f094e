//! A line that says what is being done, once it takes longer than two seconds

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(100);

/// The line; gone when dropped.
pub struct Progress {
    bar: ProgressBar,
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// A line that appears in time, on a terminal, unless `quiet`.
    #[must_use]
    pub fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if quiet {
            return Self {
                bar,
                done: None,
                thread: None,
            };
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        let (done, waiting) = channel();
        let handle = bar.clone();
        let thread = std::thread::spawn(move || appear(&handle, &waiting));
        Self {
            bar,
            done: Some(done),
            thread: Some(thread),
        }
    }

    /// Shows the present step.
    pub fn doing(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }
}

fn appear(bar: &ProgressBar, waiting: &Receiver<()>) {
    if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(TICK);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            // A thread that failed to draw has nothing to tell.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
