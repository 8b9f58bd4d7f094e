//! Threads whose components are to be made again

use bulkhead_abi::kernel::MAX_COMPONENTS;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

/// What a thread of a component is started with again.
pub(crate) struct Subject {
    component: AtomicU64,
    parameters: AtomicU64,
    importance: AtomicU64,
    /// Its component is there again, its thread does not run yet.
    made_again: AtomicBool,
}

impl Subject {
    /// Number of the component.
    pub(crate) fn component(&self) -> u64 {
        self.component.load(Relaxed)
    }

    /// The policy's, in a word.
    pub(crate) fn parameters(&self) -> u64 {
        self.parameters.load(Relaxed)
    }

    pub(crate) fn is_made_again(&self) -> bool {
        self.made_again.load(Relaxed)
    }

    pub(crate) fn made_again(&self, it_is: bool) {
        self.made_again.store(it_is, Relaxed);
    }
}

/// Who is to be made again, and who does so.
pub(crate) struct Mending {
    /// By index of the thread.
    subjects: [Subject; MAX_COMPONENTS],
    /// Threads whose components are broken, by bit of their index.
    broken: AtomicU64,
    /// Index of the thread that has them made again.
    mender: AtomicU64,
}

impl Mending {
    pub(crate) const fn new() -> Self {
        Self {
            subjects: [const {
                Subject {
                    component: AtomicU64::new(0),
                    parameters: AtomicU64::new(0),
                    importance: AtomicU64::new(0),
                    made_again: AtomicBool::new(false),
                }
            }; MAX_COMPONENTS],
            broken: AtomicU64::new(0),
            mender: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self, index: u64, component: usize, parameters: u64, importance: u64) {
        if let Some(subject) = self.subjects.get(index as usize) {
            subject.component.store(component as u64, Relaxed);
            subject.parameters.store(parameters, Relaxed);
            subject.importance.store(importance, Relaxed);
        }
    }

    pub(crate) fn mender(&self, index: u64) {
        self.mender.store(index, Relaxed);
    }

    pub(crate) fn who(&self) -> u64 {
        self.mender.load(Relaxed)
    }

    pub(crate) fn is_broken(&self, index: u64) {
        self.broken.fetch_or(1 << index, Relaxed);
    }

    pub(crate) fn is_whole(&self, index: u64) {
        self.broken.fetch_and(!(1 << index), Relaxed);
    }

    /// The most important thread whose component is to be made again.
    pub(crate) fn next(&self) -> Option<(u64, &Subject)> {
        let broken = self.broken.load(Relaxed);
        let subjects = (0..).zip(&self.subjects);
        let broken = subjects.filter(|(index, _)| broken & 1 << index != 0);
        broken.min_by_key(|(_, subject)| subject.importance.load(Relaxed))
    }
}
