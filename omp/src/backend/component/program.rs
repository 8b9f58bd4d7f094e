//! From the partition's first instruction to `main`, and what the description says to the program.
//!
//! The partition's argument words are environment (`OMP_…=`, `GOMP_…=`, `BULKHEAD_OMP_…=`) and command line
//! (all others) at once.
#![expect(unsafe_code, reason = "words are kept once, before other cores run")]

use super::{carrier, fail, heap, print, processor};
use crate::fiber;
use bulkhead_abi::guest::GuestInfo;
use bulkhead_abi::kernel::{MAX_CORES, Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_abi::timing::VcpuKind;
use bulkhead_component::call::call;
use bulkhead_component::{First, clock, console, cores, println};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The program's: count of arguments, arguments, exit status.
pub type Main = extern "C" fn(i32, *const *const c_char) -> i32;

/// Bytes of argument words, and words, at most.
const BYTES: usize = 256;
const WORDS: usize = 32;
/// Pages that starting a core takes, at most: objects, stacks, tables of capabilities.
const PAGES_OF_A_CORE: u64 = 48;
/// Part of them that the core hands out itself.
const PAGES_OF_A_PART: u64 = 24;

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
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// Status with which the core that was started last came up, and whether it did.
static CAME_UP: AtomicU64 = AtomicU64::new(PENDING);
const PENDING: u64 = u64::MAX;

fn description() -> &'static Description {
    // SAFETY: written once, before other cores run and before the first request.
    unsafe { &*DESCRIPTION.0.get() }
}

/// The partition's name.
pub(super) fn name() -> &'static str {
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
pub(super) fn variable(name: &CStr) -> Option<&'static CStr> {
    words().find_map(|word| {
        let value = word.to_bytes_with_nul().strip_prefix(name.to_bytes())?;
        CStr::from_bytes_with_nul(value.strip_prefix(b"=")?).ok()
    })
}

fn keep(info: &GuestInfo) {
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
fn command_line() -> (i32, *const *const c_char) {
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

/// Runs the program on all cores of the partition, of which the calling component is the first.
pub fn run(first: First, main: Main) -> ! {
    MAIN.store(main as usize, Ordering::Relaxed);
    match start(first) {
        Ok(()) => processor::of(0).run(),
        Err(status) => {
            println!("stopped: {status:?}");
            fail(status as u64)
        }
    }
}

fn start(mut first: First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    keep(&info);
    let archive = first.archive()?;
    let timing = first.timing(archive)?;
    for vcpu in timing.vcpus {
        if vcpu.kind == VcpuKind::Main as u32 {
            processor::of(vcpu.core as usize).set_budget(vcpu.capacity_ns, vcpu.period_ns);
        }
    }
    let count = (info.cores as usize).clamp(1, MAX_CORES);
    heap::open(&mut first, info.memory[1], PAGES_OF_A_CORE * count as u64)?;
    carrier::open(&mut first, 0)?;
    for rank in 1..count {
        start_core(&mut first, rank)?;
    }
    crate::thread::start();
    call(first::MONITOR, Operation::Up, [])?;
    carrier::employ(begin, 0, fiber::stack_bytes()).ok_or(Status::NotReady)
}

/// Has another core make its carrier, and waits until it has.
fn start_core(first: &mut First, rank: usize) -> Result<(), Status> {
    bulkhead_slite::start_core(first, rank as u64, PAGES_OF_A_PART, begin_core)?;
    while CAME_UP.load(Ordering::Acquire) == PENDING {
        clock::let_others_run();
    }
    match Status::of(CAME_UP.swap(PENDING, Ordering::Relaxed)) {
        Some(Status::Ok) => Ok(()),
        status => Err(status.unwrap_or(Status::BadArgument)),
    }
}

/// First function of a further core, with its part of the means.
fn begin_core(mut first: First) -> ! {
    let rank = cores::rank() as usize;
    let opened = carrier::open(&mut first, rank);
    let status = opened.map_or_else(|status| status as u64, |()| Status::Ok as u64);
    CAME_UP.store(status, Ordering::Release);
    processor::of(rank).run()
}

/// Function of the first carrier.
extern "C" fn begin(_: usize) {
    let (count, values) = command_line();
    // SAFETY: `run` stored a function of this type.
    let main: Main = unsafe { core::mem::transmute(MAIN.load(Ordering::Relaxed)) };
    let status = main(count, values);
    if status != 0 {
        crate::report::inform(format_args!("the program ended with status {status}"));
        fail(status as u64);
    }
    print(b"the program has ended");
    loop {
        carrier::current().park(&core::sync::atomic::AtomicU32::new(0), 0);
    }
}
