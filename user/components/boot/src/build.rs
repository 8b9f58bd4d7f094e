//! Builds components from their wiring
//!
//! One component after the other gets its address space and table, its parts of the window, and its
//! information page. At last, when all of them exist, come the capabilities to invoke each other,
//! and the threads. Slots that only building needs are emptied again. A component that may be
//! restarted keeps its slots: it is created from the same pages and slots each time, after these
//! were released.

use crate::environment::{Resources, one};
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{
    BOOT, COMPONENT_CORES, MAX_SHARED, OnFault, Part, Role, SCHEDULER_FREE, interface_slot,
    pipe_functions, stack_top, thread_slot, token,
};
use bulkhead_abi::failure;
use bulkhead_abi::guest::GuestPage;
use bulkhead_abi::kernel::{ALL, Kind, MAX_COMPONENTS, Operation, SLOTS, Status, first};
use bulkhead_abi::name_text;
use bulkhead_component::First;
use bulkhead_component::call::call;
use bulkhead_component::cores::{self, Root};
use bulkhead_component::first::{Position, TASK, empty, leaf_of};
use bulkhead_formats::archive::{Checked, Component, Flaw, Invocation, Thread};
use core::fmt;

/// Reason for which a partition is not built, or has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    Archive(Flaw),
    Kernel(Status),
    NoScheduler,
    Faulted(u64),
}

impl Refusal {
    /// The code for the monitor.
    pub(crate) const fn code(self) -> u64 {
        match self {
            Self::Archive(_) => failure::ARCHIVE,
            Self::Kernel(status) => failure::REFUSED | status as u64,
            Self::NoScheduler => failure::NO_SCHEDULER,
            Self::Faulted(syndrome) => syndrome,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(flaw) => write!(f, "the archive has a flaw: {flaw:?}"),
            Self::Kernel(Status::NoMemory) => {
                f.write_str("the partition's `memory` is used up before all components are built")
            }
            Self::Kernel(status) => write!(f, "the kernel refuses: {status:?}"),
            Self::NoScheduler => f.write_str("no scheduler"),
            Self::Faulted(_) => f.write_str("the scheduler is gone"),
        }
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self::Kernel(status)
    }
}

/// Slots of a component that stay in use.
#[derive(Clone, Copy, Default)]
struct Made {
    component: u64,
    leaf: u64,
    /// Place of its first thread; its other threads are behind it.
    threads: Position,
    /// Page of a scheduler's SCB.
    scb: u64,
    /// Range of pages and slots from which a restartable component is created.
    parts: Option<[Position; 2]>,
}

/// First slot of the boot component's own capabilities to invoke others.
const OWN_INTERFACES: u64 = interface_slot(0);
/// Maximum slots of a component, except those for invocations: itself, table, leaf, thread and
/// translation tables, one of them per 2 MiB of the window.
const OWN_SLOTS: u64 = 32;

const _: () = assert!(OWN_INTERFACES == first::FREE);

/// Slots of a core.
#[derive(Clone, Copy)]
struct Core {
    /// The scheduler of the core's components.
    scheduler: u64,
    /// Its time.
    time: u64,
}

/// A scheduler that the boot component runs: slots of its thread and its time, and its component.
pub(crate) struct Ward {
    pub(crate) thread: u64,
    pub(crate) time: u64,
    pub(crate) root: Root,
    pub(crate) component: Component<'static>,
}

/// Builds the components of a partition, and rebuilds restarted ones.
pub(crate) struct Builder {
    first: First,
    archive: Checked<'static>,
    page: &'static GuestPage,
    made: [Made; MAX_COMPONENTS],
    /// By rank.
    roots: [Option<Root>; COMPONENT_CORES],
    cores: [Option<Core>; COMPONENT_CORES],
    pulses: Pulses,
    shared: SharedPages,
    jobs: JobPages,
    contents: ContentsPages,
}

/// First page of each shared memory, by number.
pub(crate) type SharedPages = [u64; MAX_SHARED];

/// First page of the memory for jobs of each component with pipe functions, by its number.
pub(crate) type JobPages = [u64; MAX_COMPONENTS];

/// First page of the memory for contents of messages of each component that has one, by its number.
pub(crate) type ContentsPages = [u64; MAX_COMPONENTS];

