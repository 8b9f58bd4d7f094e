//! From the wiring to components with capabilities
//!
//! One component after the other: its address space and table, what it owns of the window, its page
//! about itself; last, when all are there, the capabilities to invoke each other, and the threads.
//! Slots that only building needs are emptied again.

use crate::space::Space;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{
    ComponentInfo, INFO_ADDRESS, Part, Role, SCHEDULER_FREE, interface_slot, thread_slot, token,
};
use bulkhead_abi::guest::{
    ChannelEnd, ChannelKind, Function, GuestInfo, GuestPage, Role as EndRole,
};
use bulkhead_abi::kernel::{
    ALL, IMAGE, MAX_COMPONENTS, Operation, Rights, STACK_TOP, Status, first,
};
use bulkhead_component::First;
use bulkhead_component::call::call;
use bulkhead_component::first::Component as Slots;
use bulkhead_formats::archive::{Checked, Component, Flaw};
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

/// Slots that stay.
pub(crate) struct Built {
    pub(crate) scheduler_thread: u64,
    pub(crate) time: u64,
}

/// Slots of one component that stay until all are built.
#[derive(Clone, Copy, Default)]
struct Made {
    component: u64,
    leaf: u64,
}

/// The place where the capabilities of the boot component to invoke others lie.
const OWN_INTERFACES: u64 = interface_slot(0);
/// What a component's identity is more than its number: 0 is the kernel's, 1 the boot component's.
const IDENTITY: u64 = 1;

const _: () = assert!(OWN_INTERFACES == first::FREE);

pub(crate) fn all(
    first: &mut First,
    archive: Checked<'_>,
    page: &GuestPage,
) -> Result<Built, Refusal> {
    let interfaces = bulkhead_abi::component::MAX_INTERFACES;
    for _ in 0..interfaces {
        first.slot();
    }
    let mut made = [Made::default(); MAX_COMPONENTS];
    let time = first.time(ALL, 0)?;
    let [scheduler, scheduler_thread] = [first.slot(), first.slot()];
    for component in archive.components().skip(1) {
        let kept = Made {
            component: first.slot(),
            leaf: first.slot(),
        };
        let scratch = first.slot();
        let slots = one(first, archive, &component, page)?;
        copy(first::LEAF, kept.component, slots.component)?;
        copy(first::LEAF, kept.leaf, slots.leaf)?;
        if component.is(Role::Scheduler) {
            let pages = u64::from(component.wiring.memory_pages);
            let subject = [component.number as u64, time, pages];
            let [thread, _, own] = first.schedule(&slots, component.packed, subject)?;
            copy(first::LEAF, scheduler, own)?;
            copy(first::LEAF, scheduler_thread, thread)?;
        }
        first.release(scratch)?;
        made[component.number] = kept;
    }
    connect(first, archive, &made)?;
    for (index, component) in archive.threads() {
        let scratch = first.slot();
        let kept = made[component.number];
        let start = [kept.component, component.packed.entry, STACK_TOP];
        let thread = first.make(Operation::MakeThread, start)?;
        call(thread, Operation::Bind, [scheduler, index, time])?;
        if let Some(keeper) = archive.of_role(Role::Scheduler) {
            copy(made[keeper.number].leaf, thread_slot(index), thread)?;
        }
        first.release(scratch)?;
    }
    Ok(Built {
        scheduler_thread,
        time,
    })
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

/// Gives every component the capabilities to invoke what it needs.
fn connect(first: &mut First, archive: Checked<'_>, made: &[Made]) -> Result<(), Status> {
    for component in archive.components() {
        let needed = |(number, _): &(usize, _)| component.wiring.needs & 1 << number != 0;
        for (number, interface) in archive.interfaces().filter(needed) {
            let provider = archive.components().nth(interface.provider as usize);
            let target = made.get(interface.provider as usize);
            let (Some(provider), Some(target)) = (provider, target) else {
                continue;
            };
            let token = token(number, component.number);
            let place = interface_slot(number);
            if component.is(Role::Boot) {
                first.invocation_at(place, provider.packed, target.component, token)?;
            } else if let Some(client) = made.get(component.number) {
                let scratch = first.invocation(provider.packed, target.component, token)?;
                copy(client.leaf, place, scratch)?;
                first.release(scratch)?;
            }
        }
    }
    Ok(())
}

const _: () = assert!(SCHEDULER_FREE < 128);
