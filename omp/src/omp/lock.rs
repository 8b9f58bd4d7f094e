//! `omp_lock_t`: four bytes. `omp_nest_lock_t`: the lock, a count, and the owning task.

use crate::backend::{Backend, System};
use crate::lock;
use crate::task::Task;
use crate::worker::Worker;
use core::ffi::c_int;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

/// The program's `omp_nest_lock_t`. Owned by a task, not by a thread.
#[repr(C)]
#[derive(Debug)]
pub struct NestLock {
    word: AtomicU32,
    depth: AtomicI32,
    owner: AtomicPtr<Task>,
}

impl NestLock {
    const fn new() -> Self {
        let (word, depth) = (AtomicU32::new(0), AtomicI32::new(0));
        Self {
            word,
            depth,
            owner: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn is_mine(&self, me: *mut Task) -> bool {
        self.owner.load(Ordering::Relaxed) == me
    }

    fn enter(&self, me: *mut Task) -> c_int {
        self.owner.store(me, Ordering::Relaxed);
        self.depth.store(1, Ordering::Relaxed);
        1
    }

    /// Owner only.
    fn deepen(&self) -> c_int {
        let depth = self.depth.load(Ordering::Relaxed) + 1;
        self.depth.store(depth, Ordering::Relaxed);
        depth
    }
}

fn me() -> *mut Task {
    ptr::from_ref(Worker::current_here().current()).cast_mut()
}

/// Exports a function of simple locks under its C and Fortran names, or one of nestable locks
/// under its C name and, with a lock that is only the address of one, its Fortran name.
macro_rules! lock_function {
    ($($(#[$doc:meta])* $name:ident, $fortran:ident ($lock:ident: $type:ty) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The argument points to a lock of that type; initialised, except for the init functions.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($lock: *const $type) $(-> $result)? {
            // SAFETY: the caller's promise.
            let lock = unsafe { $lock.as_ref() };
            let Some($lock) = lock else { return Default::default() };
            $body
        }

        /// For Fortran.
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran($lock: *const $type) $(-> $result)? {
            // SAFETY: the caller's promise.
            unsafe { $name($lock) }
        }
    )*};
}

lock_function! {
    /// Makes the lock usable.
    omp_init_lock, omp_init_lock_ (lock: AtomicU32) { lock.store(0, Ordering::Relaxed) }
    /// Ends its use.
    omp_destroy_lock, omp_destroy_lock_ (lock: AtomicU32) { lock.store(0, Ordering::Relaxed) }
    /// Waits for the lock.
    omp_set_lock, omp_set_lock_ (lock: AtomicU32) { lock::acquire(lock) }
    /// Gives the lock back.
    omp_unset_lock, omp_unset_lock_ (lock: AtomicU32) { lock::release(lock) }
    /// Takes the lock if it is free: whether it was.
    omp_test_lock, omp_test_lock_ (lock: AtomicU32) -> c_int { c_int::from(lock::try_acquire(lock)) }
}

/// Exports a function of nestable locks under its C name, and under its Fortran name for a
/// variable of eight bytes, which holds the address of the lock.
macro_rules! nest_lock_function {
    ($($(#[$doc:meta])* $name:ident, $fortran:ident ($lock:ident) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The argument points to an initialised lock.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($lock: *const NestLock) $(-> $result)? {
            // SAFETY: the caller's promise.
            let lock = unsafe { $lock.as_ref() };
            let Some($lock) = lock else { return Default::default() };
            $body
        }

        /// For Fortran.
        ///
        /// # Safety
        /// The argument points to an initialised lock variable.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran($lock: *const *const NestLock) $(-> $result)? {
            // SAFETY: the caller's promise; old programs align the variable to four bytes only.
            let boxed = unsafe { $lock.read_unaligned() };
            // SAFETY: the address that `omp_init_nest_lock_` stored.
            unsafe { $name(boxed) }
        }
    )*};
}

nest_lock_function! {
    /// Waits for the lock unless the task has it.
    omp_set_nest_lock, omp_set_nest_lock_ (lock) {
        let me = me();
        if lock.is_mine(me) {
            lock.deepen();
        } else {
            lock::acquire(&lock.word);
            lock.enter(me);
        }
    }
    /// Gives the lock back when it has been given back as often as taken.
    omp_unset_nest_lock, omp_unset_nest_lock_ (lock) {
        let depth = lock.depth.load(Ordering::Relaxed);
        lock.depth.store(depth - 1, Ordering::Relaxed);
        if depth == 1 {
            lock.owner.store(ptr::null_mut(), Ordering::Relaxed);
            lock::release(&lock.word);
        }
    }
    /// Takes the lock if it is free or the task's own: how often the task has it.
    omp_test_nest_lock, omp_test_nest_lock_ (lock) -> c_int {
        let me = me();
        if lock.is_mine(me) {
            lock.deepen()
        } else if lock::try_acquire(&lock.word) {
            lock.enter(me)
        } else {
            0
        }
    }
}

/// Makes the lock usable.
///
/// # Safety
/// Points to a lock variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_nest_lock(lock: *mut NestLock) {
    // SAFETY: the caller's promise.
    unsafe { lock.write(NestLock::new()) };
}

/// Ends its use.
///
/// # Safety
/// Points to a lock variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_nest_lock(_lock: *mut NestLock) {}

/// For Fortran: makes a lock and stores its address.
///
/// # Safety
/// Points to a lock variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_nest_lock_(lock: *mut *const NestLock) {
    let Some(boxed) = System::allocate(size_of::<NestLock>(), align_of::<NestLock>()) else {
        crate::report::fatal(format_args!("no memory for a nestable lock"))
    };
    let boxed = boxed.cast::<NestLock>();
    // SAFETY: fresh memory of the right size.
    unsafe { boxed.write(NestLock::new()) };
    // SAFETY: the caller's promise.
    unsafe { lock.write_unaligned(boxed.as_ptr()) };
}

/// For Fortran: frees the lock.
///
/// # Safety
/// Points to an initialised lock variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_nest_lock_(lock: *mut *const NestLock) {
    // SAFETY: the caller's promise.
    let boxed = unsafe { lock.read_unaligned() };
    if let Some(boxed) = NonNull::new(boxed.cast_mut().cast::<u8>()) {
        // SAFETY: from `omp_init_nest_lock_`, not used again.
        unsafe { System::release(boxed) };
    }
}

/// For Fortran; the hint is not used.
///
/// # Safety
/// As [`omp_init_lock_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_lock_with_hint_(lock: *const AtomicU32, _hint: *const c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_lock(lock) };
}

/// For Fortran; the hint is not used.
///
/// # Safety
/// As [`omp_init_nest_lock_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_nest_lock_with_hint_(
    lock: *mut *const NestLock,
    _hint: *const c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_nest_lock_(lock) };
}

/// As [`omp_init_lock`]; the hint is not used.
///
/// # Safety
/// As [`omp_init_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_lock_with_hint(lock: *const AtomicU32, _hint: c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_lock(lock) };
}

/// As [`omp_init_nest_lock`]; the hint is not used.
///
/// # Safety
/// As [`omp_init_nest_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_nest_lock_with_hint(lock: *mut NestLock, _hint: c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_nest_lock(lock) };
}