/// By core: the page that a scheduler without the heartbeat has in place of the guest page, if
/// another component owns the heartbeat.
pub(crate) type Pulses = [Option<u64>; COMPONENT_CORES];

impl Builder {
    /// Builds all components. [`Builder::populate`] creates the threads of a core on that core.
    pub(crate) fn build(
        mut first: First,
        archive: Checked<'static>,
        page: &'static GuestPage,
    ) -> Result<Self, Refusal> {
        for _ in 0..bulkhead_abi::component::MAX_INTERFACES {
            first.slot();
        }
        let mut builder = Self {
            first,
            archive,
            page,
            made: [Made::default(); MAX_COMPONENTS],
            roots: [None; COMPONENT_CORES],
            cores: [None; COMPONENT_CORES],
            pulses: [None; COMPONENT_CORES],
            shared: [0; MAX_SHARED],
            jobs: [0; MAX_COMPONENTS],
            contents: [0; MAX_COMPONENTS],
        };
        if archive.components().any(|one| one.owns(Part::Heartbeat)) {
            let others = archive.components().filter(|one| one.is(Role::Scheduler));
            for other in others.filter(|one| !one.owns(Part::Heartbeat)) {
                builder.pulses[other.wiring.core as usize] = Some(builder.first.page());
            }
        }
        for (number, shared) in archive.shared() {
            // They belong to no component, and stay when one is rebuilt.
            builder.shared[number] = builder.first.pages(shared.pages.into());
        }
        for component in archive
            .components()
            .filter(|one| one.wiring.job_stacks != 0)
        {
            let pages = builder.first.pages(pipe_functions::BYTES / PAGE_SIZE);
            builder.jobs[component.number] = pages;
        }
        for component in archive.components() {
            let pages = component.wiring.contents_pages;
            if pages != 0 {
                builder.contents[component.number] = builder.first.pages(pages.into());
            }
        }
        builder.roots[0] = Some(Root::first());
        for component in archive.components().skip(1) {
            builder.one(&component)?;
        }
        let scratch = builder.first.slot();
        for pair in archive.invocations() {
            builder.connect(&pair)?;
            builder.first.release(scratch + 1)?;
        }
        builder.offer_services()?;
        Ok(builder)
    }

    /// Creates the scheduler of the calling core and the threads of its components, under the
    /// core's root.
    pub(crate) fn populate(&mut self) -> Result<Ward, Refusal> {
        let rank = cores::rank() as usize;
        let root = self.roots.get(rank).copied().flatten();
        let component = self.archive.scheduler(rank as u32);
        let (Some(root), Some(component)) = (root, component) else {
            return Err(Refusal::NoScheduler);
        };
        let first = &mut self.first;
        // Recently emptied slots must rest while several cores run.
        first.skip_released();
        let time = first.make(Operation::MakeTime, [root.time, ALL, 0])?;
        let Made {
            component: slot,
            leaf,
            scb,
            ..
        } = self.made[component.number];
        let under = [root.scheduler, component.number as u64, time];
        let [thread, _, scheduler] =
            first.schedule_in([slot, leaf, scb], component.packed, under)?;
        self.cores[rank] = Some(Core { scheduler, time });
        for thread in self.archive.threads_on(rank as u32) {
            let slot = self.first.slot();
            self.thread(&thread, slot)?;
        }
        Ok(Ward {
            thread,
            time,
            root,
            component,
        })
    }

    /// Runs `function(rank)` on every other core with components, as a thread of this component.
    pub(crate) fn start_cores(&mut self, function: extern "C" fn(u64) -> !) -> Result<(), Status> {
        let archive = self.archive;
        let has_components = |rank: &u64| archive.scheduler(*rank as u32).is_some();
        for rank in (1..COMPONENT_CORES as u64).filter(has_components) {
            self.roots[rank as usize] = Some(self.first.prepare_core(rank)?);
            self.first.start_core(rank, function, rank)?;
        }
        Ok(())
    }

