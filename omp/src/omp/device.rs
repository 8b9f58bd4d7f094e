//! Devices: there is the host, and nothing else.

use super::query;
use crate::backend::{Backend, System};
use crate::worker::Worker;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};

query! {
    /// Device of `target` constructs without one.
    omp_get_default_device, omp_get_default_device_ -> c_int {
        Worker::current_here().current().icv().device.get()
    }
    /// Number of devices besides the host.
    omp_get_num_devices, omp_get_num_devices_ -> c_int { 0 }
    /// Number of the host.
    omp_get_initial_device, omp_get_initial_device_ -> c_int { 0 }
    /// Number of the device that the caller runs on.
    omp_get_device_num, omp_get_device_num_ -> c_int { 0 }
    /// True if the caller runs on the host.
    omp_is_initial_device, omp_is_initial_device_ -> c_int { 1 }
}

/// Memory of a device; null for devices that do not exist.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_alloc(size: usize, device: c_int) -> *mut c_void {
    if device != omp_get_initial_device() {
        return ptr::null_mut();
    }
    System::allocate(size, 16).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

/// Gives device memory back.
///
/// # Safety
/// Null or from `omp_target_alloc`, not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_free(block: *mut c_void, _device: c_int) {
    if let Some(block) = NonNull::new(block.cast()) {
        // SAFETY: the caller's promise.
        unsafe { System::release(block) };
    }
}

/// True if the address is mapped: on the host all are.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_is_present(address: *const c_void, device: c_int) -> c_int {
    c_int::from(!address.is_null() && device == omp_get_initial_device())
}

/// Copies between devices: 0, or 22 for devices that do not exist.
///
/// # Safety
/// Both ranges are valid and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    if to_device != 0 || from_device != 0 {
        return 22;
    }
    let to = to.cast::<u8>().wrapping_add(to_offset);
    let from = from.cast::<u8>().wrapping_add(from_offset);
    // SAFETY: the caller's promise.
    unsafe { ptr::copy(from, to, length) };
    0
}

/// A box inside an array: per dimension its extent and offset, and the array's extent.
struct Boxes<'a> {
    volume: &'a [usize],
    to_offsets: &'a [usize],
    from_offsets: &'a [usize],
    to_dimensions: &'a [usize],
    from_dimensions: &'a [usize],
}

impl Boxes<'_> {
    /// # Safety
    /// The boxes lie inside the arrays at `to` and `from`.
    unsafe fn copy(&self, level: usize, size: usize, to: *mut u8, from: *const u8) {
        let Some(&count) = self.volume.get(level) else {
            // SAFETY: the caller's promise.
            unsafe { ptr::copy_nonoverlapping(from, to, size) };
            return;
        };
        let at = |list: &[usize]| list.get(level).copied().unwrap_or(0);
        let inner = |list: &[usize]| list.iter().skip(level + 1).product::<usize>() * size;
        let (to_stride, from_stride) = (inner(self.to_dimensions), inner(self.from_dimensions));
        for index in 0..count {
            let to = to.wrapping_add((at(self.to_offsets) + index) * to_stride);
            let from = from.wrapping_add((at(self.from_offsets) + index) * from_stride);
            // SAFETY: the caller's promise.
            unsafe { self.copy(level + 1, size, to, from) };
        }
    }
}

/// Copies a box between arrays: 0, or 22 for devices that do not exist.
///
/// # Safety
/// The lists have `dimensions` elements and describe boxes inside the arrays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy_rect(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_dimensions: *const usize,
    from_dimensions: *const usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    if to.is_null() && from.is_null() {
        return c_int::MAX;
    }
    if to_device != 0 || from_device != 0 || dimensions < 1 {
        return 22;
    }
    let count = dimensions as usize;
    // SAFETY: the caller's promise.
    let list = |first: *const usize| unsafe { core::slice::from_raw_parts(first, count) };
    let boxes = Boxes {
        volume: list(volume),
        to_offsets: list(to_offsets),
        from_offsets: list(from_offsets),
        to_dimensions: list(to_dimensions),
        from_dimensions: list(from_dimensions),
    };
    // SAFETY: the caller's promise.
    unsafe { boxes.copy(0, size, to.cast(), from.cast()) };
    0
}

/// Host memory needs no association: fails as the specification says.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_associate_ptr(
    _host: *const c_void,
    _device_address: *const c_void,
    _size: usize,
    _offset: usize,
    _device: c_int,
) -> c_int {
    22
}

/// As [`omp_target_associate_ptr`].
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_disassociate_ptr(_host: *const c_void, _device: c_int) -> c_int {
    22
}

/// The device address of a host address: on the host the same.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_mapped_ptr(address: *const c_void, device: c_int) -> *mut c_void {
    if device == omp_get_initial_device() {
        address.cast_mut()
    } else {
        ptr::null_mut()
    }
}

/// True if a device can use host memory: the host can.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_is_accessible(
    address: *const c_void,
    _size: usize,
    device: c_int,
) -> c_int {
    omp_target_is_present(address, device)
}

/// Waits for the tasks that the objects in a list of dependences name: for all of the calling task's children.
fn wait_for_objects(count: c_int) {
    if count > 0 {
        let worker = Worker::current_here();
        worker.current().wait_for_children(worker);
    }
}

/// As [`omp_target_memcpy`], in the order of dependence objects; ends before it returns.
///
/// # Safety
/// As [`omp_target_memcpy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
    objects: c_int,
    _list: *const c_void,
) -> c_int {
    wait_for_objects(objects);
    // SAFETY: the caller's promise.
    unsafe {
        omp_target_memcpy(
            to,
            from,
            length,
            to_offset,
            from_offset,
            to_device,
            from_device,
        )
    }
}

/// As [`omp_target_memcpy_rect`], in the order of dependence objects; ends before it returns.
///
/// # Safety
/// As [`omp_target_memcpy_rect`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy_rect_async(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_dimensions: *const usize,
    from_dimensions: *const usize,
    to_device: c_int,
    from_device: c_int,
    objects: c_int,
    _list: *const c_void,
) -> c_int {
    wait_for_objects(objects);
    // SAFETY: the caller's promise.
    unsafe {
        omp_target_memcpy_rect(
            to,
            from,
            size,
            dimensions,
            volume,
            to_offsets,
            from_offsets,
            to_dimensions,
            from_dimensions,
            to_device,
            from_device,
        )
    }
}
