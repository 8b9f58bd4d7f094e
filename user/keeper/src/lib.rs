//! What the scheduler of a core does for the components there
//!
//! Under whatever policy: it takes in the threads that the boot component made, answers what components ask of
//! the interface `threads`, and names a thread that faults. Whether the partition goes on without it says the
//! description; or the boot component makes its component again, on a thread that is as important as the one it is
//! done for, within the same budget. A component waits for the interrupts of its function, for doorbells, and for who shares
//! memory with it, all of which are notifications of its thread; what it rings, and whom it wakes, is done here: it may
//! do so for the ends and the memory that it has.
#![no_std]
#![expect(unsafe_code, reason = "the archive is mapped memory")]

mod bells;
mod lines;
mod mending;

use bells::Bells;
use bulkhead_abi::component::{BOOT, IDENTITY, OnFault, Role, Wiring, boot, thread_slot, threads};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::guest::ChannelEnd;
use bulkhead_abi::kernel::{Archive, MAX_COMPONENTS, Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_component::call::call;
use bulkhead_component::invocation::invoke;
use bulkhead_component::{First, clock, cores, environment, fault, println};
use bulkhead_formats::archive::{Checked, Component};
use bulkhead_limiter::Limiter;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, Membership, Policy, ServerId};
use bulkhead_slite::Threads;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use lines::Lines;
use mending::{Mending, Subject};

/// So often in a second is asked again for what another core may still hold.
const ATTEMPTS: u64 = 1000;

/// A policy's parameters of a thread, in a word.
pub trait Packed: Copy {
    /// As a word.
    fn word(self) -> u64;
    /// And back.
    fn of(word: u64) -> Self;
}

impl Packed for Membership {
    fn word(self) -> u64 {
        self.0.0.into()
    }
    fn of(word: u64) -> Self {
        Self(ServerId(word as u16))
    }
}

impl Packed for Binding {
    fn word(self) -> u64 {
        u64::from(self.vcpu.0) << 16 | u64::from(self.cause.0)
    }
    fn of(word: u64) -> Self {
        Self {
            vcpu: ServerId((word >> 16) as u16),
            cause: ServerId(word as u16),
        }
    }
}

/// The archive of the partition whose components are scheduled.
///
/// # Panics
/// There is none.
#[must_use]
pub fn archive() -> Checked<'static> {
    let address = environment::info().archive as usize;
    let archive: *const Archive = core::ptr::with_exposed_provenance(address);
    // SAFETY: mapped for good before a scheduler starts; any content is a value; nobody writes it.
    match Checked::of(unsafe { &*archive }) {
        Ok(archive) => archive,
        Err(flaw) => panic!("no archive: {flaw:?}"),
    }
}

/// Keeps the components of a core whose threads are those of a scheduler, at most `N`.
pub struct Keeper<P: Policy + 'static, const N: usize> {
    threads: &'static Threads<P, N>,
    /// Components with a thread that have not said yet that they work, by bit of their number.
    awaited: AtomicU64,
    /// Is done when all of them have.
    working: fn(),
    lines: Lines,
    bells: Bells,
    mending: Mending,
}

