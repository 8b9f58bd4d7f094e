//! Threads that wait for a restart of their components

use bulkhead_abi::component::MAX_COMPONENT_THREADS;
use bulkhead_sched::policy::{Binding, ServerId};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

/// Indices of threads, from 1 on.
const INDICES: usize = MAX_COMPONENT_THREADS + 1;

const _: () = assert!(INDICES <= u64::BITS as usize, "bits of a word name threads");

/// The facts with which a component and its thread are started again.
pub(crate) struct Restart {
    component: AtomicU64,
    /// The thread's VCPU, above the one for which it works.
    binding: AtomicU64,
    importance: AtomicU64,
    /// The restart is within the component's limit, and its thread is retired.
    admitted: AtomicBool,
    /// The component is built again, and its thread does not run yet.
    rebuilt: AtomicBool,
}

impl Restart {
    /// Number of the component.
    pub(crate) fn component(&self) -> u64 {
        self.component.load(Relaxed)
    }

    /// The VCPU of the thread.
    pub(crate) fn binding(&self) -> Binding {
        let word = self.binding.load(Relaxed);
        Binding {
            vcpu: ServerId((word >> 16) as u16),
            cause: ServerId(word as u16),
        }
    }

    pub(crate) fn is_admitted(&self) -> bool {
        self.admitted.load(Relaxed)
    }

    pub(crate) fn admit(&self) {
        self.admitted.store(true, Relaxed);
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
    all: [Restart; INDICES],
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
                    binding: AtomicU64::new(0),
                    importance: AtomicU64::new(0),
                    admitted: AtomicBool::new(false),
                    rebuilt: AtomicBool::new(false),
                }
            }; INDICES],
            waiting: AtomicU64::new(0),
            restarter: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self, index: u64, component: usize, binding: Binding, importance: u64) {
        if let Some(restart) = self.all.get(index as usize) {
            let word = u64::from(binding.vcpu.0) << 16 | u64::from(binding.cause.0);
            restart.component.store(component as u64, Relaxed);
            restart.binding.store(word, Relaxed);
            restart.importance.store(importance, Relaxed);
        }
    }

    /// All threads, by index.
    pub(crate) const fn all(&self) -> &[Restart; INDICES] {
        &self.all
    }

    /// The VCPU of the thread of that index.
    pub(crate) fn binding(&self, index: u64) -> Binding {
        let found = self.all.get(index as usize);
        found.map_or(Binding::main(ServerId(0)), Restart::binding)
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
        if let Some(restart) = self.all.get(index as usize) {
            restart.admitted.store(false, Relaxed);
        }
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
