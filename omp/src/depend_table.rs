//! Which children of a task used which address last.

#![expect(unsafe_code, reason = "a hash table linked by address")]

use crate::backend::{Backend, System};
use crate::depend::{Access, Dependences, Edge, Kind};
use crate::exclusion::{self, Exclusion};
use crate::memory;
use crate::pool::{Pool, Slot};
use crate::report;
use crate::task::{Flags, Task};
use crate::worker::Worker;
use core::cell::Cell;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

/// Only the parent task touches it.
#[derive(Debug)]
pub(crate) struct ChildOrder {
    buckets: Cell<*mut Cell<Option<&'static Entry>>>,
    mask: Cell<usize>,
    entries: Cell<usize>,
    /// The last task that depended on all memory.
    everything: Cell<Option<&'static Dependences>>,
    link: AtomicPtr<ChildOrder>,
    home: &'static Pool<ChildOrder>,
}

/// Latest accesses to one address.
#[derive(Debug)]
pub(crate) struct Entry {
    address: Cell<usize>,
    kind: Cell<Kind>,
    latest: Cell<Option<&'static Edge>>,
    before: Cell<Option<&'static Edge>>,
    exclusion: Cell<Option<&'static Exclusion>>,
    link: AtomicPtr<Entry>,
    home: &'static Pool<Entry>,
}

// SAFETY: one task at a time, handed over with the task.
unsafe impl Sync for ChildOrder {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

const FIRST_BUCKETS: usize = 16;

impl Slot for ChildOrder {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    fn home(&self) -> &'static Pool<Self> {
        self.home
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::place(Self {
            buckets: Cell::new(ptr::null_mut()),
            mask: Cell::new(0),
            entries: Cell::new(0),
            everything: Cell::new(None),
            link: AtomicPtr::new(ptr::null_mut()),
            home,
        })
    }
}

impl Slot for Entry {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    fn home(&self) -> &'static Pool<Self> {
        self.home
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::place(Self {
            address: Cell::new(0),
            kind: Cell::new(Kind::Write),
            latest: Cell::new(None),
            before: Cell::new(None),
            exclusion: Cell::new(None),
            link: AtomicPtr::new(ptr::null_mut()),
            home,
        })
    }
}

impl Entry {
    fn next(&self) -> Option<&'static Entry> {
        // SAFETY: links hold `'static` entries or null.
        unsafe { self.link.load(Ordering::Relaxed).as_ref() }
    }

    fn set_next(&self, next: Option<&'static Entry>) {
        let next = next.map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
        self.link.store(next, Ordering::Relaxed);
    }

    /// True if an access of `kind` belongs to the latest generation.
    fn joins(&self, kind: Kind) -> bool {
        kind != Kind::Write && kind == self.kind.get() && self.latest.get().is_some()
    }

    fn predecessors(&self, kind: Kind) -> Option<&'static Edge> {
        if self.joins(kind) {
            self.before.get()
        } else {
            self.latest.get()
        }
    }

    fn record(&self, worker: &'static Worker, task: &'static Dependences, kind: Kind) {
        if !self.joins(kind) {
            drop_all(worker, self.before.replace(self.latest.take()));
            self.kind.set(kind);
        }
        let edge = Edge::make(worker);
        edge.target.set(Some(task));
        edge.set_following(self.latest.get());
        task.share();
        self.latest.set(Some(edge));
    }

    /// True if all tasks it names have completed.
    fn is_stale(&self) -> bool {
        let mut edges = chain(self.latest.get()).chain(chain(self.before.get()));
        edges.all(|edge| edge.target.get().is_none_or(Dependences::is_closed))
    }

    fn recycle(&'static self, worker: &'static Worker) {
        drop_all(worker, self.latest.take());
        drop_all(worker, self.before.take());
        if let Some(exclusion) = self.exclusion.take() {
            exclusion.drop_share(worker);
        }
        worker.entries().put(self);
    }
}

