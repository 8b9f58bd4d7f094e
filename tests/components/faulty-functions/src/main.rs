//! Pipe functions, each of which causes a fault of its own kind in every fortieth job
//!
//! The functions count their jobs in the stage's words, which are zero again after a restart of the component. `mean` causes none.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "does wrong on purpose")]

use bulkhead_pipe_functions::Job;
use core::arch::asm;
use core::hint::black_box;

bulkhead_pipe_functions::functions!([
    ("mean", &mean),
    ("write-wild", &write_wild),
    ("overflow", &overflow),
    ("divide", &divide),
    ("no-end", &no_end),
]);

/// Jobs without a fault between two with one.
const JOBS: u64 = 40;

/// An exponential mean of the value in the upper half of the second word.
fn mean(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let [first, word] = job.inputs.iter().flatten().next()?.data;
    let [mean, ..] = &mut job.state.memory;
    *mean = *mean - *mean / 16 + (word >> 32) / 16;
    Some([first, *mean << 32 | word & u64::from(u32::MAX)])
}

/// Returns the input, and whether this job is one with a fault.
fn counted(job: &mut Job<'_>) -> Option<([u64; 2], bool)> {
    let data = job.inputs.iter().flatten().next()?.data;
    let [.., jobs] = &mut job.state.memory;
    *jobs += 1;
    Some((data, *jobs > JOBS))
}

fn write_wild(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let (data, is_faulty) = counted(job)?;
    if is_faulty {
        let nowhere: *mut u64 = core::ptr::with_exposed_provenance_mut(black_box(0x8));
        // SAFETY: it is not safe; the fault is the purpose.
        unsafe { nowhere.write_volatile(0) };
    }
    Some(data)
}

fn overflow(job: &mut Job<'_>) -> Option<[u64; 2]> {
    fn deeper(depth: u64) -> u64 {
        let frame = black_box([depth; 64]);
        match black_box(depth) {
            u64::MAX => 0,
            depth => deeper(depth + 1) + black_box(frame)[0],
        }
    }
    let (data, is_faulty) = counted(job)?;
    if is_faulty {
        black_box(deeper(0));
    }
    Some(data)
}

/// The processor returns 0; the check of the language traps.
fn divide(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let (data, is_faulty) = counted(job)?;
    black_box(1 / black_box(u64::from(!is_faulty)));
    Some(data)
}

fn no_end(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let (data, is_faulty) = counted(job)?;
    while black_box(is_faulty) {
        // SAFETY: does nothing.
        unsafe { asm!("nop") };
    }
    Some(data)
}
