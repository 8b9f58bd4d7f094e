//! Mutual exclusion between tasks of one `mutexinoutset`.

use crate::depend::{Dependences, Edge};
use crate::lock;
use crate::memory;
use crate::pool::{Pool, Slot};
use crate::report;
use crate::worker::Worker;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A lock with a count of the tasks that name it.
#[derive(Debug)]
pub(crate) struct Exclusion {
    word: AtomicU32,
    users: AtomicU32,
    link: AtomicPtr<Exclusion>,
    home: &'static Pool<Exclusion>,
}

impl Slot for Exclusion {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    fn home(&self) -> &'static Pool<Self> {
        self.home
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        let (word, users) = (AtomicU32::new(0), AtomicU32::new(0));
        memory::place(Self {
            word,
            users,
            link: AtomicPtr::new(ptr::null_mut()),
            home,
        })
    }
}

impl Exclusion {
    /// A free one, named by the caller.
    pub(crate) fn make(worker: &'static Worker) -> &'static Self {
        let Some(new) = worker.exclusions().get() else {
            report::fatal(format_args!("no memory for a dependence"))
        };
        new.users.store(1, Ordering::Relaxed);
        new
    }

    /// The caller names it no more.
    pub(crate) fn drop_share(&'static self, worker: &'static Worker) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            worker.exclusions().put(self);
        }
    }

    /// Waits until no other task is inside.
    pub(crate) fn enter(&self) {
        lock::acquire(&self.word);
    }

    /// Lets the next one in.
    pub(crate) fn leave(&self) {
        lock::release(&self.word);
    }
}

/// Adds `exclusion` to those that `task` holds while it runs, sorted by address so that tasks that
/// need several cannot wait for each other in a circle.
pub(crate) fn hold(worker: &'static Worker, task: &Dependences, exclusion: &'static Exclusion) {
    let mut before: Option<&'static Edge> = None;
    let mut next = task.exclusions.get();
    while let Some(edge) = next.filter(|edge| address(edge) <= ptr::from_ref(exclusion) as usize) {
        if address(edge) == ptr::from_ref(exclusion) as usize {
            return;
        }
        before = Some(edge);
        next = edge.following();
    }
    exclusion.users.fetch_add(1, Ordering::Relaxed);
    let edge = Edge::make(worker);
    edge.target.set(None);
    edge.exclusion.set(Some(exclusion));
    edge.set_following(next);
    match before {
        Some(before) => before.set_following(Some(edge)),
        None => task.exclusions.set(Some(edge)),
    }
}

fn address(edge: &Edge) -> usize {
    edge.exclusion
        .get()
        .map_or(0, |exclusion| ptr::from_ref(exclusion) as usize)
}

/// Gives back what [`hold`] collected.
pub(crate) fn forget(worker: &'static Worker, task: &Dependences) {
    let mut next = task.exclusions.take();
    while let Some(edge) = next {
        next = edge.following();
        if let Some(exclusion) = edge.exclusion.take() {
            exclusion.drop_share(worker);
        }
        worker.edges().put(edge);
    }
}
