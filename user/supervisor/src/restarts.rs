//! Threads that wait for a restart of their components

use bulkhead_abi::kernel::MAX_COMPONENTS;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

/// The facts with which a component and its thread are started again.
pub(crate) struct Restart {
    component: AtomicU64,
    parameters: AtomicU64,
    importance: AtomicU64,
    /// The component is built again, and its thread does not run yet.
    rebuilt: AtomicBool,
}

impl Restart {
    /// Number of the component.
    pub(crate) fn component(&self) -> u64 {
        self.component.load(Relaxed)
    }

    /// Parameters of the thread for its policy, in a word.
    pub(crate) fn parameters(&self) -> u64 {
        self.parameters.load(Relaxed)
    }

    pub(crate) fn is_rebuilt(&self) -> bool {
        self.rebuilt.load(Relaxed)
    }

    pub(crate) fn set_rebuilt(&self, rebuilt: bool) {
        self.rebuilt.store(rebuilt, Relaxed);
    }
}

/// All threads of components, and the thread that restarts components.
pub(crate) struct Restarts {
    /// By index of the thread.
    all: [Restart; MAX_COMPONENTS],
    /// Threads that wait for a restart, by bit of their index.
    waiting: AtomicU64,
    /// Index of the thread that restarts components.
    restarter: AtomicU64,
}

impl Restarts {
    pub(crate) const fn new() -> Self {
        Self {
            all: [const {
                Restart {
                    component: AtomicU64::new(0),
                    parameters: AtomicU64::new(0),
                    importance: AtomicU64::new(0),
                    rebuilt: AtomicBool::new(false),
                }
            }; MAX_COMPONENTS],
            waiting: AtomicU64::new(0),
            restarter: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self, index: u64, component: usize, parameters: u64, importance: u64) {
        if let Some(restart) = self.all.get(index as usize) {
            restart.component.store(component as u64, Relaxed);
            restart.parameters.store(parameters, Relaxed);
            restart.importance.store(importance, Relaxed);
        }
    }

    pub(crate) fn set_restarter(&self, index: u64) {
        self.restarter.store(index, Relaxed);
    }

    pub(crate) fn restarter(&self) -> u64 {
        self.restarter.load(Relaxed)
    }

    /// The thread of that index waits for a restart from here on.
    pub(crate) fn begin(&self, index: u64) {
        self.waiting.fetch_or(1 << index, Relaxed);
    }

    /// The thread of that index waits no more.
    pub(crate) fn end(&self, index: u64) {
        self.waiting.fetch_and(!(1 << index), Relaxed);
    }

    /// Returns the most important thread that waits for a restart.
    pub(crate) fn next(&self) -> Option<(u64, &Restart)> {
        let waiting = self.waiting.load(Relaxed);
        let all = (0..).zip(&self.all);
        let waiting = all.filter(|(index, _)| waiting & 1 << index != 0);
        waiting.min_by_key(|(_, restart)| restart.importance.load(Relaxed))
    }
}
