//! Services of the scheduler of a core for the components there
//!
//! The supervisor works under each policy: it adopts the threads that the boot component made, serves the interface
//! `threads`, and reports a thread that faults. The description decides whether the partition continues without that
//! thread, or whether the boot component restarts its component. A restart runs on a thread of the same importance and
//! within the same budget. A component waits for the interrupts of its function, for doorbells, and for components that share
//! memory with it, all of which are notifications of its thread. It may ring and wake through the ends and the memory
//! of its own.
#![no_std]
#![expect(unsafe_code, reason = "the archive is mapped memory")]

mod doorbells;
pub mod heartbeat;
mod restarts;
pub mod servers;
mod wait_lines;

use bulkhead_abi::component::{BOOT, IDENTITY, OnFault, Role, Wiring, boot, thread_slot, threads};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::guest::ChannelEnd;
use bulkhead_abi::kernel::{Archive, MAX_COMPONENTS, Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_component::call::call;
use bulkhead_component::invocation::invoke;
use bulkhead_component::{First, clock, cores, environment, fault, println};
use bulkhead_formats::archive::{Checked, Component, Thread};
use bulkhead_limiter::Limiter;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, Policy};
use bulkhead_slite::Threads;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use doorbells::Doorbells;
use restarts::{Restart, Restarts};
use wait_lines::WaitLines;

/// Attempts in a second to take apart a component that another core may still hold.
const ATTEMPTS: u64 = 1000;
/// The scheduler itself among the applications that are awaited, by bit; the others are numbers of components.
const SCHEDULER: u64 = 1 << 63;

const _: () = assert!(
    MAX_COMPONENTS < 63,
    "their numbers are bits below the scheduler's"
);

/// Returns the archive of the partition.
///
/// # Panics
/// The partition has none.
#[must_use]
pub fn archive() -> Checked<'static> {
    let address = environment::info().archive as usize;
    let archive: *const Archive = core::ptr::with_exposed_provenance(address);
    // SAFETY: mapped for good before a scheduler starts; any content is a value; it is never written.
    match Checked::of(unsafe { &*archive }) {
        Ok(archive) => archive,
        Err(flaw) => panic!("no archive: {flaw:?}"),
    }
}

/// Services for the components of a core, with at most `N` threads of one scheduler.
pub struct Supervisor<P: Policy + 'static, const N: usize> {
    threads: &'static Threads<P, N>,
    /// Applications that have not reported yet that they work, by bit of their number.
    awaited: AtomicU64,
    /// Threads that begin once their component works, by bit of their index.
    further: AtomicU64,
    /// Called when all applications work.
    working: fn(),
    lines: WaitLines,
    doorbells: Doorbells,
    restarts: Restarts,
    /// By component: the stage's thread of which a job faulted in it, 0 = none.
    faulted_jobs: [AtomicU64; MAX_COMPONENTS],
}

