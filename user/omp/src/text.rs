//! Strings and numbers in them

use core::ffi::{CStr, c_char};

/// # Safety
/// `text` is a string.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn strcmp(one: *const c_char, other: *const c_char) -> i32 {
    // SAFETY: strings of the caller's.
    let one = unsafe { bytes(one) };
    // SAFETY: as above.
    one.cmp(unsafe { bytes(other) }) as i32
}

/// Whole number at the start; what follows does not matter.
#[unsafe(no_mangle)]
unsafe extern "C" fn atol(text: *const c_char) -> i64 {
    // SAFETY: a string of the caller's.
    let text = unsafe { bytes(text) }.trim_ascii_start();
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits.fold(0i64, |value, digit| {
        value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'))
    });
    if negative {
        value.wrapping_neg()
    } else {
        value
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn atoi(text: *const c_char) -> i32 {
    // SAFETY: a string of the caller's.
    unsafe { atol(text) as i32 }
}

/// The number that the whole string is, or 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn atof(text: *const c_char) -> f64 {
    // SAFETY: a string of the caller's.
    let text = core::str::from_utf8(unsafe { bytes(text) });
    text.ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0.0)
}
