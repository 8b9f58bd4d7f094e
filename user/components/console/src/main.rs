//! Prints the lines of all components of a partition
//!
//! A server without a thread: clients invoke it with parts of lines. Each client has a line buffer
//! of its own; the thread that holds the recorder prints complete lines. If the recorder is held by
//! a thread of another core, or by one with lower priority that the client has preempted, the
//! client leaves its line to that thread and continues: no client waits.
#![no_std]
#![no_main]
#![expect(
    unsafe_code,
    reason = "a client's line is touched by that client, or by who shows it"
)]

use bulkhead_abi::component::console::{BYTES, PRINT, READ};
use bulkhead_abi::kernel::{MAX_COMPONENTS, Status};
use bulkhead_buffers::ring::Consumer;
use bulkhead_component::{Environment, First, clock, console};
use bulkhead_guest::line::MAX_BYTES;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 19, cores: bulkhead_abi::component::COMPONENT_CORES, stack: 640);

/// Line buffer of a client, which has one thread.
struct Line {
    /// The line is complete and waits to be printed; the client does not touch it.
    whole: AtomicBool,
    content: UnsafeCell<Content>,
}

struct Content {
    bytes: [u8; MAX_BYTES],
    filled: usize,
}

// SAFETY: the content belongs to the client while the line is incomplete, else to the holder of the
// recorder.
unsafe impl Sync for Line {}

static LINES: [Line; MAX_COMPONENTS] = [const {
    Line {
        whole: AtomicBool::new(false),
        content: UnsafeCell::new(Content {
            bytes: [0; MAX_BYTES],
            filled: 0,
        }),
    }
}; MAX_COMPONENTS];

/// The ring of console input.
struct Input(UnsafeCell<Option<Consumer<'static>>>);

// SAFETY: used only by the thread that has set `READS`.
unsafe impl Sync for Input {}

static INPUT: Input = Input(UnsafeCell::new(None));
/// True while a thread reads input.
static READS: AtomicBool = AtomicBool::new(false);

/// True once the recorder is open.
static OPEN: AtomicBool = AtomicBool::new(false);
/// True while a thread holds the recorder.
static HELD: AtomicBool = AtomicBool::new(false);

/// No thread starts here.
fn run(_: First) -> ! {
    loop {
        clock::wait_for_interrupt();
    }
}

fn answer(token: u64, [what, count, words @ ..]: [u64; 5]) -> u64 {
    if what == READ {
        return read();
    }
    let client = token as u32 as usize;
    let Some(line) = LINES.get(client).filter(|_| what == PRINT) else {
        return Status::NoOperation as u64;
    };
    if line.whole.load(Ordering::SeqCst) {
        // The last line still waits, so this one is lost.
        return Status::Occupied as u64;
    }
    // SAFETY: incomplete, so it belongs to the client, which is the thread that runs this.
    let content = unsafe { &mut *line.content.get() };
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    for byte in bytes.take((count as usize).min(BYTES)) {
        if let Some(place) = content.bytes.get_mut(content.filled) {
            *place = byte;
            content.filled += 1;
        }
        if byte == b'\n' {
            line.whole.store(true, Ordering::SeqCst);
            show();
            break;
        }
    }
    0
}

/// Takes console input; nothing while another thread reads.
fn read() -> u64 {
    if READS.swap(true, Ordering::SeqCst) {
        return 0;
    }
    // SAFETY: this thread has set the flag.
    let input = unsafe { &mut *INPUT.0.get() };
    if input.is_none() {
        *input = Environment::open().console_input();
    }
    let (mut bytes, mut count) = ([0; 8], 0);
    while let Some(place) = bytes.get_mut(count + 1)
        && let Some(input) = input
        && input.try_pop(core::slice::from_mut(place)).is_ok()
    {
        count += 1;
    }
    bytes[0] = count as u8;
    READS.store(false, Ordering::SeqCst);
    u64::from_le_bytes(bytes)
}

/// Prints complete lines until there are none, unless another thread does already. A client that
/// leaves a line to the holder of the recorder, and the holder that releases the recorder, each
/// write one word and then read the other's. Both see the writes in one order; otherwise a line
/// could be left behind.
fn show() {
    let waits = |line: &&Line| line.whole.load(Ordering::SeqCst);
    while LINES.iter().any(|line| waits(&line)) && !HELD.swap(true, Ordering::SeqCst) {
        if !OPEN.swap(true, Ordering::Relaxed) {
            let _opens_the_recorder = Environment::open();
        }
        for line in LINES.iter().filter(waits) {
            // SAFETY: complete, and this thread holds the recorder.
            let content = unsafe { &mut *line.content.get() };
            console::write(content.bytes.get(..content.filled).unwrap_or_default());
            content.filled = 0;
            line.whole.store(false, Ordering::SeqCst);
        }
        HELD.store(false, Ordering::SeqCst);
    }
}
