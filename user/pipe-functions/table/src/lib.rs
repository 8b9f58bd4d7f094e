//! The table of pipe functions of a C program: what `include/pipe.h` declares
#![no_std]
#![expect(unsafe_code, reason = "C hands over a table that its header explains")]

use bulkhead_stages::functions::{Answer, Function, Job};
use bulkhead_stages::message::{Content, WORD_BYTES};
use bulkhead_stages::work::ENDS;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

/// `struct pipe_data`.
type Data = [u64; 2];

/// `struct pipe_job`.
#[repr(C)]
struct CJob {
    input: [*const Data; ENDS],
    source: *const Data,
    memory: *mut u64,
    age: u64,
    message: [*const c_void; ENDS],
    output: *mut c_void,
    bytes: [u32; ENDS + 1],
}

/// `struct pipe_named`.
#[repr(C)]
struct Named {
    name: *const c_char,
    function: Option<extern "C" fn(*const CJob, *mut Data) -> c_int>,
}

// SAFETY: a constant of the program.
unsafe impl Sync for Named {}

unsafe extern "C" {
    /// Ends with an entry without name.
    static pipe_functions: Named;
}

/// The function of the program at an index, with its name; `None` behind the last one.
#[must_use]
pub fn function(index: usize) -> Option<(&'static str, Function)> {
    let mut entry = &raw const pipe_functions;
    for place in 0..=index {
        // SAFETY: the header promises a last entry, which is not passed.
        let named = unsafe { &*entry };
        if named.name.is_null() {
            return None;
        }
        if place == index {
            // SAFETY: a string of the program's, which is constant.
            let name = unsafe { CStr::from_ptr(named.name) };
            return Some((name.to_str().ok()?, named));
        }
        entry = entry.wrapping_add(1);
    }
    None
}

impl Answer for Named {
    fn job(&self, job: &mut Job<'_>) -> Option<Data> {
        let mut output = [0; 2];
        let mut given = CJob {
            input: [ptr::null(); ENDS],
            source: job.source.as_ref().map_or(ptr::null(), ptr::from_ref),
            memory: job.state.memory.as_mut_ptr(),
            age: job.age,
            message: [ptr::null(); ENDS],
            output: (&raw mut output).cast(),
            bytes: [WORD_BYTES as u32; ENDS + 1],
        };
        for (number, received) in job.inputs.iter().enumerate().take(ENDS) {
            let Some(received) = received else { continue };
            given.input[number] = &raw const received.message.data;
            given.message[number] = given.input[number].cast();
            if let Some(content) = received.content {
                given.message[number] = pointer(&content).cast_const();
                given.bytes[number] = content.bytes() as u32;
            }
        }
        if let Some(content) = job.output {
            given.output = pointer(&content);
            given.bytes[ENDS] = content.bytes() as u32;
        }
        let sent = self.function?(&raw const given, &raw mut output) != 0;
        let words = || job.output.map_or(output, |content| content.words());
        sent.then(words)
    }
}

fn pointer(content: &Content) -> *mut c_void {
    ptr::with_exposed_provenance_mut(content.address() as usize)
}
