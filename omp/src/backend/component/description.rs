//! Text of the description for the program: the partition's name, and its argument words
//!
//! The argument words are environment (`OMP_…=`, `GOMP_…=`, `BULKHEAD_OMP_…=`) and command line
//! (all others) at once.
#![expect(unsafe_code, reason = "words are kept once, before other cores run")]

use bulkhead_abi::guest::GuestInfo;
use bulkhead_abi::name_text;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};

/// Bytes of argument words, and words, at most.
const BYTES: usize = 256;
const WORDS: usize = 32;

/// Text from the description to the program: words, each ended by a zero.
struct Description {
    name: [u8; BYTES],
    words: [u8; BYTES + 1],
    values: [*const c_char; WORDS + 1],
}

struct Once(UnsafeCell<Description>);

// SAFETY: written once, by the first core before it starts others.
unsafe impl Sync for Once {}

static DESCRIPTION: Once = Once(UnsafeCell::new(Description {
    name: [0; BYTES],
    words: [0; BYTES + 1],
    values: [core::ptr::null(); WORDS + 1],
}));

fn description() -> &'static Description {
    // SAFETY: written once, before other cores run and before the first request.
    unsafe { &*DESCRIPTION.0.get() }
}

/// The partition's name.
pub(crate) fn name() -> &'static str {
    let description = description();
    let end = description
        .name
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(0);
    core::str::from_utf8(description.name.get(..end).unwrap_or(&[])).unwrap_or("?")
}

fn words() -> impl Iterator<Item = &'static CStr> {
    let words = description().words.split_inclusive(|byte| *byte == 0);
    let words = words.filter_map(|word| CStr::from_bytes_with_nul(word).ok());
    words.filter(|word| !word.is_empty())
}

fn is_variable(word: &CStr) -> bool {
    let prefixes: [&[u8]; 3] = [b"OMP_", b"GOMP_", b"BULKHEAD_OMP_"];
    prefixes
        .iter()
        .any(|prefix| word.to_bytes().starts_with(prefix))
}

/// Value of the argument word `name=value`.
pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    words().find_map(|word| {
        let value = word.to_bytes_with_nul().strip_prefix(name.to_bytes())?;
        CStr::from_bytes_with_nul(value.strip_prefix(b"=")?).ok()
    })
}

/// Keeps the words: once, before other cores run.
pub(crate) fn keep(info: &GuestInfo) {
    // SAFETY: no other core runs yet.
    let description = unsafe { &mut *DESCRIPTION.0.get() };
    let copy = |to: &mut [u8], from: &[u8]| {
        for (place, byte) in to.iter_mut().zip(from) {
            *place = if *byte == b' ' { 0 } else { *byte };
        }
    };
    copy(&mut description.name, name_text(&info.name).as_bytes());
    let length = (info.argument_len as usize).min(BYTES);
    copy(
        &mut description.words,
        info.argument.get(..length).unwrap_or(&[]),
    );
}

/// The command line: the partition's name, and the words that are no variables; their number.
pub(crate) fn command_line() -> (i32, *const *const c_char) {
    // SAFETY: called once, by the only thread that runs.
    let values = unsafe { &raw mut (*DESCRIPTION.0.get()).values };
    let program_name = description().name.as_ptr().cast();
    let words = words().filter(|word| !is_variable(word));
    let all = core::iter::once(program_name).chain(words.map(CStr::as_ptr));
    let mut count = 0;
    for (number, word) in all.take(WORDS).enumerate() {
        let place = values.cast::<*const c_char>().wrapping_add(number);
        // SAFETY: within the array; the one behind the last stays null.
        unsafe { place.write(word) };
        count = number as i32 + 1;
    }
    (count, values.cast())
}