    /// The partition's name.
    pub(crate) fn partition(&self) -> &'static str {
        name_text(&self.page.info.name)
    }

    /// Interfaces that a component invokes or provides.
    fn invocations_of(
        &self,
        component: &Component<'_>,
    ) -> impl Iterator<Item = Invocation<'static>> + use<> {
        let (archive, number) = (self.archive, component.number);
        let all = archive.invocations();
        all.filter(move |pair| pair.involves(number))
    }

    /// Builds a component; its slots stay in use if it may be restarted.
    fn one(&mut self, component: &Component<'_>) -> Result<(), Status> {
        let again = component.wiring.on_fault == OnFault::Restart as u32;
        let involved = self.invocations_of(component).count() as u64;
        let threads = u64::from(component.wiring.threads());
        let first = &mut self.first;
        if again {
            first.keep_together(OWN_SLOTS + threads + involved);
        }
        let from = first.position();
        let [component_slot, leaf, thread_slot] = [(); 3].map(|()| first.slot());
        // One slot is handed out also where it has no thread.
        (1..threads).for_each(|_| _ = first.slot());
        let scratch = first.slot();
        let given = Resources {
            page: self.page,
            pulses: &self.pulses,
            shared: &self.shared,
            jobs: &self.jobs,
            contents: &self.contents,
        };
        let (slots, pool) = one(first, self.archive, component, &given)?;
        keep(component_slot, slots.component)?;
        keep(leaf, slots.leaf)?;
        let scb = match component.is(Role::Scheduler) {
            true => first.furnish(&slots, pool)?,
            false => 0,
        };
        // Created after the objects that they refer to.
        let threads = Position {
            page: first.pages(threads.max(1)),
            slot: thread_slot,
        };
        let parts = if again {
            (0..involved).for_each(|_| _ = first.slot());
            Some([from, first.position()])
        } else {
            first.release(scratch)?;
            None
        };
        self.made[component.number] = Made {
            component: component_slot,
            leaf,
            threads,
            scb,
            parts,
        };
        Ok(())
    }

    /// Creates a thread of a component. Only the scheduler of its core, the calling one, keeps a
    /// capability; it passes through a slot here.
    fn thread(&self, thread: &Thread<'_>, slot: u64) -> Result<(), Status> {
        let &Thread {
            index,
            component,
            number,
            ..
        } = thread;
        let core = self.cores.get(component.wiring.core as usize);
        let scheduler = self.archive.scheduler(component.wiring.core);
        let (Some(Some(core)), Some(scheduler)) = (core, scheduler) else {
            return Ok(());
        };
        let made = self.made[component.number];
        let entry = component.packed.entry + if number == 0 { 0 } else { TASK };
        let stack = stack_top(number, component.wiring.stack_pages.into());
        let page = made.threads.page + number;
        let words = [page, slot, made.component, entry, stack];
        call(first::MEMORY, Operation::MakeThread, words)?;
        call(slot, Operation::Bind, [core.scheduler, index, core.time])?;
        let leaf = self.made[scheduler.number].leaf;
        copy(leaf, thread_slot(index), slot)?;
        empty(slot)
    }

    /// Gives a component a capability to invoke another one.
    fn connect(&mut self, pair: &Invocation<'_>) -> Result<(), Status> {
        let place = interface_slot(pair.interface);
        let target = self.made[pair.provider.number].component;
        let token = token(pair.interface, pair.client);
        if pair.client == 0 {
            let packed = pair.provider.packed;
            return self
                .first
                .invocation_at(place, packed, target, token)
                .map(|_| ());
        }
        let made = self.first.invocation(pair.provider.packed, target, token)?;
        copy(self.made[pair.client].leaf, place, made)
    }

    /// Gives schedulers the capability to invoke this component.
    fn offer_services(&mut self) -> Result<(), Status> {
        let archive = self.archive;
        let Some(boot) = archive.of_role(Role::Boot) else {
            return Ok(());
        };
        for scheduler in archive.components().filter(|one| one.is(Role::Scheduler)) {
            let token = scheduler.wiring.core.into();
            let made = self
                .first
                .invocation(boot.packed, first::COMPONENT, token)?;
            copy(self.made[scheduler.number].leaf, BOOT, made)?;
        }
        Ok(())
    }

    /// Releases the parts of a component of the calling core, after its thread was retired, and
    /// builds it again from the same pages.
    ///
    /// # Errors
    /// `Resting` and `InUse`: a core may still refer to the old component, or a thread is inside:
    /// to be called again.
    pub(crate) fn restart(&mut self, number: usize) -> Result<(), Status> {
        let found = self.archive.components().nth(number);
        let component = found.ok_or(Status::BadArgument)?;
        let made = self.made[number];
        let [from, to] = made.parts.ok_or(Status::BadArgument)?;
        self.take_apart(&component, [from, to])?;
        let end = self.first.position();
        self.first.go_to(from);
        let built = self.build_again(&component);
        self.first.go_to(end);
        built
    }

    /// Threads of a component.
    fn threads_of(
        &self,
        component: &Component<'_>,
    ) -> impl Iterator<Item = Thread<'static>> + use<> {
        let (archive, number) = (self.archive, component.number);
        archive
            .threads()
            .filter(move |thread| thread.component.number == number)
    }

    fn build_again(&mut self, component: &Component<'_>) -> Result<(), Status> {
        self.one(component)?;
        let made = self.made[component.number];
        let Some([from, to]) = made.parts else {
            return Err(Status::BadArgument);
        };
        let involved = self.invocations_of(component);
        self.first.go_to(Position {
            slot: to.slot - involved.count() as u64,
            ..from
        });
        for pair in self.invocations_of(component) {
            self.connect(&pair)?;
        }
        self.threads_of(component)
            .try_for_each(|thread| self.thread(&thread, made.threads.slot + thread.number))
    }

    /// Releases everything from which a component was created. Capabilities that others still hold
    /// become invalid.
    fn take_apart(
        &self,
        component: &Component<'_>,
        [from, to]: [Position; 2],
    ) -> Result<(), Status> {
        if let Some(scheduler) = self.archive.scheduler(component.wiring.core) {
            let leaf = self.made[scheduler.number].leaf;
            for thread in self.threads_of(component) {
                remove(leaf, thread_slot(thread.index))?;
            }
        }
        let provided = |pair: &Invocation<'_>| pair.provider.number == component.number;
        for pair in self.archive.invocations().filter(provided) {
            let leaf = if pair.client == 0 {
                first::LEAF
            } else {
                self.made[pair.client].leaf
            };
            remove(leaf, interface_slot(pair.interface))?;
        }
        // First the capabilities to invoke, which a restart before has left in the last slots: to ask one of them for its
        // kind would invoke.
        let involved = self.invocations_of(component).count() as u64;
        for slot in to.slot - involved..to.slot {
            empty(slot)?;
        }
        for slot in from.slot..to.slot {
            let pages = call(slot, Operation::Identify, []) == Ok(Kind::Pages as u64);
            for index in 0..TABLE_ENTRIES * u64::from(pages) {
                match call(slot, Operation::Unmap, [index]) {
                    Ok(_) | Err(Status::Nothing) => {}
                    Err(status) => return Err(status),
                }
            }
        }
        // Its leaf: the capabilities in it refer to other components, and to itself.
        let leaf = self.made[component.number].leaf;
        if call(leaf, Operation::Identify, []).is_ok() {
            for place in 0..SLOTS {
                remove(leaf, place)?;
            }
        }
        for slot in from.slot..to.slot {
            if call(slot, Operation::Identify, []) == Ok(Kind::Table as u64) {
                // This takes the leaf off a root; the leaf is empty by now.
                call(slot, Operation::Remove, [0])?;
            }
        }
        for slot in from.slot..to.slot {
            empty(slot)?;
        }
        // Later pages refer to earlier ones. The second round finds pages that are still referred
        // to.
        for _ in 0..2 {
            for page in (from.page..to.page).rev() {
                call(first::MEMORY, Operation::Reclaim, [page])?;
            }
        }
        Ok(())
    }
}

/// Entries of a translation table.
const TABLE_ENTRIES: u64 = 512;

/// Copies a capability to one of the boot component's own slots.
fn keep(slot: u64, from: u64) -> Result<(), Status> {
    let [leaf, place] = leaf_of(slot);
    copy(leaf, place, from)
}

fn remove(leaf: u64, place: u64) -> Result<(), Status> {
    call(leaf, Operation::Remove, [place]).map(|_| ())
}

pub(crate) fn copy(leaf: u64, place: u64, from: u64) -> Result<(), Status> {
    call(leaf, Operation::Copy, [place, from]).map(|_| ())
}

const _: () = assert!(SCHEDULER_FREE < SLOTS);
