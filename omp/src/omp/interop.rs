//! Interoperability objects and identities of devices: there are none besides the host, so every object is `omp_interop_none`.

use super::device::omp_get_initial_device;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

/// `omp_irc_empty`: the object is `omp_interop_none`.
const EMPTY: c_int = -1;
/// `omp_irc_out_of_range`.
const OUT_OF_RANGE: c_int = -2;
/// `omp_invalid_device`.
const INVALID_DEVICE: c_int = -4;
/// `omp_initial_device`.
const INITIAL_DEVICE: c_int = -1;
const HOST: &CStr = c"OMP_INITIAL_DEVICE";

/// Names of the properties -1, -2, ….
const NAMES: [&CStr; 9] = [
    c"fr_id",
    c"fr_name",
    c"vendor",
    c"vendor_name",
    c"device_num",
    c"platform",
    c"device",
    c"device_context",
    c"targetsync",
];

/// Meanings of the return codes 1, 0, -1, ….
const MEANINGS: [&CStr; 8] = [
    c"no meaningful value available",
    c"successful",
    c"provided interoperability object is equal to omp_interop_none",
    c"property ID is out of range",
    c"property type is integer",
    c"property type is pointer",
    c"property type is string",
    c"other error",
];

/// Stores the code that every question about `omp_interop_none` has, or that the property does not exist.
fn store_code(property: c_int, code: *mut c_int) {
    let exists = usize::try_from(-1 - property).is_ok_and(|index| index < NAMES.len());
    if !code.is_null() {
        // SAFETY: null or the program's variable.
        unsafe { code.write(if exists { EMPTY } else { OUT_OF_RANGE }) };
    }
}

/// Number of properties that the implementation adds.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_interop_properties(_object: *const c_void) -> c_int {
    0
}

/// An integer property: none.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_int(
    _object: *const c_void,
    property: c_int,
    code: *mut c_int,
) -> isize {
    store_code(property, code);
    0
}

/// A pointer property: none.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_ptr(
    _object: *const c_void,
    property: c_int,
    code: *mut c_int,
) -> *mut c_void {
    store_code(property, code);
    ptr::null_mut()
}

/// A text property: none.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_str(
    _object: *const c_void,
    property: c_int,
    code: *mut c_int,
) -> *const c_char {
    store_code(property, code);
    ptr::null()
}

fn entry(list: &[&'static CStr], index: c_int) -> *const c_char {
    let entry = usize::try_from(index)
        .ok()
        .and_then(|index| list.get(index));
    entry.map_or(ptr::null(), |text| text.as_ptr())
}

/// Name of a property; null for one that does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_name(_object: *const c_void, property: c_int) -> *const c_char {
    entry(&NAMES, -1 - property)
}

/// Type of a property of the object: `omp_interop_none` has none.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_type_desc(
    _object: *const c_void,
    _property: c_int,
) -> *const c_char {
    ptr::null()
}

/// Meaning of a return code; null for one that does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_rc_desc(_object: *const c_void, code: c_int) -> *const c_char {
    entry(&MEANINGS, 1 - code)
}

/// Stores a text as gfortran's functions of a character pointer return one.
///
/// # Safety
/// `result` and `length` point to the caller's variables; `text` is null or terminated.
unsafe fn return_text(result: *mut *const c_char, length: *mut usize, text: *const c_char) {
    // SAFETY: null or terminated.
    let bytes = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.count_bytes());
    // SAFETY: the caller's promise.
    unsafe { result.write(text) };
    // SAFETY: the caller's promise.
    unsafe { length.write(bytes.unwrap_or(0)) };
}

/// For Fortran.
///
/// # Safety
/// As gfortran calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_str_(
    result: *mut *const c_char,
    length: *mut usize,
    object: *const c_void,
    property: c_int,
    code: *mut c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { return_text(result, length, omp_get_interop_str(object, property, code)) };
}

/// Exports the Fortran name of a function from an object and a number to a text.
macro_rules! text_for_fortran {
    ($($name:ident, $function:ident;)*) => {$(
        /// For Fortran.
        ///
        /// # Safety
        /// As gfortran calls it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            result: *mut *const c_char,
            length: *mut usize,
            object: *const c_void,
            number: c_int,
        ) {
            // SAFETY: the caller's promise.
            unsafe { return_text(result, length, $function(object, number)) };
        }
    )*};
}

text_for_fortran! {
    omp_get_interop_name_, omp_get_interop_name;
    omp_get_interop_type_desc_, omp_get_interop_type_desc;
    omp_get_interop_rc_desc_, omp_get_interop_rc_desc;
}

/// Text that names a device for good; null for devices that do not exist.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_uid_from_device(device: c_int) -> *const c_char {
    if device == omp_get_initial_device() || device == INITIAL_DEVICE {
        HOST.as_ptr()
    } else {
        ptr::null()
    }
}

/// The device that a text names; `omp_invalid_device` if there is none.
///
/// # Safety
/// Null or a terminated text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_device_from_uid(text: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let host = !text.is_null() && unsafe { CStr::from_ptr(text) } == HOST;
    if host {
        omp_get_initial_device()
    } else {
        INVALID_DEVICE
    }
}

/// For Fortran.
///
/// # Safety
/// As gfortran calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_uid_from_device_(
    result: *mut *const c_char,
    length: *mut usize,
    device: *const i32,
) {
    // SAFETY: the caller's promise.
    let device = unsafe { device.read() };
    // SAFETY: the caller's promise.
    unsafe { return_text(result, length, omp_get_uid_from_device(device)) };
}

/// For Fortran with 8-byte integers.
///
/// # Safety
/// As gfortran calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_uid_from_device_8_(
    result: *mut *const c_char,
    length: *mut usize,
    device: *const i64,
) {
    // SAFETY: the caller's promise.
    let device = unsafe { device.read() }.clamp(-1, i64::from(i32::MAX)) as c_int;
    // SAFETY: the caller's promise.
    unsafe { return_text(result, length, omp_get_uid_from_device(device)) };
}

/// For Fortran.
///
/// # Safety
/// A text of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_device_from_uid_(text: *const c_char, length: usize) -> c_int {
    // SAFETY: the caller's promise.
    let text = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), length) };
    if text == HOST.to_bytes() {
        omp_get_initial_device()
    } else {
        INVALID_DEVICE
    }
}
