//! Task reductions: private copies per thread, found by the address of the original or of any copy.
//!
//! The compiler describes a set of reductions in an array of words:
//! `[0]` number of variables, `[1]` bytes per thread, `[2]` alignment, then (set here) address of
//! the copies, `[3]` all ones, `[4]` next set of the same taskgroup, `[5]` unused, `[6]` end of the
//! copies, and from `[7]` three words for each variable: address of the original, offset of its
//! copy in a thread's part, unused. Copies start out as zero bytes; a byte in each, the compiler's
//! own, says whether it was initialised.
#![expect(unsafe_code, reason = "reads and completes the compiler's arrays")]

use crate::backend::{Backend, System};
use crate::memory;
use crate::report;
use crate::task::{Flags, Task};
use crate::worker::Worker;
use crate::workshare::WorkShare;
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering};

const BYTES: usize = 1;
const COPIES: usize = 2;
const NEXT: usize = 4;
const END: usize = 6;
const FIRST: usize = 7;
const STRIDE: usize = 3;

/// A set of reductions as the compiler describes it.
#[derive(Clone, Copy)]
struct Set(*mut usize);

impl Set {
    fn word(self, index: usize) -> usize {
        // SAFETY: a live descriptor; indices follow its own layout.
        unsafe { self.0.wrapping_add(index).read() }
    }

    fn put(self, index: usize, value: usize) {
        // SAFETY: as in `word`.
        unsafe { self.0.wrapping_add(index).write(value) };
    }

    fn next(self) -> Option<Self> {
        let next = self.word(NEXT) as *mut usize;
        (!next.is_null()).then_some(Self(next))
    }

    fn variables(self) -> impl Iterator<Item = (usize, usize)> {
        let base = |i: usize| FIRST + STRIDE * i;
        (0..self.word(0)).map(move |i| (self.word(base(i)), self.word(base(i) + 1)))
    }

    /// Offset of the copy of the variable that `address` is, or is a copy of.
    fn offset_of(self, address: usize) -> Option<usize> {
        let found = self.variables().find(|(original, _)| *original == address);
        found.map(|(_, offset)| offset).or_else(|| {
            let inside = (self.word(COPIES)..self.word(END)).contains(&address);
            inside.then(|| (address - self.word(COPIES)) % self.word(BYTES))
        })
    }

    fn original_at(self, offset: usize) -> usize {
        self.variables()
            .find(|(_, o)| *o == offset)
            .map_or(0, |(original, _)| original)
    }
}

fn zeroed(bytes: usize, align: usize) -> *mut u8 {
    match memory::allocate_zeroed(bytes, align.max(64)) {
        Some(block) => block.as_ptr(),
        None => report::fatal(format_args!(
            "no memory for {bytes} bytes of private copies"
        )),
    }
}

/// Makes copies for `threads` threads.
pub fn allocate(descriptor: *mut usize, threads: u32) {
    let set = Set(descriptor);
    let bytes = set.word(BYTES) * threads as usize;
    let copies = zeroed(bytes, set.word(COPIES)) as usize;
    set.put(COPIES, copies);
    set.put(END, copies + bytes);
}

/// Frees the copies of a set.
pub fn free(descriptor: *mut usize) {
    if let Some(copies) = NonNull::new(Set(descriptor).word(COPIES) as *mut u8) {
        // SAFETY: from `allocate`; the compiler has combined them.
        unsafe { System::release(copies) };
    }
}

/// Adds one or several chained sets to the current task's taskgroup.
pub fn register(descriptor: *mut usize) {
    let worker = Worker::current_here();
    let Some(group) = worker.current().group() else {
        return;
    };
    let mut set = Set(descriptor);
    allocate(descriptor, worker.team().size());
    while let Some(next) = set.next() {
        set = next;
        allocate(set.0, worker.team().size());
    }
    set.put(NEXT, group.reductions.get() as usize);
    group.reductions.set(descriptor);
}

/// Bytes before the copies of a worksharing construct, which hold the number of their users: the construct and each thread that
/// is in it. A thread may enter another construct, and so leave this one's descriptor, before it combines these copies.
const USERS: usize = 64;

fn users(copies: *mut usize) -> &'static AtomicUsize {
    // SAFETY: `begin_loop` made the word; the caller is one of the users counted in it.
    unsafe { AtomicUsize::from_ptr(copies.cast::<u8>().wrapping_sub(USERS).cast()) }
}

/// One user of the copies of a worksharing construct less; the last one frees them.
fn drop_user(copies: *mut usize) {
    if users(copies).fetch_sub(1, Ordering::AcqRel) == 1
        && let Some(block) = NonNull::new(copies.cast::<u8>().wrapping_sub(USERS))
    {
        // SAFETY: from `zeroed` in `begin_loop`, with this offset; no user is left.
        unsafe { System::release(block) };
    }
}

