//! From the partition's first instruction to `main`, where the program is a partition's first component
#![expect(unsafe_code, reason = "the program's function is kept as a number")]

use crate::backend::component::{carrier, description, fail, heap, print, processor};
use crate::fiber;
use bulkhead_abi::kernel::{MAX_CORES, Operation, Status, first};
use bulkhead_abi::timing::VcpuKind;
use bulkhead_component::call::call;
use bulkhead_component::{First, clock, console, cores, println};
use core::ffi::c_char;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The program's: count of arguments, arguments, exit status.
pub type Main = extern "C" fn(i32, *const *const c_char) -> i32;

/// Pages that starting a core takes, at most: objects, stacks, tables of capabilities.
const PAGES_OF_A_CORE: u64 = 48;
/// Part of them that the core hands out itself.
const PAGES_OF_A_PART: u64 = 24;

static MAIN: AtomicUsize = AtomicUsize::new(0);

/// Status with which the core that was started last came up, and whether it did.
static CAME_UP: AtomicU64 = AtomicU64::new(PENDING);
const PENDING: u64 = u64::MAX;

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
    description::keep(&info);
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
    let (count, values) = description::command_line();
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
