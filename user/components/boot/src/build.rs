//! From the wiring to components with capabilities
//!
//! One component after the other: its address space and table, what it owns of the window, its page
//! about itself; last, when all are there, the capabilities to invoke each other, and the threads.
//! Slots that only building needs are emptied again. A component that may be restarted keeps its slots:
//! it is made of the same pages and slots each time, which are given up before.

use crate::space::Space;
use bulkhead_abi::component::Wiring;
use bulkhead_abi::component::{
    BOOT, COMPONENT_CORES, ComponentInfo, INFO_ADDRESS, MAX_SHARED, OnFault, Part, Role,
    SCHEDULER_FREE, Shared, SharedMemory, interface_slot, thread_slot, token,
};
use bulkhead_abi::guest::{
    ChannelEnd, ChannelKind, Function, GuestInfo, GuestPage, Role as EndRole,
};
use bulkhead_abi::kernel::{
    ALL, IMAGE, Kind, MAX_COMPONENTS, Operation, Rights, SLOTS, STACK_TOP, Status, first,
};
use bulkhead_abi::{PAGE_SIZE, name_text};
use bulkhead_component::First;
use bulkhead_component::call::call;
use bulkhead_component::cores::{self, Root};
use bulkhead_component::first::{Component as Slots, Position, empty, leaf_of};
use bulkhead_formats::archive::{Checked, Component, Flaw, Invocation};
use core::fmt;
use zerocopy::{FromZeros, IntoBytes};

/// Why a partition is not built, or ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    Archive(Flaw),
    Kernel(Status),
    NoScheduler,
    Faulted(u64),
}