/// First thread into a worksharing construct with reductions: makes the copies.
pub(crate) fn begin_loop(worker: &'static Worker, share: &WorkShare, descriptor: *mut usize) {
    let set = Set(descriptor);
    let bytes = set.word(BYTES) * worker.team().size() as usize;
    if set.word(COPIES) > USERS {
        report::fatal(format_args!(
            "a task reduction wants an alignment of {} bytes; {USERS} is the most",
            set.word(COPIES)
        ));
    }
    let copies = zeroed(USERS + bytes, USERS).wrapping_add(USERS).cast();
    users(copies).store(1, Ordering::Relaxed);
    share.reductions.set(copies);
}

/// Every thread into that construct: shares the copies, and opens the taskgroup that knows them.
pub(crate) fn join_loop(worker: &'static Worker, share: &WorkShare, descriptor: *mut usize) {
    let set = Set(descriptor);
    users(share.reductions.get()).fetch_add(1, Ordering::Relaxed);
    let copies = share.reductions.get() as usize;
    set.put(COPIES, copies);
    set.put(
        END,
        copies + set.word(BYTES) * worker.team().size() as usize,
    );
    crate::taskgroup::start();
    if let Some(group) = worker.current().group() {
        group.reductions.set(descriptor);
        group.is_implicit.set(true);
    }
}

/// The copies of the taskgroup around a worksharing construct, of which the calling thread is a user.
pub(crate) fn copies_of_loop(worker: &'static Worker) -> *mut usize {
    let group = worker.current().group();
    let set = group.map_or(ptr::null_mut(), |group| group.reductions.get());
    if set.is_null() {
        ptr::null_mut()
    } else {
        Set(set).word(COPIES) as *mut usize
    }
}

/// The calling thread does not use the copies any more.
pub(crate) fn leave_loop(copies: *mut usize) {
    if !copies.is_null() {
        drop_user(copies);
    }
}

/// First thread into a construct with threads that share memory of `*memory` bytes.
///
/// # Safety
/// `memory` points to a word that holds the size.
pub(crate) unsafe fn allocate_shared(share: &WorkShare, memory: *mut *mut c_void) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { memory.read() } as usize;
    share.memory.set(zeroed(bytes.max(1), 64));
}

/// Every thread: learns where that memory is.
///
/// # Safety
/// `memory` points to a word.
pub(crate) unsafe fn shared_memory(share: &WorkShare, memory: *mut *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { memory.write(share.memory.get().cast()) };
}

/// The last thread has left the construct.
pub(crate) fn release(share: &WorkShare) {
    leave_loop(share.reductions.replace(ptr::null_mut()));
    if let Some(block) = NonNull::new(share.memory.replace(ptr::null_mut())) {
        // SAFETY: from `zeroed`; no thread is in the construct any more.
        unsafe { System::release(block) };
    }
}

/// The sets that `task` can name, innermost first.
fn visible(worker: &'static Worker, task: &'static Task) -> impl Iterator<Item = Set> {
    let groups = core::iter::successors(task.group(), |group| group.enclosing());
    let registered = groups.map(|group| group.reductions.get());
    registered
        .chain([worker.team().reductions.get()])
        .filter(|set| !set.is_null())
        .flat_map(|set| core::iter::successors(Some(Set(set)), |set| set.next()))
}

/// Replaces each of `count` addresses by that of the calling thread's copy, and stores the
/// originals of the first `originals` behind them. The task then stays with its thread: its copy
/// is the thread's.
pub fn remap(count: usize, originals: usize, addresses: *mut usize) {
    let worker = Worker::current_here();
    let task = worker.current();
    pin(task, worker);
    let words = Set(addresses);
    for index in 0..count {
        let address = words.word(index);
        let found = visible(worker, task).find_map(|set| Some((set, set.offset_of(address)?)));
        let Some((set, offset)) = found else {
            report::fatal(format_args!(
                "in_reduction names a variable that no enclosing construct reduces"
            ))
        };
        let part = set.word(BYTES) * worker.index() as usize;
        words.put(index, set.word(COPIES) + part + offset);
        if index < originals {
            words.put(count + index, set.original_at(offset));
        }
    }
}

/// Makes a task that knows its thread's number stay with the thread.
pub fn pin(task: &Task, worker: &'static Worker) {
    if !task.has(Flags::IMPLICIT | Flags::PINNED) {
        task.set(Flags::PINNED);
        worker.fiber().pin(worker);
    }
}
