//! `target` without devices: everything runs on the host, at once, in an initial task of its own.

use crate::backend::{Backend, System};
use crate::depend;
use crate::depend_list;
use crate::region;
use crate::task::Body;
use core::ffi::{c_int, c_uint, c_void};
use core::ptr::{self, NonNull};

const FIRSTPRIVATE: u16 = 12;

fn wait(dependences: *const *mut c_void) {
    if !dependences.is_null() {
        // SAFETY: the compiler's dependence array.
        depend::wait(unsafe { depend_list::decode(dependences) });
    }
}

/// Private copies of the `firstprivate` variables among the mapped ones.
struct Copies {
    block: Option<NonNull<u8>>,
}

impl Copies {
    /// # Safety
    /// The three arrays have `count` elements, as the compiler builds them.
    unsafe fn make(
        count: usize,
        addresses: *mut *mut c_void,
        sizes: *const usize,
        kinds: *const u16,
    ) -> Self {
        let each = |index: usize| {
            // SAFETY: inside the arrays.
            let kind = unsafe { kinds.wrapping_add(index).read() };
            // SAFETY: inside the arrays.
            let size = unsafe { sizes.wrapping_add(index).read() };
            // SAFETY: inside the arrays.
            let present = unsafe { !addresses.wrapping_add(index).read().is_null() };
            (present && kind & 0xff == FIRSTPRIVATE).then(|| (index, size, 1usize << (kind >> 8)))
        };
        let place = |end: usize, size: usize, align: usize| end.next_multiple_of(align) + size;
        let private = || (0..count).filter_map(each);
        let total = private().fold(0, |end, (_, size, align)| place(end, size, align));
        let align = private().map(|(_, _, align)| align).max().unwrap_or(1);
        let block = if total == 0 {
            None
        } else {
            System::allocate(total, align)
        };
        let Some(base) = block else {
            return Self { block };
        };
        let mut end = 0;
        for (index, size, align) in private() {
            end = place(end, size, align);
            let copy = base.as_ptr().wrapping_add(end - size);
            let slot = addresses.wrapping_add(index);
            // SAFETY: inside the array.
            let original = unsafe { slot.read() };
            // SAFETY: `size` bytes on both sides.
            unsafe { ptr::copy_nonoverlapping(original.cast::<u8>(), copy, size) };
            // SAFETY: inside the array.
            unsafe { slot.write(copy.cast()) };
        }
        Self { block }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        if let Some(block) = self.block {
            // SAFETY: allocated by `make`; the region has ended.
            unsafe { System::release(block) };
        }
    }
}

/// A word of the list says for which devices it is, which clause it has, and the value or that the value follows.
const DEVICES: usize = 0x7f;
const VALUE_FOLLOWS: usize = 0x80;
const CLAUSE: usize = 0xff00;
const THREAD_LIMIT: usize = 0x200;
const VALUE_SHIFT: u32 = 16;

/// The value of `thread_limit` for all devices.
///
/// # Safety
/// `arguments` is null or the compiler's list, which ends with a null word.
unsafe fn thread_limit(mut arguments: *const usize) -> Option<u32> {
    let mut limit = None;
    // SAFETY: inside the list.
    while let Some(word) = unsafe { arguments.as_ref() }
        .copied()
        .filter(|word| *word != 0)
    {
        let value = if word & VALUE_FOLLOWS != 0 {
            arguments = arguments.wrapping_add(1);
            // SAFETY: the word says that there is another one.
            unsafe { arguments.read() }
        } else {
            word >> VALUE_SHIFT
        };
        if word & DEVICES == 0 && word & CLAUSE == THREAD_LIMIT && value != 0 {
            limit = Some(u32::try_from(value).unwrap_or(u32::MAX));
        }
        arguments = arguments.wrapping_add(1);
    }
    limit
}

/// `#pragma omp target`.
///
/// # Safety
/// The arrays have `count` elements, as the compiler builds them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target_ext(
    _device: c_int,
    body: Body,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    _flags: c_uint,
    dependences: *const *mut c_void,
    arguments: *const usize,
) {
    wait(dependences);
    // SAFETY: the caller's promise.
    let copies = unsafe { Copies::make(count, addresses, sizes, kinds) };
    // SAFETY: the caller's promise.
    let limit = unsafe { thread_limit(arguments) };
    region::run_initial(body, addresses.cast(), limit);
    drop(copies);
}

/// `#pragma omp target`, as GCC 4 called it.
///
/// # Safety
/// As the compiler calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target(
    _device: c_int,
    body: Body,
    _unused: *const c_void,
    _count: usize,
    addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
    region::run_initial(body, addresses.cast(), None);
}

/// `#pragma omp target data`: host memory is device memory.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_data_ext(
    _device: c_int,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
) {
}

/// `#pragma omp target data`, as GCC 4 called it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_data(
    _device: c_int,
    _unused: *const c_void,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
}

/// Ends `target data`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_end_data() {}

/// `#pragma omp target update`: in step with preceding tasks, nothing to copy.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_update_ext(
    _device: c_int,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
    _flags: c_uint,
    dependences: *const *mut c_void,
) {
    wait(dependences);
}

/// `#pragma omp target update`, as GCC 4 called it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_update(
    _device: c_int,
    _unused: *const c_void,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
}

/// `#pragma omp target enter data`, `target exit data`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_enter_exit_data(
    _device: c_int,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
    _flags: c_uint,
    dependences: *const *mut c_void,
) {
    wait(dependences);
}

/// A program brings code for a device: there is none, the host's code runs.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register_ver(
    _version: c_uint,
    _host: *const c_void,
    _kind: c_int,
    _data: *const c_void,
) {
}

/// The program's device code goes.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_unregister_ver(
    _version: c_uint,
    _host: *const c_void,
    _kind: c_int,
    _data: *const c_void,
) {
}

/// As [`GOMP_offload_register_ver`], as GCC 5 called it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register(_host: *const c_void, _kind: c_int, _data: *const c_void) {}

/// As [`GOMP_offload_unregister_ver`], as GCC 5 called it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_unregister(
    _host: *const c_void,
    _kind: c_int,
    _data: *const c_void,
) {
}

/// Host function behind a function pointer of the device: the pointer itself.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_map_indirect_ptr(pointer: *mut c_void) -> *mut c_void {
    pointer
}

/// `#pragma omp interop`: objects become, and are, `omp_interop_none`.
///
/// # Safety
/// The lists have as many elements as said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_interop(
    _device: c_int,
    created: c_int,
    create: *const *mut *mut c_void,
    _kinds: *const c_void,
    _preferences: *const c_void,
    _used: c_int,
    _use: *const *mut *mut c_void,
    destroyed: c_int,
    destroy: *const *mut *mut c_void,
    _flags: c_uint,
    dependences: *const *mut c_void,
) {
    wait(dependences);
    for (count, list) in [(created, create), (destroyed, destroy)] {
        for index in 0..count.max(0) as usize {
            // SAFETY: the caller's promise.
            let object = unsafe { list.wrapping_add(index).read() };
            // SAFETY: the compiler's address of the program's variable.
            unsafe { object.write(ptr::null_mut()) };
        }
    }
}
