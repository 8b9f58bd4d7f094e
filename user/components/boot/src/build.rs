//! From the wiring to components with capabilities
//!
//! One component after the other: its address space and table, what it owns of the window, its page
//! about itself; last, when all are there, the capabilities to invoke each other, and the threads.
//! Slots that only building needs are emptied again. A component that may be restarted keeps its slots:
//! it is made of the same pages and slots each time, which are given up before.

use crate::space::Space;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{
    ComponentInfo, INFO_ADDRESS, OnFault, Part, RESTART, Role, SCHEDULER_FREE, interface_slot,
    thread_slot, token,
};
use bulkhead_abi::guest::{
    ChannelEnd, ChannelKind, Function, GuestInfo, GuestPage, Role as EndRole,
};
use bulkhead_abi::kernel::{
    ALL, IMAGE, Kind, MAX_COMPONENTS, Operation, Rights, SLOTS, STACK_TOP, Status, first,
};
use bulkhead_component::First;
use bulkhead_component::call::call;
use bulkhead_component::first::{Component as Slots, Position};
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

/// Builds the components of a partition, once and again.
pub(crate) struct Builder {
    first: First,
    archive: Checked<'static>,
    page: &'static GuestPage,
    made: [Made; MAX_COMPONENTS],
    scheduler: u64,
    time: u64,
    pub(crate) scheduler_thread: u64,
}

impl Builder {
    /// Builds all components.
    pub(crate) fn build(
        mut first: First,
        archive: Checked<'static>,
        page: &'static GuestPage,
    ) -> Result<Self, Refusal> {
        for _ in 0..bulkhead_abi::component::MAX_INTERFACES {
            first.slot();
        }
        let time = first.time(ALL, 0)?;
        let [scheduler, scheduler_thread] = [first.slot(), first.slot()];
        let mut builder = Self {
            first,
            archive,
            page,
            made: [Made::default(); MAX_COMPONENTS],
            scheduler,
            time,
            scheduler_thread,
        };
        for component in archive.components().skip(1) {
            builder.one(&component)?;
        }
        let scratch = builder.first.slot();
        for pair in archive.invocations() {
            builder.connect(&pair)?;
            builder.first.release(scratch + 1)?;
        }
        for (index, component) in archive.threads() {
            builder.thread(index, &component)?;
        }
        builder.offer_restarts()?;
        Ok(builder)
    }