impl<P: Policy<Parameters = Binding> + 'static, const N: usize> Supervisor<P, N> {
    /// A supervisor without components. `working` is called once all applications of the core work, before the partition is
    /// reported up.
    pub const fn new(threads: &'static Threads<P, N>, working: fn()) -> Self {
        Self {
            threads,
            awaited: AtomicU64::new(0),
            further: AtomicU64::new(0),
            working,
            lines: WaitLines::new(),
            doorbells: Doorbells::new(),
            restarts: Restarts::new(),
            faulted_jobs: [const { AtomicU64::new(0) }; MAX_COMPONENTS],
        }
    }

    /// Adopts the components' threads: the first of each component is ready to run, the others begin when it works.
    /// `place` returns the VCPU of each thread, and its importance among components that wait for a restart, 0 the
    /// most important. `restart` calls [`Supervisor::restart_components`]. To be
    /// called once, before other threads are made.
    ///
    /// # Errors
    /// The refusal of `place`, of the policy or of the kernel.
    pub fn adopt(
        &self,
        first: &mut First,
        mut place: impl FnMut(&mut First, &Thread<'_>) -> Result<(Binding, u64), Status>,
        restart: extern "C" fn(u64) -> !,
    ) -> Result<(), Status> {
        let (archive, rank) = (archive(), cores::rank() as u32);
        for thread in archive.threads_on(rank) {
            let (binding, importance) = place(first, &thread)?;
            self.restarts
                .note(thread.index, thread.component.number, binding, importance);
        }
        let mut components = archive.components();
        let scheduler = components.nth(environment::info().number.into());
        if scheduler.is_some_and(|scheduler| scheduler.wiring.has_work != 0) {
            self.awaited.store(SCHEDULER, Relaxed);
        }
        let mut restarter = None;
        for thread in archive.threads_on(rank) {
            let Thread {
                index, component, ..
            } = thread;
            let (binding, name) = (self.restarts.binding(index), thread_slot(index));
            if thread.number == 0 {
                self.threads.adopt(index, name, binding)?;
            } else {
                self.threads.adopt_blocked(index, name, binding)?;
                self.further.fetch_or(1 << index, Relaxed);
            }
            if wait_lines::waits(&component, archive) && index == self.waiter(&component, archive) {
                let sides = self.threads.receive_end(first, index)?;
                self.lines.open(&component, index, sides)?;
            }
            if thread.number != 0 {
                continue;
            }
            if component.is(Role::Application) {
                self.awaited.fetch_or(1 << component.number, Relaxed);
            }
            self.doorbells.note(&component, archive);
            let wiring = component.wiring;
            if wiring.on_fault == OnFault::Restart as u32 || wiring.job_stacks != 0 {
                restarter = Some(binding);
            }
        }
        if let Some(binding) = restarter {
            // It waits until a component is broken, and then runs with the parameters of that component's thread.
            let restarter = self.threads.spawn(first, restart, binding)?;
            self.restarts.set_restarter(restarter);
        }
        Ok(())
    }

    /// Index of the thread of a component that waits for its interrupts and notifications: the first one on an I/O
    /// VCPU, or else the first one.
    fn waiter(&self, component: &Component<'_>, archive: Checked<'_>) -> u64 {
        let threads = archive.threads();
        let mut of_component = threads.filter(|one| one.component.number == component.number);
        let first = of_component.clone().next().map_or(0, |first| first.index);
        let on_io = of_component.find(|one| {
            let binding = self.restarts.binding(one.index);
            binding.vcpu != binding.cause
        });
        on_io.map_or(first, |thread| thread.index)
    }

    /// Runs threads for ever. `report` is called for each event of a thread that is not a component's, with the thread's index and slot.
    pub fn run(&self, mut report: impl FnMut(u64, u64, EventKind)) -> ! {
        let archive = archive();
        let partition = name_text(&environment::info().guest.name);
        let core = cores::rank() as u32;
        let [mut ended, mut overdrawn] = [0_u64; 2];
        self.threads.run_telling(|index, thread, how| {
            let mut here = archive.threads_on(core);
            let Some(found) = here.find(|thread| thread.index == index) else {
                return report(index, thread, how);
            };
            let component = found.component;
            if how == EventKind::Expired {
                // Reported once, at the second end: a loop without end uses up every budget, and one end alone may be that of a piece
                // of the budget, with the next one behind it. The budget of a VCPU is there to be used up.
                let bit = 1 << component.number;
                let is_limited = found.task.is_none() && component.wiring.budget_ticks != 0;
                if ended & !overdrawn & bit != 0 && is_limited {
                    println!("{partition}.{}: out of budget", component.name());
                    overdrawn |= bit;
                }
                ended |= bit;
                return;
            }
            let syndrome = fault::report(partition, &component, found.number, thread);
            let syndrome = syndrome.unwrap_or_default();
            if component.wiring.on_fault == OnFault::Fail as u32 {
                let _does_not_return = environment::fail(first::MONITOR, syndrome);
            }
            if component.wiring.on_fault == OnFault::Restart as u32 {
                self.begin_restart(index);
            }
        })
    }

    /// Gives `restarter` the VCPU of the most important thread that waits for a restart of its component.
    fn take_place(&self, restarter: u64) {
        if let Some((_, restart)) = self.restarts.next() {
            self.threads.set_parameters(restarter, restart.binding());
        }
    }

    /// The thread of that index waits for a restart of its component, by the thread that restarts components.
    fn begin_restart(&self, index: u64) {
        self.restarts.begin(index);
        self.take_place(self.restarts.restarter());
        self.threads.wakeup(self.restarts.restarter());
    }

    /// A pipe function of a component caused a fault on a stage's thread, which has left it. The component's policy for faults decides,
    /// on the thread that restarts components. Jobs do not enter the component until it reports again that it works.
    pub fn job_faulted(&self, component: u64, thread: u64) {
        if let Some(place) = self.faulted_jobs.get(component as usize) {
            place.store(thread, Relaxed);
            self.threads.wakeup(self.restarts.restarter());
        }
    }

    /// Reports faults of pipe functions, and begins the restarts of their components.
    fn report_jobs(&self, archive: Checked<'_>, partition: &str) {
        for component in archive.components() {
            let place = self.faulted_jobs.get(component.number);
            let faulted = place.map(|place| place.swap(0, Relaxed));
            let Some(stage) = faulted.filter(|stage| *stage != 0) else {
                continue;
            };
            let syndrome = fault::report_job(partition, &component, stage);
            let number = component.number;
            let mut threads = archive.threads();
            let of_component = threads.find(|one| one.component.number == number);
            match of_component {
                Some(thread) if component.wiring.on_fault == OnFault::Restart as u32 => {
                    self.restarts.begin(thread.index);
                }
                _ if component.wiring.on_fault == OnFault::Fail as u32 => {
                    let _does_not_return =
                        environment::fail(first::MONITOR, syndrome.unwrap_or_default());
                }
                _ => stays_stopped(partition, &component),
            }
        }
    }

    /// Restarts components, for ever: the body of the thread of index `restarter`, which [`Supervisor::adopt`] makes.
    pub fn restart_components(&self, restarter: u64) -> ! {
        let archive = archive();
        let partition = name_text(&environment::info().guest.name);
        let limits: [Option<Limiter>; MAX_COMPONENTS] = core::array::from_fn(|number| {
            let component = archive.components().nth(number)?;
            limit(component.wiring)
        });
        loop {
            self.report_jobs(archive, partition);
            let Some((index, restart)) = self.restarts.next() else {
                self.threads.block(NEVER);
                continue;
            };
            self.take_place(restarter);
            let component = archive.components().nth(restart.component() as usize);
            let limit = limits.get(restart.component() as usize);
            let (Some(component), Some(Some(limit))) = (component, limit) else {
                self.restarts.end(index);
                continue;
            };
            if !restart.is_admitted() {
                if self.threads.has(index) && !self.threads.remove_blocked(index) {
                    // It has not come to rest after it reported that it works.
                    self.pause();
                    continue;
                }
                if !limit.admit(clock::now()) || retire(thread_slot(index)).is_err() {
                    stays_stopped(partition, &component);
                    self.restarts.end(index);
                    continue;
                }
                println!("{partition}.{}: restarts", component.name());
                restart.admit();
            }
            match self.restart(index, restart) {
                Err(Status::Resting | Status::InUse) => {
                    self.pause();
                    continue;
                }
                Err(status) => println!("thread {index} cannot be restarted: {status:?}"),
                Ok(()) => {}
            }
            self.restarts.end(index);
        }
    }

    /// Waits before the next attempt to take a component apart.
    fn pause(&self) {
        self.threads
            .sleep_until(clock::now() + clock::frequency() / ATTEMPTS);
    }

    /// Restarts a component, from where the last attempt ended.
    fn restart(&self, index: u64, restart: &Restart) -> Result<(), Status> {
        let component = restart.component();
        if !restart.is_rebuilt() {
            // The boot component takes the thread apart: no slot may hold an end of it.
            self.lines.close(component)?;
            ask_boot(boot::RESTART, component)?;
            restart.set_rebuilt(true);
        }
        self.lines.open_again(component, thread_slot(index))?;
        self.threads
            .adopt(index, thread_slot(index), restart.binding())?;
        restart.set_rebuilt(false);
        Ok(())
    }

    /// Serves a call of the interface `threads`. The token of the capability is the component.
    pub fn answer(&self, token: u64, [what, word, ..]: [u64; 5]) -> u64 {
        let client = u64::from(token as u32);
        let status = match what {
            threads::SLEEP => {
                self.threads.sleep_until(word);
                Ok(())
            }
            threads::YIELD => {
                self.threads.yield_now();
                Ok(())
            }
            threads::READY => self.ready(client),
            threads::SERVED => return self.lines.served(self.threads, client).unwrap_or(0),
            threads::RING => self.doorbells.ring(client, word),
            threads::WAKE => self.doorbells.wake(&self.lines, client, word),
            _ => Err(Status::NoOperation),
        };
        status.err().unwrap_or(Status::Ok) as u64
    }

    /// A component reports that it works: its other threads begin. With the last application the core works.
    fn ready(&self, client: u64) -> Result<(), Status> {
        let further = self.further.load(Relaxed);
        for (index, restart) in (0..).zip(self.restarts.all()) {
            if further >> index & 1 != 0 && restart.component() == client {
                self.threads.wakeup(index);
            }
        }
        self.works(1 << (client % MAX_COMPONENTS as u64))
    }

    /// The scheduler's own work has begun. With the last application the core works.
    ///
    /// # Errors
    /// The refusal of the boot component.
    pub fn scheduler_works(&self) -> Result<(), Status> {
        self.works(SCHEDULER)
    }

    fn works(&self, bit: u64) -> Result<(), Status> {
        let before = self.awaited.fetch_and(!bit, Relaxed);
        if before & bit == 0 || before != bit {
            return Ok(());
        }
        (self.working)();
        loop {
            match ask_boot(boot::READY, 0) {
                // The supervisor of another core invokes the boot component.
                Err(Status::InUse) => self
                    .threads
                    .sleep_until(clock::now() + clock::frequency() / ATTEMPTS),
                answer => return answer,
            }
        }
    }
}

