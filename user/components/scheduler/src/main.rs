//! Schedules the threads of the components of one core of a partition
//!
//! Fixed priorities over the threads that the boot component made, each within its budget if the
//! description gives it one, which the kernel enforces. A thread that sleeps comes here by
//! an invocation and waits here, so that going on from one to the other is a switch in user mode
//! where both are here. A thread that faults is named; whether the partition goes on without it says
//! the description; or the boot component makes it again, on a thread that is as important as the one it
//! is done for, within the same budget. Interrupts of a component's function, and doorbells that it waits for,
//! are notifications of its thread, and what it rings is rung here: it may do so for the ends it holds. The least important thread beats the heart ([`heart`]): what loops for ever silences it.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "the archive is mapped memory")]

use bulkhead_abi::component::{
    BOOT, OnFault, Role, SCHEDULER_FREE, Wiring, boot, thread_slot, threads,
};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::guest::{ChannelEnd, MAX_CHANNELS};
use bulkhead_abi::kernel::{Archive, MAX_COMPONENTS, Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_component::call::call;
use bulkhead_component::invocation::invoke;
use bulkhead_component::{First, Own, clock, cores, fault, own, println};
use bulkhead_formats::archive::{Checked, Component};
use bulkhead_limiter::Limiter;
use bulkhead_sched::NEVER;
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::{Membership, Priority, ServerId, Servers};
use bulkhead_slite::Threads;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use share::Share;

mod heart;
mod share;

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 17, stack: 1024);

/// Threads of components, the one that beats the heart, the one that has components made again.
const CAPACITY: usize = MAX_COMPONENTS + 2;
/// Each thread has a server of its own.
static THREADS: Threads<Servers<Share, CAPACITY, CAPACITY>, CAPACITY> =
    Threads::new(Servers::new(false));
/// Below everything that a description can ask for.
const HEART: Priority = Priority(63);
/// Of who has components made again while nothing is broken.
const MENDING: Priority = Priority(62);

/// What a thread of a component is started with again: the component's number, its priority, its server.
struct Subject {
    component: AtomicU64,
    priority: AtomicU64,
    server: AtomicU64,
}

impl Subject {
    fn membership(&self) -> Membership {
        Membership(ServerId(self.server.load(Ordering::Relaxed) as u16))
    }
}

/// By index of the thread.
static SUBJECTS: [Subject; MAX_COMPONENTS] = [const {
    Subject {
        component: AtomicU64::new(0),
        priority: AtomicU64::new(0),
        server: AtomicU64::new(0),
    }
}; MAX_COMPONENTS];
/// Threads whose components are to be made again, by bit of their index.
static BROKEN: AtomicU64 = AtomicU64::new(0);
/// Index of the thread that has them made again.
static MENDER: AtomicU64 = AtomicU64::new(0);

/// So often in a second is asked again for what another core may still hold.
const ATTEMPTS: u64 = 1000;

/// Components with a thread that have not said yet that they work, by bit of their number.
static AWAITED: AtomicU64 = AtomicU64::new(0);

/// The doorbells that a component can ring, by bit of [`ChannelEnd::doorbell_out`].
static BELLS: [AtomicU64; MAX_COMPONENTS] = [const { AtomicU64::new(0) }; MAX_COMPONENTS];

const _: () = assert!(
    MAX_CHANNELS <= 64,
    "a channel has one doorbell that its end rings"
);

/// How a component waits for interrupts.
struct Line {
    /// Slot of the receiving side of its thread; 0 = it has none.
    receive: AtomicU64,
    /// The level that it completes by waiting again; 0 = it has no function.
    intid: AtomicU64,
    /// An interrupt came that it has not said to have served.
    raised: AtomicBool,
}

/// By number of component.
static LINES: [Line; MAX_COMPONENTS] = [const {
    Line {
        receive: AtomicU64::new(0),
        intid: AtomicU64::new(0),
        raised: AtomicBool::new(false),
    }
}; MAX_COMPONENTS];