    /// What the scheduler's thread runs on.
    pub(crate) const fn time(&self) -> u64 {
        self.time
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
        let slots = one(first, self.archive, component, self.page)?;
        copy(first::LEAF, component_slot, slots.component)?;
        copy(first::LEAF, leaf, slots.leaf)?;
        if component.is(Role::Scheduler) {
            let pages = u64::from(component.wiring.memory_pages);
            let subject = [component.number as u64, self.time, pages];
            let [thread, _, own] = first.schedule(&slots, component.packed, subject)?;
            copy(first::LEAF, self.scheduler, own)?;
            copy(first::LEAF, self.scheduler_thread, thread)?;
        }
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
            parts,
        };
        Ok(())
    }

    /// A component's thread, of which the scheduler alone keeps a capability.
    fn thread(&mut self, index: u64, component: &Component<'_>) -> Result<(), Status> {
        let Some(keeper) = self.archive.of_role(Role::Scheduler) else {
            return Ok(());
        };
        let made = self.made[component.number];
        let Position { page, slot } = made.thread;
        let entry = component.packed.entry;
        let words = [page, slot, made.component, entry, STACK_TOP];
        call(first::MEMORY, Operation::MakeThread, words)?;
        call(slot, Operation::Bind, [self.scheduler, index, self.time])?;
        let leaf = self.made[keeper.number].leaf;
        copy(leaf, thread_slot(index), slot)?;
        call(first::LEAF, Operation::Remove, [slot]).map(|_| ())
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

    /// Gives the scheduler the capability to have components made again, if there are such.
    fn offer_restarts(&mut self) -> Result<(), Status> {
        let restarts = |one: &Component<'_>| one.wiring.on_fault == OnFault::Restart as u32;
        let any = self.archive.components().any(|one| restarts(&one));
        let [Some(own), Some(keeper)] =
            [Role::Boot, Role::Scheduler].map(|role| self.archive.of_role(role))
        else {
            return Ok(());
        };
        if any {
            let made = self.first.invocation(own.packed, first::COMPONENT, 0)?;
            copy(self.made[keeper.number].leaf, RESTART, made)?;
        }
        Ok(())
    }

    /// Takes a component apart, whose thread has been retired, and makes it again of the same pages.
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
        self.thread(index, component)
    }

    /// Gives up everything that a component is made of; what of it others may still hold is refused.
    fn take_apart(
        &self,
        index: u64,
        component: &Component<'_>,
        [from, to]: [Position; 2],
    ) -> Result<(), Status> {
        if let Some(keeper) = self.archive.of_role(Role::Scheduler) {
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
            remove(first::LEAF, slot)?;
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

fn remove(leaf: u64, place: u64) -> Result<(), Status> {
    call(leaf, Operation::Remove, [place]).map(|_| ())
}

fn copy(leaf: u64, place: u64, from: u64) -> Result<(), Status> {
    call(leaf, Operation::Copy, [place, from]).map(|_| ())
}

/// A component with its memory and its page about itself.
fn one(
    first: &mut First,
    archive: Checked<'_>,
    component: &Component<'_>,
    page: &GuestPage,
) -> Result<Slots, Status> {
    let info = &page.info;
    let wiring = component.wiring;
    let identity = component.number as u64 + IDENTITY;
    let stack = u64::from(wiring.stack_pages);
    let slots = first.component_with(component.packed, identity, stack)?;
    let mut space = Space::new(&slots);
    let mut about = about(archive, component, info);
    let mine = |part| component.owns(part);
    if mine(Part::Console) {
        about.guest.console_out = space.window(first, info.console_out, Rights::Write)?;
        about.guest.console_in = space.window(first, info.console_in, Rights::Write)?;
    }
    if mine(Part::Trace) {
        about.guest.trace = space.window(first, info.trace, Rights::Write)?;
    }
    if mine(Part::Heartbeat) {
        let page = [first.guest_page(), PAGE_SIZE];
        [about.guest_page, _] = space.window(first, page, Rights::Write)?;
    }
    about.guest.link = space.page(first, info.link)?;
    let held = info.channels.iter().enumerate();
    let held = held.filter(|(number, _)| wiring.channels & 1 << number != 0);
    for ((_, end), place) in held.zip(&mut about.guest.channels) {
        *place = channel(first, &mut space, end)?;
        about.guest.channel_count += 1;
    }
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
        let pages = u64::from(wiring.memory_pages);
        about.guest.memory = [component.image_end(), pages * PAGE_SIZE];
        for page in 0..pages {
            let number = first.page();
            let index = (component.image_end() - IMAGE) / PAGE_SIZE + page;
            let words = [index, first::MEMORY, number, Rights::Write as u64];
            call(slots.pages[2], Operation::Map, words)?;
        }
    }
    // The scheduler listens on behalf of drivers, which get no capability to interrupts.
    let listens = archive.threads().any(|(_, one)| one.wiring.intid != 0);
    let listens = listens && component.is(Role::Scheduler);
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

/// What a component is told, but for what is mapped.
fn about(archive: Checked<'_>, component: &Component<'_>, info: &GuestInfo) -> ComponentInfo {
    let mut about = ComponentInfo::new_zeroed();
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
    about
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
    let mut map = |address: u64, bytes: u64| {
        let (page, offset) = (address / PAGE_SIZE, address % PAGE_SIZE);
        let pages = (offset + bytes).div_ceil(PAGE_SIZE);
        space.memory(first, first::DEVICES, [page, pages], Rights::Write)
    };
    let mut found = *given;
    found.configuration = map(given.configuration, PAGE_SIZE)?;
    // Registers that share a page of ports follow each other.
    let mut last = [0; 2];
    let used = found.bars.iter_mut().filter(|bar| bar.size != 0);
    for bar in used {
        let [page, mapped] = last;
        let within = bar.address % PAGE_SIZE;
        let shares = bar.address - within == page && within + u64::from(bar.size) <= PAGE_SIZE;
        if !shares {
            last = [
                bar.address - within,
                map(bar.address - within, within + u64::from(bar.size))?,
            ];
        }
        bar.address = if shares { mapped } else { last[1] } + within;
    }
    Ok(found)
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
