//! A busy host

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Keeps all processors of the host busy until dropped.
#[derive(Debug)]
pub(crate) struct HostLoad {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl HostLoad {
    /// Two busy threads per processor.
    pub(crate) fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let busy = |_| {
            let over = Arc::clone(&over);
            std::thread::spawn(move || spin(&over))
        };
        Self {
            threads: (0..2 * processors).map(busy).collect(),
            over,
        }
    }
}

impl Drop for HostLoad {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that only counts cannot have failed.
            let _ = thread.join();
        }
    }
}

fn spin(over: &AtomicBool) {
    let count = AtomicU64::new(0);
    while !over.load(Ordering::Relaxed) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}