/// Reports a fault of a thread of the scheduler itself.
pub fn report_own_fault(index: u64, thread: u64, how: EventKind) {
    if how == EventKind::Faulted {
        let _gone = fault::report_own(index, thread);
    }
}

/// The ends of these bits, among the partition's.
fn ends(bits: u32) -> impl Iterator<Item = &'static ChannelEnd> {
    let numbered = environment::info().guest.channels.iter().enumerate();
    numbered
        .filter(move |(number, _)| bits & 1 << number != 0)
        .map(|(_, end)| end)
}

/// Returns the limit of restarts of a component, or `None` if it is not restarted.
fn limit(wiring: &Wiring) -> Option<Limiter> {
    let restarts = wiring.on_fault == OnFault::Restart as u32;
    let events = u32::try_from(wiring.restart_limit).ok()?;
    let limiter = Limiter::new(events, wiring.restart_ticks).ok()?;
    restarts.then(|| limiter.starting_at(clock::now()))
}

/// A component is not restarted any more.
fn stays_stopped(partition: &str, component: &Component<'_>) {
    println!("{partition}.{}: stays stopped", component.name());
    let identity = component.number as u64 + IDENTITY;
    let _recorded = call(first::MONITOR, Operation::Note, [identity]);
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

/// Retires a thread; a call ends Listen of one of its interrupts.
fn retire(thread: u64) -> Result<u64, Status> {
    loop {
        match call(thread, Operation::Retire, []) {
            Err(Status::Resting) => {}
            answer => return answer,
        }
    }
}
