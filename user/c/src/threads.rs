//! Life of threads: stacks, places that are used again, the end and its joiners
//!
//! A place is a thread of the kernel with an index. It is used again once its thread has ended and was joined, or was made
//! detached. The thread of the kernel is then replaced, because its registers have any values.
#![expect(unsafe_code, reason = "calls functions of C, and clears their stacks")]

use crate::resources::{MEANS, TASKS};
use crate::{NO_MEMORY, OK, REFUSED, THREAD_COUNT, THREADS, guard};
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::kernel::Status;
use bulkhead_component::First;
use bulkhead_component::first::Position;
use bulkhead_component::stack::Stack;
use bulkhead_sched::policy::Task;
use bulkhead_slite::{Events, Time, WaitError, bind};
use core::ffi::{c_char, c_void};
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

type Body = extern "C" fn(*mut c_void);

/// Values of each thread under keys.
pub(crate) const LOCAL_KEYS: usize = 8;
const STACK_PAGES: u64 = 2;
/// Least bytes of a stack: a switch and a call of this library.
const LEAST_STACK: u64 = 1024;

/// Function and argument of each thread, by index - 1. Written before the thread exists.
static BODIES: [[AtomicPtr<c_void>; 2]; THREAD_COUNT] =
    [const { [const { AtomicPtr::new(ptr::null_mut()) }; 2] }; THREAD_COUNT];
/// Values under keys, by index; those of the scheduler's own thread are of `slite_main`.
pub(crate) static LOCALS: [[AtomicPtr<c_void>; LOCAL_KEYS]; THREAD_COUNT + 1] =
    [const { [const { AtomicPtr::new(ptr::null_mut()) }; LOCAL_KEYS] }; THREAD_COUNT + 1];
/// Flags of each thread, by index.
pub(crate) static FLAGS: [Events; THREAD_COUNT + 1] = [const { Events::new() }; THREAD_COUNT + 1];

/// Stack of a thread that is to be made.
#[derive(Clone, Copy)]
pub(crate) enum StackRequest {
    /// So many bytes; 0: the usual ones.
    Bytes(u64),
    /// Memory of the program, in bytes.
    Given(*mut u8, u64),
}

/// A thread that is to be made.
pub(crate) struct Request {
    pub(crate) entry: extern "C" fn(u64) -> !,
    /// Function and argument.
    pub(crate) words: [*mut c_void; 2],
    pub(crate) task: Task,
    pub(crate) stack: StackRequest,
    pub(crate) is_joinable: bool,
    pub(crate) name: *const c_char,
}

/// A place.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The kernel's thread; `None`: never used.
    kernel: Option<Position>,
    /// Stack of this library; the thread may have one of the program.
    own_stack: Option<Stack>,
    pub(crate) stack: Option<Stack>,
    pub(crate) task: Task,
    pub(crate) name: *const c_char,
    pub(crate) is_joinable: bool,
    /// Threads that had the place before.
    pub(crate) generation: u32,
}

impl Place {
    const fn new() -> Self {
        Self {
            kernel: None,
            own_stack: None,
            stack: None,
            task: Task {
                priority: 0,
                deadline: 0,
                budget: 0,
                period: 0,
            },
            name: ptr::null(),
            is_joinable: false,
            generation: 0,
        }
    }
}

/// Places by index - 1.
pub(crate) struct Places([Place; THREAD_COUNT]);

// SAFETY: names of threads are the program's, which does not change them.
unsafe impl Send for Places {}

impl Places {
    pub(crate) const fn new() -> Self {
        Self([const { Place::new() }; THREAD_COUNT])
    }

    /// Place of a thread that was made.
    pub(crate) fn get(&mut self, index: u64) -> Option<&mut Place> {
        let place = self
            .0
            .get_mut(usize::try_from(index).ok()?.checked_sub(1)?)?;
        place.kernel.is_some().then_some(place)
    }

    /// Index of a place without a thread, if possible one with such a stack.
    fn choose(&self, bytes: u64) -> Option<u64> {
        let is_free = |&(index, place): &(u64, &Place)| {
            place.kernel.is_none() || !place.is_joinable && THREADS.condition(index).is_none()
        };
        let has_stack = |&(_, place): &(u64, &Place)| {
            let bytes_there = place.own_stack.map_or(0, |stack| stack.bytes());
            place.kernel.is_some() && bytes_there >= bytes
        };
        let free = || (1..).zip(&self.0).filter(is_free);
        let unused = free().find(|(_, place)| place.kernel.is_none());
        let best = free().find(has_stack).or(unused).or_else(|| free().next());
        best.map(|(index, _)| index)
    }

