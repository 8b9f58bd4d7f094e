//! A pipeline of isolated and resident stages (figure 6 of the SliteOS paper, §VIII-B)
//!
//! The scheduler of its partition. The applications of the description are the odd stages, in their
//! order; between two of them, and behind the last if a stage is needed there, is a thread of this
//! component. Isolated stages have an address space each and reach the queues by invocations; a
//! resident stage only costs a switch in user mode. Under a parent, without a description, all
//! stages are threads of this component. A thread that the timer releases every period starts each
//! message with the time of its release.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "the archive is mapped memory")]

mod source;
mod stages;

use bulkhead_abi::component::stages::{LINE, MOST, PERIOD_US, STAGES};
use bulkhead_abi::component::{OnFault, Role, SCHEDULER_FREE, thread_slot};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{Archive, Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_component::call::call;
use bulkhead_component::{Environment, First, environment, fault};
use bulkhead_formats::archive::{Checked, Thread};
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use bulkhead_slite::{Threads, run_nested};
use core::sync::atomic::Ordering::Relaxed;
use stages::{answer, word};

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 16, stack: 1024);

const CAPACITY: usize = 32;
static THREADS: Threads<FixedPriority<Preemptive, CAPACITY>, CAPACITY> =
    Threads::new(FixedPriority::new(Preemptive));

/// Priority of the first stage if the description has none; each later one has a higher priority.
const FIRST_STAGE: u8 = 40;
/// Priority of the source, below all stages.
const SOURCE: Priority = Priority(63);

fn run(first: First) -> ! {
    let env = Environment::open();
    if env.info().archive == 0 {
        nested(first)
    }
    let archive: *const Archive = core::ptr::with_exposed_provenance(env.info().archive as usize);
    // SAFETY: mapped for good before the component started; any content is a value; it is never
    // written.
    let Ok(archive) = Checked::of(unsafe { &*archive }) else {
        panic!("no archive")
    };
    let partition = name_text(&env.info().guest.name);
    if let Err(status) = start(first.with_slots_from(SCHEDULER_FREE), &env, archive) {
        panic!("{partition}: the pipeline cannot be started: {status:?}")
    }
    THREADS.run_telling(|index, thread, how| {
        let stopped = archive.threads().find(|thread| thread.index == index);
        let Some(stopped) = stopped.filter(|_| how == EventKind::Faulted) else {
            return;
        };
        let component = stopped.component;
        let syndrome = fault::report(partition, &component, stopped.number, thread);
        let syndrome = syndrome.unwrap_or_default();
        if component.wiring.on_fault == OnFault::Fail as u32 {
            let _does_not_return = environment::fail(first::MONITOR, syndrome);
        }
    })
}

/// Starts the applications, which are the odd stages, at their own priorities; a resident stage has
/// a slightly higher priority than the one before it.
fn start(mut first: First, env: &Environment, archive: Checked<'_>) -> Result<(), Status> {
    THREADS.prepare(&mut first)?;
    let mut isolated = 0;
    let mut priorities = [0; MOST];
    for Thread {
        index, component, ..
    } in archive.threads()
    {
        let priority = component.wiring.priority as u8;
        THREADS.adopt(index, thread_slot(index), Priority(priority))?;
        if component.is(Role::Application) && 2 * isolated < MOST {
            stages::isolate(component.number, 2 * isolated as u64 + 1);
            priorities[2 * isolated] = priority;
            isolated += 1;
        }
    }
    let stages = env.number("stages", 2 * isolated as u64 - 1);
    for stage in (2..=stages.min(2 * isolated as u64)).step_by(2) {
        let before = priorities[stage as usize - 2];
        let thread = THREADS.spawn(&mut first, stages::resident, Priority(before - 1))?;
        stages::reside(thread, stage);
    }
    word(STAGES).store(stages, Relaxed);
    word(PERIOD_US).store(env.number("period_us", 1000), Relaxed);
    source::events(env.number("events", 0));
    THREADS.spawn(&mut first, source::run, SOURCE)?;
    call(first::MONITOR, Operation::Up, []).map(|_| ())
}

/// Starts under a parent, with the settings of the shared page.
fn nested(mut first: First) -> ! {
    stages::nest();
    let started = (|| {
        THREADS.prepare(&mut first)?;
        for stage in 1..=MOST as u64 {
            let priority = Priority(FIRST_STAGE - stage as u8);
            let thread = THREADS.spawn(&mut first, stages::resident, priority)?;
            stages::reside(thread, stage);
        }
        THREADS.spawn(&mut first, source::run, SOURCE)
    })();
    if let Err::<_, Status>(status) = started {
        panic!("{LINE}: {status:?}")
    }
    let Err(status) = run_nested(&THREADS);
    panic!("{status:?}")
}