impl Refusal {
    /// What the monitor is told.
    pub(crate) const fn code(self) -> u64 {
        match self {
            Self::Archive(_) => 0x4152_4348,
            Self::Kernel(status) => status as u64,
            Self::NoScheduler => 0x5343_4845,
            Self::Faulted(syndrome) => syndrome,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(flaw) => write!(f, "the archive has a flaw: {flaw:?}"),
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

/// Slots of one component that stay.
#[derive(Clone, Copy, Default)]
struct Made {
    component: u64,
    leaf: u64,
    /// Where its thread is made.
    thread: Position,
    /// Page of a scheduler's SCB.
    scb: u64,
    /// What it is made of, from and to, where it may be made again.
    parts: Option<[Position; 2]>,
}

/// The place where the capabilities of the boot component to invoke others lie.
const OWN_INTERFACES: u64 = interface_slot(0);
/// What a component's identity is more than its number: 0 is the kernel's, 1 the boot component's.
const IDENTITY: u64 = 1;
/// Slots that a component takes at most, beside those for who invokes whom: itself, table, leaf, thread
/// and translation tables, one of them per 2 MiB of the window.
const OWN_SLOTS: u64 = 32;

const _: () = assert!(OWN_INTERFACES == first::FREE);

/// Slots of what runs on a core.
#[derive(Clone, Copy)]
struct Core {
    /// The scheduler of the core's components.
    scheduler: u64,
    /// Its time.
    time: u64,
}

/// A scheduler that is looked after: slots of its thread and its time, and what it is.
pub(crate) struct Ward {
    pub(crate) thread: u64,
    pub(crate) time: u64,
    pub(crate) root: Root,
    pub(crate) component: Component<'static>,
}

/// Builds the components of a partition, once and again.
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
}

/// By its number: the first page of what components share.
type SharedPages = [u64; MAX_SHARED];

/// By the core of a scheduler that does not own the heartbeat where another one does: the page that it has in place
/// of the guest page.
type Pulses = [Option<u64>; COMPONENT_CORES];

impl Builder {
    /// Builds all components. What runs on a core is made there, by [`Builder::populate`].
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
        };
        if archive.components().any(|one| one.owns(Part::Heartbeat)) {
            let others = archive.components().filter(|one| one.is(Role::Scheduler));
            for other in others.filter(|one| !one.owns(Part::Heartbeat)) {
                builder.pulses[other.wiring.core as usize] = Some(builder.first.page());
            }
        }
        for (number, shared) in archive.shared() {
            // Of no component's own: they stay when one is made again.
            builder.shared[number] = builder.first.pages(shared.pages.into());
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

    /// Makes the scheduler of the calling core and the threads of its components, under the core's root.
    pub(crate) fn populate(&mut self) -> Result<Ward, Refusal> {
        let rank = cores::rank() as usize;
        let root = self.roots.get(rank).copied().flatten();
        let component = self.archive.scheduler(rank as u32);
        let (Some(root), Some(component)) = (root, component) else {
            return Err(Refusal::NoScheduler);
        };
        let first = &mut self.first;
        // What was emptied a moment ago rests while several cores run.
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
        for (index, component) in self.archive.threads_on(rank as u32) {
            let slot = self.first.slot();
            self.thread(index, &component, slot)?;
        }
        Ok(Ward {
            thread,
            time,
            root,
            component,
        })
    }

    /// Has every other core with components run `function(rank)`, a thread of this component.
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

    /// A component, whose slots stay where it may be made again.
    fn one(&mut self, component: &Component<'_>) -> Result<(), Status> {
        let again = component.wiring.on_fault == OnFault::Restart as u32;
        let invoked = self.archive.invocations();
        let involved = invoked
            .filter(|pair| pair.involves(component.number))
            .count();
        let first = &mut self.first;
        if again {
            first.keep_together(OWN_SLOTS + involved as u64);
        }
        let from = first.position();
        let [component_slot, leaf, thread_slot, scratch] = [(); 4].map(|()| first.slot());
        let given = Given {
            page: self.page,
            pulses: &self.pulses,
            shared: &self.shared,
        };
        let slots = one(first, self.archive, component, &given)?;
        keep(component_slot, slots.component)?;
        keep(leaf, slots.leaf)?;
        let scb = match component.is(Role::Scheduler) {
            true => first.furnish(&slots, component.wiring.memory_pages.into())?,
            false => 0,
        };
        // Behind what it refers to.
        let thread = Position {
            page: first.page(),
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
            thread,
            scb,
            parts,
        };
        Ok(())
    }

    /// A component's thread, of which the scheduler of its core, the calling one, alone keeps a capability.
    /// It passes through a slot.
    fn thread(&self, index: u64, component: &Component<'_>, slot: u64) -> Result<(), Status> {
        let core = self.cores.get(component.wiring.core as usize);
        let keeper = self.archive.scheduler(component.wiring.core);
        let (Some(Some(core)), Some(keeper)) = (core, keeper) else {
            return Ok(());
        };
        let made = self.made[component.number];
        let entry = component.packed.entry;
        let words = [made.thread.page, slot, made.component, entry, STACK_TOP];
        call(first::MEMORY, Operation::MakeThread, words)?;
        call(slot, Operation::Bind, [core.scheduler, index, core.time])?;
        let leaf = self.made[keeper.number].leaf;
        copy(leaf, thread_slot(index), slot)?;
        empty(slot)
    }

    /// Gives a component the capability to invoke what it needs.
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
        let Some(own) = archive.of_role(Role::Boot) else {
            return Ok(());
        };
        for keeper in archive.components().filter(|one| one.is(Role::Scheduler)) {
            let token = keeper.wiring.core.into();
            let made = self.first.invocation(own.packed, first::COMPONENT, token)?;
            copy(self.made[keeper.number].leaf, BOOT, made)?;
        }
        Ok(())
    }

    /// Takes a component of the calling core apart, whose thread has been retired, and makes it again of the
    /// same pages.
    ///
    /// # Errors
    /// `Resting` and `InUse`: somebody may still hold what it was, or is inside: to be asked again.
    pub(crate) fn restart(&mut self, number: usize) -> Result<(), Status> {
        let found = self.archive.threads().find(|(_, one)| one.number == number);
        let (index, component) = found.ok_or(Status::BadArgument)?;
        let made = self.made[number];
        let [from, to] = made.parts.ok_or(Status::BadArgument)?;
        self.take_apart(index, &component, [from, to])?;
        let end = self.first.position();
        self.first.go_to(from);
        let built = self.build_again(index, &component);
        self.first.go_to(end);
        built
    }

    fn build_again(&mut self, index: u64, component: &Component<'_>) -> Result<(), Status> {
        self.one(component)?;
        let made = self.made[component.number];
        let Some([from, to]) = made.parts else {
            return Err(Status::BadArgument);
        };
        let involved = |pair: &Invocation<'_>| pair.involves(component.number);
        let slots = self.archive.invocations().filter(involved).count() as u64;
        self.first.go_to(Position {
            slot: to.slot - slots,
            ..from
        });
        for pair in self.archive.invocations().filter(involved) {
            self.connect(&pair)?;
        }
        self.thread(index, component, made.thread.slot)
    }

    /// Gives up everything that a component is made of; what of it others may still hold is refused.
    fn take_apart(
        &self,
        index: u64,
        component: &Component<'_>,
        [from, to]: [Position; 2],
    ) -> Result<(), Status> {
        if let Some(keeper) = self.archive.scheduler(component.wiring.core) {
            remove(self.made[keeper.number].leaf, thread_slot(index))?;
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
        for slot in from.slot..to.slot {
            let pages = call(slot, Operation::Identify, []) == Ok(Kind::Pages as u64);
            for index in 0..TABLE_ENTRIES * u64::from(pages) {
                match call(slot, Operation::Unmap, [index]) {
                    Ok(_) | Err(Status::Nothing) => {}
                    Err(status) => return Err(status),
                }
            }
        }
        // Its leaf: what it holds refers to others, and to itself.
        let leaf = self.made[component.number].leaf;
        if call(leaf, Operation::Identify, []).is_ok() {
            for place in 0..SLOTS {
                remove(leaf, place)?;
            }
        }
        for slot in from.slot..to.slot {
            if call(slot, Operation::Identify, []) == Ok(Kind::Table as u64) {
                // Of a root this takes the leaf off; in the leaf there is nothing any more.
                call(slot, Operation::Remove, [0])?;
            }
        }
        for slot in from.slot..to.slot {
            empty(slot)?;
        }
        // Later pages refer to earlier ones. The second round finds what is still held elsewhere.
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

/// Copies a capability to one of its own slots.
fn keep(slot: u64, from: u64) -> Result<(), Status> {
    let [leaf, place] = leaf_of(slot);
    copy(leaf, place, from)
}

fn remove(leaf: u64, place: u64) -> Result<(), Status> {
    call(leaf, Operation::Remove, [place]).map(|_| ())
}

fn copy(leaf: u64, place: u64, from: u64) -> Result<(), Status> {
    call(leaf, Operation::Copy, [place, from]).map(|_| ())
}

/// What components are given parts of.
struct Given<'a> {
    page: &'a GuestPage,
    pulses: &'a Pulses,
    shared: &'a SharedPages,
}

/// A component with its memory and its page about itself.
fn one(
    first: &mut First,
    archive: Checked<'_>,
    component: &Component<'_>,
    given: &Given<'_>,
) -> Result<Slots, Status> {
    let Given { page, pulses, .. } = *given;
    let info = &page.info;
    let wiring = component.wiring;
    let identity = component.number as u64 + IDENTITY;
    let stack = u64::from(wiring.stack_pages);
    let again = wiring.on_fault == OnFault::Restart as u32;
    let slots = first.component_with(component.packed, identity, stack, again)?;
    let mut space = Space::new(&slots);
    let mut about = ComponentInfo::new_zeroed();
    describe(&mut about, archive, component, info);
    let mine = |part| component.owns(part);
    if mine(Part::Console) {
        about.guest.console_out = space.window(first, info.console_out, Rights::Write)?;
        about.guest.console_in = space.window(first, info.console_in, Rights::Write)?;
    }
    if mine(Part::Trace) {
        about.guest.trace = space.window(first, info.trace, Rights::Write)?;
    }
    heart(first, &mut space, component, pulses, &mut about)?;
    about.guest.link = space.page(first, info.link)?;
    ends(first, &mut space, component, info, &mut about.guest)?;
    let shared = archive.shared().zip(given.shared);
    share(first, &mut space, component, shared, &mut about)?;
    let place = (wiring.function as usize).checked_sub(1);
    if let Some(function) = place.and_then(|place| page.functions.get(place)) {
        about.function = self::function(first, &mut space, function)?;
    }
    if component.is(Role::Scheduler) {
        about.archive = space.memory(first, first::ARCHIVE, [0, 1], Rights::Read)?;
        let [page, pages] = archive.timing();
        if pages != 0 {
            let address = space.memory(first, first::ARCHIVE, [page, pages], Rights::Read)?;
            about.timing = [address, pages * PAGE_SIZE];
        }
    } else if wiring.memory_pages != 0 {
        memory(first, &slots, component, &mut about)?;
    }
    // The scheduler listens on behalf of drivers, which get no capability to interrupts; it can be one.
    let waits = |one: &Wiring| one.intid != 0 || one.doorbells != 0;
    let mut threads = archive.threads_on(wiring.core);
    let waited_for = waits(wiring) || threads.any(|(_, one)| waits(one.wiring));
    let listens = component.is(Role::Scheduler) && waited_for;
    for (held, place) in [
        (mine(Part::Monitor), first::MONITOR),
        (mine(Part::Interrupts) || listens, first::INTERRUPT),
    ] {
        if held {
            copy(slots.leaf, place, place)?;
        }
    }
    publish(first, &slots, &about)?;
    Ok(slots)
}

/// The heartbeat's word and those of the other cores in who owns it; in their schedulers, the word of their core. What
/// every core renews in half of half the period shows in the owner's word within half the period.
fn heart(
    first: &mut First,
    space: &mut Space,
    component: &Component<'_>,
    pulses: &Pulses,
    about: &mut ComponentInfo,
) -> Result<(), Status> {
    let mut page = |page, rights| space.memory(first, first::MEMORY, [page, 1], rights);
    if component.owns(Part::Heartbeat) {
        for (place, pulse) in about.pulses.iter_mut().zip(pulses) {
            *place = pulse.map_or(Ok(0), |pulse| page(pulse, Rights::Read))?;
        }
        let page = [first.guest_page(), PAGE_SIZE];
        [about.guest_page, _] = space.window(first, page, Rights::Write)?;
    } else if component.is(Role::Scheduler)
        && let Some(pulse) = pulses[component.wiring.core as usize]
    {
        about.guest_page = page(pulse, Rights::Write)?;
    }
    if pulses.iter().any(Option::is_some) {
        about.guest.heartbeat_period_ticks /= 2;
    }
    Ok(())
}

/// What a component is told, but for what is mapped.
/// In its place: a page is a quarter of the stack.
fn describe(
    about: &mut ComponentInfo,
    archive: Checked<'_>,
    component: &Component<'_>,
    info: &GuestInfo,
) {
    about.guest.magic = info.magic;
    about.guest.version = info.version;
    about.guest.name = info.name;
    about.guest.heartbeat_period_ticks = info.heartbeat_period_ticks;
    about.guest.cores = info.cores;
    about.guest.argument_len = info.argument_len;
    about.guest.argument = info.argument;
    about.guest.memory = [component.image_end(), 0];
    about.name = component.packed.name;
    about.number = component.number as u32;
    about.needs = component.wiring.needs;
    for ((_, interface), place) in archive.interfaces().zip(&mut about.interfaces) {
        *place = interface.name;
    }
}

/// A component's own memory, behind its image.
fn memory(
    first: &mut First,
    slots: &Slots,
    component: &Component<'_>,
    about: &mut ComponentInfo,
) -> Result<(), Status> {
    let (start, pages) = (
        component.image_end(),
        u64::from(component.wiring.memory_pages),
    );
    about.guest.memory = [start, pages * PAGE_SIZE];
    let number = first.pages(pages);
    // Until now what the function calls guest-physical address 0.
    let from = &mut about.function.memory;
    *from = from.wrapping_add(first.guest_physical(number));
    for page in 0..pages {
        let index = (start - IMAGE) / PAGE_SIZE + page;
        let words = [index, first::MEMORY, number + page, Rights::Write as u64];
        call(slots.pages[2], Operation::Map, words)?;
    }
    Ok(())
}

/// What a component has of all that is shared, each with its first page.
fn share<'a>(
    first: &mut First,
    space: &mut Space,
    component: &Component<'_>,
    shared: impl Iterator<Item = ((usize, &'a Shared), &'a u64)>,
    about: &mut ComponentInfo,
) -> Result<(), Status> {
    let has = |shared: &Shared| shared.components >> component.number & 1 != 0;
    for ((number, shared), page) in shared.filter(|((_, shared), _)| has(shared)) {
        let pages = u64::from(shared.pages);
        about.shared[number] = SharedMemory {
            name: shared.name,
            address: space.memory(first, first::MEMORY, [*page, pages], Rights::Write)?,
            bytes: pages * PAGE_SIZE,
        };
    }
    Ok(())
}

/// The channel ends of a component; to a scheduler, that there are all those of the partition.
fn ends(
    first: &mut First,
    space: &mut Space,
    component: &Component<'_>,
    info: &GuestInfo,
    about: &mut GuestInfo,
) -> Result<(), Status> {
    if component.is(Role::Scheduler) {
        about.channel_count = info.channel_count;
        about.channels = info.channels;
        for end in &mut about.channels {
            [end.ipa, end.size, end.link, end.standby_link] = [0; 4];
        }
        return Ok(());
    }
    let held = info.channels.iter().enumerate();
    let held = held.filter(|(number, _)| component.wiring.channels & 1 << number != 0);
    for ((_, end), place) in held.zip(&mut about.channels) {
        *place = channel(first, space, end)?;
        about.channel_count += 1;
    }
    Ok(())
}

/// A channel's end, where the component finds it.
fn channel(first: &mut First, space: &mut Space, end: &ChannelEnd) -> Result<ChannelEnd, Status> {
    let reads = end.role == EndRole::Reader as u32 && end.kind == ChannelKind::Recorder as u32;
    let rights = if reads { Rights::Read } else { Rights::Write };
    let [ipa, size] = space.window(first, [end.ipa, end.size], rights)?;
    Ok(ChannelEnd {
        ipa,
        size,
        link: space.page(first, end.link)?,
        standby_link: space.page(first, end.standby_link)?,
        ..*end
    })
}

/// A PCIe function, where its driver finds it: its configuration page, and the pages behind its base
/// address registers.
fn function(first: &mut First, space: &mut Space, given: &Function) -> Result<Function, Status> {
    given.mapped(|page, pages| space.memory(first, first::DEVICES, [page, pages], Rights::Write))
}

/// Writes the page about a component, and maps it there for reading.
fn publish(first: &mut First, slots: &Slots, about: &ComponentInfo) -> Result<(), Status> {
    let number = first.page();
    let index = (INFO_ADDRESS - IMAGE) / PAGE_SIZE;
    let words = [index, first::MEMORY, number, Rights::Read as u64];
    // The first mapping clears a page; it is filled under a second one.
    call(slots.pages[2], Operation::Map, words)?;
    first.fill(number, about.as_bytes())
}

const _: () = assert!(SCHEDULER_FREE < SLOTS);