fn run(first: First) -> ! {
    let own = Own::open();
    let archive: *const Archive = core::ptr::with_exposed_provenance(own.info().archive as usize);
    // SAFETY: mapped for good before the component started; any content is a value; nobody writes it.
    let archive = unsafe { &*archive };
    let Ok(archive) = Checked::of(archive) else {
        panic!("no archive")
    };
    let partition = name_text(&own.info().guest.name);
    let core = cores::rank() as u32;
    if let Err(status) = start(first.with_slots_from(SCHEDULER_FREE), &own, archive) {
        panic!("{partition}: threads cannot be started: {status:?}")
    }
    let limits: [Option<Limiter>; MAX_COMPONENTS] = core::array::from_fn(|number| {
        let component = archive.components().nth(number)?;
        limit(component.wiring)
    });
    let mut overdrawn = 0_u64;
    THREADS.run_telling(|index, thread, how| {
        let stopped = archive
            .threads_on(core)
            .find(|(number, _)| *number == index);
        let Some((_, component)) = stopped else {
            return;
        };
        if how == EventKind::Expired {
            // Told once: a loop without end uses up every budget.
            if overdrawn & 1 << component.number == 0 {
                println!("{partition}.{}: out of budget", component.name());
            }
            overdrawn |= 1 << component.number;
            return;
        }
        let syndrome = fault::report(partition, &component, thread).unwrap_or_default();
        if component.wiring.on_fault == OnFault::Fail as u32 {
            let _does_not_return = own::fail(first::MONITOR, syndrome);
        }
        let Some(Some(limit)) = limits.get(component.number) else {
            return;
        };
        if limit.admit(clock::now()) && call(thread, Operation::Retire, []).is_ok() {
            println!("{partition}.{}: restarts", component.name());
            BROKEN.fetch_or(1 << index, Ordering::Relaxed);
            let mender = MENDER.load(Ordering::Relaxed);
            stand_in(mender);
            THREADS.wakeup(mender);
        } else {
            println!("{partition}.{}: stays stopped", component.name());
        }
    })
}

/// How often a component may be restarted; nothing where it is not.
fn limit(wiring: &Wiring) -> Option<Limiter> {
    let restarts = wiring.on_fault == OnFault::Restart as u32;
    let events = u32::try_from(wiring.restart_limit).ok()?;
    let limiter = Limiter::new(events, wiring.restart_ticks).ok()?;
    restarts.then(|| limiter.starting_at(clock::now()))
}

fn start(mut first: First, own: &Own, archive: Checked<'_>) -> Result<(), Status> {
    THREADS.prepare(&mut first)?;
    let mut mends = false;
    let ends = &own.info().guest.channels;
    for (index, component) in archive.threads_on(cores::rank() as u32) {
        if component.is(Role::Application) {
            AWAITED.fetch_or(1 << component.number, Ordering::Relaxed);
        }
        let membership = server(&mut first, component.wiring)?;
        if let Some(subject) = SUBJECTS.get(index as usize) {
            for (word, value) in [
                (&subject.component, component.number as u64),
                (&subject.priority, component.wiring.priority.into()),
                (&subject.server, membership.0.0.into()),
            ] {
                word.store(value, Ordering::Relaxed);
            }
        }
        THREADS.adopt(index, thread_slot(index), membership)?;
        let bells = held(ends, component.wiring.channels).map(|end| end.doorbell_out);
        let bells = bells.filter(|bell| *bell < u64::BITS);
        BELLS[component.number].store(
            bells.fold(0, |bells, bell| bells | 1 << bell),
            Ordering::Relaxed,
        );
        listen(&mut first, index, &component, ends)?;
        mends |= component.wiring.on_fault == OnFault::Restart as u32;
    }
    if mends {
        let membership = add(Share::Whole, MENDING)?;
        let mender = THREADS.spawn(&mut first, mend, membership)?;
        MENDER.store(mender, Ordering::Relaxed);
    }
    if heart::prepare(own) {
        let membership = add(Share::Whole, HEART)?;
        THREADS.spawn(&mut first, beat, membership)?;
    }
    Ok(())
}

/// The ends of these bits.
fn held(ends: &[ChannelEnd], bits: u32) -> impl Iterator<Item = &ChannelEnd> {
    let numbered = ends.iter().enumerate();
    numbered
        .filter(move |(number, _)| bits & 1 << number != 0)
        .map(|(_, end)| end)
}

/// The interrupts of a component, of its function and by doorbells, become notifications of its thread.
fn listen(
    first: &mut First,
    index: u64,
    component: &Component<'_>,
    ends: &[ChannelEnd],
) -> Result<(), Status> {
    let Wiring {
        intid, doorbells, ..
    } = *component.wiring;
    if intid == 0 && doorbells == 0 {
        return Ok(());
    }
    let line = LINES.get(component.number).ok_or(Status::BadArgument)?;
    let [receive, send] = THREADS.end_point(first, index)?;
    line.receive.store(receive, Ordering::Relaxed);
    line.intid.store(intid.into(), Ordering::Relaxed);
    let function = Some(intid).filter(|intid| *intid != 0);
    let doorbells = held(ends, doorbells).map(|end| end.doorbell_in);
    for intid in function.into_iter().chain(doorbells) {
        call(first::INTERRUPT, Operation::Listen, [intid.into(), send])?;
    }
    Ok(())
}

/// The server of a component's thread, with its budget behind a temporal capability.
fn server(first: &mut First, wiring: &Wiring) -> Result<Membership, Status> {
    let priority = Priority(wiring.priority as u8);
    if wiring.budget_ticks == 0 {
        return add(Share::Whole, priority);
    }
    let capacity = Capacity {
        capacity: wiring.budget_ticks,
        period: wiring.period_ticks,
    };
    let share = Share::limited(capacity, clock::now()).ok_or(Status::BadArgument)?;
    let membership = add(share, priority)?;
    THREADS.enforce(first, membership.0)?;
    Ok(membership)
}