impl<P: Policy + 'static, const N: usize> Keeper<P, N>
where
    P::Parameters: Packed,
{
    /// Nobody's yet. `working` is done once all applications of the core work, before the partition is said to be up.
    pub const fn new(threads: &'static Threads<P, N>, working: fn()) -> Self {
        Self {
            threads,
            awaited: AtomicU64::new(0),
            working,
            lines: Lines::new(),
            bells: Bells::new(),
            mending: Mending::new(),
        }
    }

    /// Takes in the components' threads, ready to run. `place` says with what parameters each, and how important it
    /// is, 0 the most important, to be made again where several wait for that; `mend` is what does so:
    /// [`Keeper::mend`]. Once, before anybody makes other threads.
    ///
    /// # Errors
    /// The refusal of `place`, of the policy or of the kernel.
    pub fn adopt(
        &self,
        first: &mut First,
        mut place: impl FnMut(&mut First, &Component<'_>) -> Result<(P::Parameters, u64), Status>,
        mend: extern "C" fn(u64) -> !,
    ) -> Result<(), Status> {
        let archive = archive();
        let mut mender = None;
        for (index, component) in archive.threads_on(cores::rank() as u32) {
            if component.is(Role::Application) {
                self.awaited.fetch_or(1 << component.number, Relaxed);
            }
            let (parameters, importance) = place(first, &component)?;
            self.mending
                .note(index, component.number, parameters.word(), importance);
            self.threads.adopt(index, thread_slot(index), parameters)?;
            self.bells.note(&component, archive);
            if lines::waits(&component, archive) {
                let sides = self.threads.end_point(first, index)?;
                self.lines.open(&component, sides)?;
            }
            if component.wiring.on_fault == OnFault::Restart as u32 {
                mender = Some(parameters);
            }
        }
        if let Some(parameters) = mender {
            // It waits until something is broken, and then runs in the place of that.
            let mender = self.threads.spawn(first, mend, parameters)?;
            self.mending.mender(mender);
        }
        Ok(())
    }

    /// Runs threads for ever.
    pub fn run(&self) -> ! {
        let archive = archive();
        let partition = name_text(&environment::info().guest.name);
        let core = cores::rank() as u32;
        let limits: [Option<Limiter>; MAX_COMPONENTS] = core::array::from_fn(|number| {
            let component = archive.components().nth(number)?;
            limit(component.wiring)
        });
        let [mut ended, mut overdrawn] = [0_u64; 2];
        self.threads.run_telling(|index, thread, how| {
            let mut here = archive.threads_on(core);
            let Some((_, component)) = here.find(|(number, _)| *number == index) else {
                return self.fault_of_own(index, thread, how);
            };
            if how == EventKind::Expired {
                // Told once, and not of the first: a loop without end uses up every budget, and one end alone may be that of a piece
                // of it, behind which the next one follows. That of a VCPU is there to be used up.
                let bit = 1 << component.number;
                if ended & !overdrawn & bit != 0 && component.wiring.budget_ticks != 0 {
                    println!("{partition}.{}: out of budget", component.name());
                    overdrawn |= bit;
                }
                ended |= bit;
                return;
            }
            let syndrome = fault::report(partition, &component, thread).unwrap_or_default();
            if component.wiring.on_fault == OnFault::Fail as u32 {
                let _does_not_return = environment::fail(first::MONITOR, syndrome);
            }
            let Some(Some(limit)) = limits.get(component.number) else {
                return;
            };
            if limit.admit(clock::now()) && retire(thread).is_ok() {
                println!("{partition}.{}: restarts", component.name());
                self.mending.is_broken(index);
                self.stand_in(self.mending.who());
                self.threads.wakeup(self.mending.who());
            } else {
                println!("{partition}.{}: stays stopped", component.name());
                let identity = component.number as u64 + IDENTITY;
                let _recorded = call(first::MONITOR, Operation::Note, [identity]);
            }
        })
    }

    /// A thread of the scheduler itself; what it does otherwise is its own business.
    fn fault_of_own(&self, index: u64, thread: u64, how: EventKind) {
        if how == EventKind::Faulted {
            let _gone = fault::report_own(index, thread);
        }
    }

    /// Has `mender` run in the place of the most important thread whose component is to be made again.
    fn stand_in(&self, mender: u64) {
        if let Some((_, subject)) = self.mending.next() {
            let parameters = P::Parameters::of(subject.parameters());
            self.threads.set_parameters(mender, parameters);
        }
    }

    /// Has components made again and their threads run: what the thread does that [`Keeper::adopt`] makes for it, of
    /// that index.
    pub fn mend(&self, own: u64) -> ! {
        loop {
            let Some((index, subject)) = self.mending.next() else {
                self.threads.block(NEVER);
                continue;
            };
            self.stand_in(own);
            match self.restart(index, subject) {
                Err(Status::Resting | Status::InUse) => {
                    self.threads
                        .sleep_until(clock::now() + clock::frequency() / ATTEMPTS);
                    continue;
                }
                Err(status) => println!("thread {index} cannot be restarted: {status:?}"),
                Ok(()) => {}
            }
            self.mending.is_whole(index);
        }
    }

    /// Goes on where the last attempt ended.
    fn restart(&self, index: u64, subject: &Subject) -> Result<(), Status> {
        let component = subject.component();
        if !subject.is_made_again() {
            // The boot component takes the thread apart: nobody may hold an end of it.
            self.lines.close(component)?;
            ask_boot(boot::RESTART, component)?;
            subject.made_again(true);
        }
        self.lines.open_again(component, thread_slot(index))?;
        let parameters = P::Parameters::of(subject.parameters());
        self.threads.adopt(index, thread_slot(index), parameters)?;
        subject.made_again(false);
        Ok(())
    }

    /// What components ask of the interface `threads`, by the token of their capability.
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
            threads::RING => self.bells.ring(client, word),
            threads::WAKE => self.bells.wake(&self.lines, client, word),
            _ => Err(Status::NoOperation),
        };
        status.err().unwrap_or(Status::Ok) as u64
    }

    /// A component works; with the last application the core is.
    fn ready(&self, client: u64) -> Result<(), Status> {
        let bit = 1 << (client % 64);
        let before = self.awaited.fetch_and(!bit, Relaxed);
        if before & bit == 0 || before != bit {
            return Ok(());
        }
        (self.working)();
        loop {
            match ask_boot(boot::READY, 0) {
                // Another core's is there.
                Err(Status::InUse) => self
                    .threads
                    .sleep_until(clock::now() + clock::frequency() / ATTEMPTS),
                answer => return answer,
            }
        }
    }
}

/// The ends of these bits, among the partition's.
fn ends(bits: u32) -> impl Iterator<Item = &'static ChannelEnd> {
    let numbered = environment::info().guest.channels.iter().enumerate();
    numbered
        .filter(move |(number, _)| bits & 1 << number != 0)
        .map(|(_, end)| end)
}

/// How often a component may be restarted; nothing where it is not.
fn limit(wiring: &Wiring) -> Option<Limiter> {
    let restarts = wiring.on_fault == OnFault::Restart as u32;
    let events = u32::try_from(wiring.restart_limit).ok()?;
    let limiter = Limiter::new(events, wiring.restart_ticks).ok()?;
    restarts.then(|| limiter.starting_at(clock::now()))
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

/// Retires a thread; a call ends Listen of a few of its interrupts at most.
fn retire(thread: u64) -> Result<u64, Status> {
    loop {
        match call(thread, Operation::Retire, []) {
            Err(Status::Resting) => {}
            answer => return answer,
        }
    }
}