    /// Makes the thread, blocked. Returns its index.
    fn make(&mut self, first: &mut First, request: &Request) -> Result<u64, i32> {
        let pages = match request.stack {
            StackRequest::Bytes(0) => STACK_PAGES,
            StackRequest::Bytes(bytes) => bytes.max(LEAST_STACK).div_ceil(PAGE_SIZE),
            StackRequest::Given(_, bytes) if bytes < LEAST_STACK => return Err(REFUSED),
            StackRequest::Given(..) => 0,
        };
        let index = self.choose(pages * PAGE_SIZE).ok_or(NO_MEMORY)?;
        let place = &mut self.0[index as usize - 1];
        let stack = match request.stack {
            // SAFETY: the program gives it for the thread.
            StackRequest::Given(start, bytes) => unsafe { Stack::of(start, bytes) },
            StackRequest::Bytes(_) => own_stack(place, first, pages)?,
        };
        let no_memory = |_: Status| NO_MEMORY;
        let at = match place.kernel {
            None => first.thread_on(request.entry, &stack).map_err(no_memory)?,
            Some(at) => {
                THREADS.retire(index);
                First::renew_thread(at, request.entry, &stack).map_err(no_memory)?;
                at
            }
        };
        *place = Place {
            kernel: Some(at),
            own_stack: place.own_stack,
            stack: Some(stack),
            task: request.task,
            name: request.name,
            is_joinable: false,
            generation: place.generation.wrapping_add(1),
        };
        for (word, value) in BODIES[index as usize - 1].iter().zip(request.words) {
            word.store(value, Relaxed);
        }
        for local in &LOCALS[index as usize] {
            local.store(ptr::null_mut(), Relaxed);
        }
        FLAGS[index as usize].clear(&THREADS, u32::MAX);
        bind(at.slot, index).map_err(no_memory)?;
        let adopted = THREADS.adopt_blocked(index, at.slot, request.task);
        adopted.map_err(|_| REFUSED)?;
        place.is_joinable = request.is_joinable;
        Ok(index)
    }
}

/// The place's own stack, with so many pages at least, cleared.
fn own_stack(place: &mut Place, first: &mut First, pages: u64) -> Result<Stack, i32> {
    if let Some(stack) = place.own_stack
        && stack.bytes() >= pages * PAGE_SIZE
    {
        // SAFETY: the place has no thread.
        unsafe { stack.clear() };
        return Ok(stack);
    }
    first.stack(pages).map_err(|_| NO_MEMORY)?;
    let stack = first.last_stack();
    place.own_stack = Some(stack);
    Ok(stack)
}

/// Makes a thread, ready to run. Returns its index or an error.
pub(crate) fn create(request: &Request) -> Result<u64, i32> {
    let made = guard::with(&MEANS, |means| {
        let first = means.first.as_mut().ok_or(NO_MEMORY)?;
        means.places.make(first, request)
    });
    let index = made.unwrap_or(Err(REFUSED))?;
    match THREADS.current() {
        // Threads begin when `slite_main` has ended.
        0 => THREADS.release(index),
        _ => THREADS.wakeup(index),
    }
    Ok(index)
}

/// Looks at the place of a thread.
pub(crate) fn place<R>(index: u64, act: impl FnOnce(&mut Place) -> R) -> Option<R> {
    guard::with(&MEANS, |means| means.places.get(index).map(act)).flatten()
}

/// Runs the function that was stored for the thread.
pub(crate) extern "C" fn body(index: u64) -> ! {
    if let Some([function, argument]) = BODIES.get(index as usize - 1) {
        // SAFETY: `make` stored a function.
        let function: Body = unsafe { core::mem::transmute(function.load(Relaxed)) };
        function(argument.load(Relaxed));
    }
    end_current()
}

/// Ends the calling thread.
pub(crate) fn end_current() -> ! {
    let index = THREADS.current();
    bulkhead_libc::flush();
    guard::hold(|| TASKS.end(&THREADS, index));
    loop {
        THREADS.end(index);
    }
}

/// Ends a thread, the calling one, too. One that uses this library ends when the call is done.
pub(crate) fn end(index: u64) -> i32 {
    if index == THREADS.current() {
        end_current();
    }
    let is_there = guard::exclusive(|| {
        if THREADS.condition(index).is_none() {
            return false;
        }
        if !guard::end_later(index as usize) {
            TASKS.end(&THREADS, index);
            THREADS.end(index);
        }
        true
    });
    if is_there { OK } else { REFUSED }
}

/// Waits for the end of a joinable thread until `until`, and gives up its place.
pub(crate) fn join(index: u64, until: Time) -> Result<(), JoinError> {
    let is_joinable = place(index, |place| place.is_joinable);
    if index == THREADS.current() || is_joinable != Some(true) {
        return Err(JoinError::NotJoinable);
    }
    THREADS.join(index, until).map_err(JoinError::Waited)?;
    // Of several joiners the first one has joined it.
    let was_joinable = place(index, |place| core::mem::take(&mut place.is_joinable));
    match was_joinable {
        Some(true) => Ok(()),
        _ => Err(JoinError::NotJoinable),
    }
}

/// Why a thread was not joined.
pub(crate) enum JoinError {
    /// The thread is the caller, does not exist, or was created detached.
    NotJoinable,
    /// The wait ended.
    Waited(WaitError),
}