fn chain(first: Option<&'static Edge>) -> impl Iterator<Item = &'static Edge> {
    core::iter::successors(first, |edge| edge.following())
}

fn drop_all(worker: &'static Worker, mut first: Option<&'static Edge>) {
    while let Some(edge) = first {
        first = edge.following();
        if let Some(task) = edge.target.get() {
            task.drop_share(worker);
        }
        worker.edges().put(edge);
    }
}

fn wait_for_all(
    worker: &'static Worker,
    task: &'static Dependences,
    predecessors: Option<&'static Edge>,
) {
    for predecessor in chain(predecessors).filter_map(|edge| edge.target.get()) {
        task.wait_for(worker, predecessor);
    }
}

/// Tables up to this size stay for the next parent: it asks for no memory, and empties them quickly.
const KEPT_BUCKETS: usize = 256;

impl ChildOrder {
    /// The order of `parent`'s children.
    pub(crate) fn of(worker: &'static Worker, parent: &'static Task) -> &'static Self {
        if let Some(order) = parent.child_order.get() {
            return order;
        }
        let Some(order) = worker.orders().get() else {
            report::fatal(format_args!(
                "no memory for the dependences of a task's children"
            ))
        };
        parent.child_order.set(Some(order));
        parent.set(Flags::ORDERS_CHILDREN);
        order
    }

    fn bucket(&self, address: usize) -> &Cell<Option<&'static Entry>> {
        let spread = address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let bucket = self.buckets.get().wrapping_add(spread & self.mask.get());
        // SAFETY: the mask keeps the index inside the table, which lives until `clear`.
        unsafe { &*bucket }
    }

    fn find(&self, address: usize) -> Option<&'static Entry> {
        if self.buckets.get().is_null() {
            return None;
        }
        let first = self.bucket(address).get();
        core::iter::successors(first, |entry| entry.next()).find(|e| e.address.get() == address)
    }

    fn entry(&self, worker: &'static Worker, address: usize) -> &'static Entry {
        if let Some(entry) = self.find(address) {
            return entry;
        }
        if self.buckets.get().is_null() || self.entries.get() > self.mask.get() {
            self.rebuild(worker);
        }
        let Some(entry) = worker.entries().get() else {
            report::fatal(format_args!("no memory for a dependence"))
        };
        entry.address.set(address);
        if let Some(task) = self.everything.get() {
            entry.record(worker, task, Kind::Write);
        }
        self.insert(entry);
        entry
    }

    fn insert(&self, entry: &'static Entry) {
        let bucket = self.bucket(entry.address.get());
        entry.set_next(bucket.get());
        bucket.set(Some(entry));
        self.entries.set(self.entries.get() + 1);
    }

    /// Forgets addresses whose tasks have all completed; doubles the table if that is not enough.
    fn rebuild(&self, worker: &'static Worker) {
        let mut kept = None;
        let mut count = 0;
        self.drain(|entry| {
            if entry.is_stale() {
                entry.recycle(worker);
            } else {
                entry.set_next(kept);
                kept = Some(entry);
                count += 1;
            }
        });
        let old = self.buckets.get();
        let size = if old.is_null() {
            FIRST_BUCKETS
        } else {
            self.mask.get() + 1
        };
        let new_size = if count * 2 > size { size * 2 } else { size };
        if old.is_null() || new_size != size {
            free_table(old);
            self.buckets.set(new_table(new_size));
            self.mask.set(new_size - 1);
        }
        while let Some(entry) = kept {
            kept = entry.next();
            self.insert(entry);
        }
    }

    /// Empties the table.
    fn drain(&self, mut each: impl FnMut(&'static Entry)) {
        self.entries.set(0);
        if self.buckets.get().is_null() {
            return;
        }
        for index in 0..=self.mask.get() {
            // SAFETY: inside the table.
            let bucket = unsafe { &*self.buckets.get().wrapping_add(index) };
            let mut next = bucket.take();
            while let Some(entry) = next {
                next = entry.next();
                each(entry);
            }
        }
    }

    /// Makes `task` wait for what conflicts with `access`, and later tasks for it.
    pub(crate) fn add(&self, worker: &'static Worker, task: &'static Dependences, access: Access) {
        if access.address == 0 && access.kind == Kind::Write {
            return self.add_everything(worker, task);
        }
        let entry = self.entry(worker, access.address);
        wait_for_all(worker, task, entry.predecessors(access.kind));
        entry.record(worker, task, access.kind);
        if access.kind == Kind::Exclusive {
            let exclusion = entry
                .exclusion
                .get()
                .unwrap_or_else(|| Exclusion::make(worker));
            entry.exclusion.set(Some(exclusion));
            exclusion::hold(worker, task, exclusion);
        }
    }

    fn add_everything(&self, worker: &'static Worker, task: &'static Dependences) {
        self.for_each(|entry| {
            wait_for_all(worker, task, entry.latest.get());
            entry.record(worker, task, Kind::Write);
        });
        if let Some(earlier) = self.everything.replace(Some(task)) {
            task.wait_for(worker, earlier);
            earlier.drop_share(worker);
        }
        task.share();
    }

    fn for_each(&self, mut each: impl FnMut(&'static Entry)) {
        if self.buckets.get().is_null() {
            return;
        }
        for index in 0..=self.mask.get() {
            // SAFETY: inside the table.
            let bucket = unsafe { &*self.buckets.get().wrapping_add(index) };
            core::iter::successors(bucket.get(), |entry| entry.next()).for_each(&mut each);
        }
    }

    /// Makes `task` wait for what conflicts with `access`; no task will wait for it.
    pub(crate) fn look_up(
        &self,
        worker: &'static Worker,
        task: &'static Dependences,
        access: Access,
    ) {
        if access.address == 0 && access.kind == Kind::Write {
            return self.for_each(|entry| wait_for_all(worker, task, entry.latest.get()));
        }
        match self.find(access.address) {
            Some(entry) => wait_for_all(worker, task, entry.predecessors(access.kind)),
            None => self
                .everything
                .get()
                .into_iter()
                .for_each(|all| task.wait_for(worker, all)),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&'static self, worker: &'static Worker) {
        self.drain(|entry| entry.recycle(worker));
        if self.mask.get() >= KEPT_BUCKETS {
            free_table(self.buckets.replace(ptr::null_mut()));
            self.mask.set(0);
        }
        if let Some(task) = self.everything.take() {
            task.drop_share(worker);
        }
        worker.orders().put(self);
    }
}

fn new_table(buckets: usize) -> *mut Cell<Option<&'static Entry>> {
    let bytes = buckets * size_of::<Cell<Option<&'static Entry>>>();
    // All zero is `None`.
    let Some(table) = memory::allocate_zeroed(bytes, 64) else {
        report::fatal(format_args!(
            "no memory for the dependences of a task's children"
        ))
    };
    table.as_ptr().cast()
}

fn free_table(table: *mut Cell<Option<&'static Entry>>) {
    if let Some(table) = NonNull::new(table) {
        // SAFETY: from `new_table`, emptied.
        unsafe { System::release(table.cast()) };
    }
}