fn add(share: Share, priority: Priority) -> Result<Membership, Status> {
    let server = THREADS.with_policy(|policy, _| policy.add_server(share, priority));
    server.map(Membership).map_err(|_| Status::BadArgument)
}

/// The most important thread whose component is to be made again.
fn broken() -> Option<(u64, &'static Subject)> {
    let broken = BROKEN.load(Ordering::Relaxed);
    let subjects = (0..).zip(&SUBJECTS);
    let broken = subjects.filter(|(index, _)| broken & 1 << index != 0);
    broken.min_by_key(|(_, subject)| subject.priority.load(Ordering::Relaxed))
}

/// Has `mender` run in the place of the most important thread that it runs for.
fn stand_in(mender: u64) {
    if let Some((_, subject)) = broken() {
        THREADS.set_parameters(mender, subject.membership());
    }
}

/// Has components made again and their threads run.
extern "C" fn mend(own: u64) -> ! {
    loop {
        let Some((index, subject)) = broken() else {
            THREADS.block(NEVER);
            continue;
        };
        stand_in(own);
        match restart(index, subject) {
            Err(Status::Resting | Status::InUse) => {
                THREADS.sleep_until(clock::now() + clock::frequency() / ATTEMPTS);
                continue;
            }
            Err(status) => println!("thread {index} cannot be restarted: {status:?}"),
            Ok(()) => {}
        }
        BROKEN.fetch_and(!(1 << index), Ordering::Relaxed);
    }
}

fn restart(index: u64, subject: &Subject) -> Result<(), Status> {
    ask_boot(boot::RESTART, subject.component.load(Ordering::Relaxed))?;
    THREADS.adopt(index, thread_slot(index), subject.membership())
}

fn ask_boot(what: u64, word: u64) -> Result<(), Status> {
    let reply = invoke(BOOT, [what, word, 0, 0, 0]);
    let refusal = if reply.status == 0 {
        reply.value
    } else {
        reply.status
    };
    match Status::of(refusal) {
        Some(Status::Ok) => Ok(()),
        status => Err(status.unwrap_or(Status::BadArgument)),
    }
}

extern "C" fn beat(_: u64) -> ! {
    loop {
        THREADS.sleep_until(heart::beat());
    }
}

/// What other components ask.
fn answer(token: u64, [what, word, ..]: [u64; 5]) -> u64 {
    match what {
        threads::SLEEP => THREADS.sleep_until(word),
        threads::YIELD => THREADS.yield_now(),
        threads::READY => return ready(token as u32),
        threads::SERVED => return served(token as u32).unwrap_or(0),
        threads::RING => return ring(token as u32, word).err().unwrap_or(Status::Ok) as u64,
        _ => return Status::NoOperation as u64,
    }
    0
}

/// A component works; with the last application the core is.
fn ready(client: u32) -> u64 {
    let bit = 1 << (client % 64);
    let before = AWAITED.fetch_and(!bit, Ordering::Relaxed);
    if before & bit == 0 || before != bit {
        return 0;
    }
    heart::beat();
    loop {
        match ask_boot(boot::READY, 0) {
            // Another core's is there.
            Err(Status::InUse) => THREADS.sleep_until(clock::now() + clock::frequency() / ATTEMPTS),
            answer => return answer.err().unwrap_or(Status::Ok) as u64,
        }
    }
}

/// Rings for a component that can.
fn ring(client: u32, doorbell: u64) -> Result<(), Status> {
    let bells = BELLS.get(client as usize).ok_or(Status::BadArgument)?;
    let bell = 1_u64.checked_shl(doorbell as u32).unwrap_or(0);
    if bells.load(Ordering::Relaxed) & bell == 0 {
        return Err(Status::NoCapability);
    }
    call(first::MONITOR, Operation::Ring, [doorbell]).map(|_| ())
}

/// A component has served its device; waits for the next interrupt, and answers how many came.
fn served(client: u32) -> Result<u64, Status> {
    let line = LINES.get(client as usize).ok_or(Status::BadArgument)?;
    let receive = line.receive.load(Ordering::Relaxed);
    if receive == 0 {
        return Err(Status::NoCapability);
    }
    if line.raised.swap(false, Ordering::Relaxed) {
        let intid = line.intid.load(Ordering::Relaxed);
        call(first::INTERRUPT, Operation::Complete, [intid])?;
    }
    let count = THREADS.wait_notified(receive)?;
    line.raised
        .store(line.intid.load(Ordering::Relaxed) != 0, Ordering::Relaxed);
    Ok(count)
}
