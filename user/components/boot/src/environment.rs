//! Environment of a component: its memory, its parts of the window, and its information page

use crate::build::{ContentsPages, JobPages, Pulses, SharedPages, copy};
use crate::space::Space;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{
    ComponentInfo, IDENTITY, INFO_ADDRESS, NO_THREAD, OnFault, Part, Role, Shared, SharedMemory,
    Wiring, pipe_functions,
};
use bulkhead_abi::guest::{
    ChannelEnd, ChannelKind, Function, GuestInfo, GuestPage, Role as EndRole,
};
use bulkhead_abi::kernel::{IMAGE, Operation, Rights, Status, first};
use bulkhead_component::First;
use bulkhead_component::call::call;
use bulkhead_component::first::Component as Slots;
use bulkhead_formats::archive::{Checked, Component};
use zerocopy::{FromZeros, IntoBytes};

/// First of the shared interrupt lines, all of which the boot component holds.
const FIRST_LINE: u64 = 32;
const LINES: u64 = 512 - FIRST_LINE;

/// The resources from which components get parts.
pub(crate) struct Resources<'a> {
    pub(crate) page: &'a GuestPage,
    pub(crate) pulses: &'a Pulses,
    pub(crate) shared: &'a SharedPages,
    pub(crate) jobs: &'a JobPages,
    pub(crate) contents: &'a ContentsPages,
}

/// Gives a component its memory and its information page. Returns, for a scheduler, the pool of
/// pages for threads, too: the first one, and how many.
pub(crate) fn one(
    first: &mut First,
    archive: Checked<'_>,
    component: &Component<'_>,
    given: &Resources<'_>,
) -> Result<(Slots, [u64; 2]), Status> {
    let Resources { page, pulses, .. } = *given;
    let info = &page.info;
    let wiring = component.wiring;
    let identity = component.number as u64 + IDENTITY;
    let stacks = [wiring.stacks(), wiring.stack_pages].map(u64::from);
    let again = wiring.on_fault == OnFault::Restart as u32;
    let slots = first.component_with(component.packed, identity, stacks, again)?;
    let mut space = Space::new(&slots);
    jobs(first, &mut space, archive, component, given.jobs)?;
    contents(first, &space, archive, component, given.contents)?;
    let mut about = ComponentInfo::new_zeroed();
    describe(&mut about, archive, component, info);
    let mine = |part| component.owns(part);
    let mut pool = [0; 2];
    if mine(Part::Console) {
        about.guest.console_out = space.window(first, info.console_out, Rights::Write)?;
        about.guest.console_in = space.window(first, info.console_in, Rights::Write)?;
    }
    if mine(Part::Trace) {
        about.guest.trace = space.window(first, recorder(wiring, info), Rights::Write)?;
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
    let [page, pages] = archive.timing();
    if pages != 0 && (component.is(Role::Scheduler) || wiring.tasks != 0) {
        let address = space.memory(first, first::ARCHIVE, [page, pages], Rights::Read)?;
        about.timing = [address, pages * PAGE_SIZE];
    }
    if component.is(Role::Scheduler) {
        about.archive = space.memory(first, first::ARCHIVE, [0, 1], Rights::Read)?;
        let pages = u64::from(wiring.memory_pages);
        pool = [first.pages(pages), pages];
        lies_at(first, pool[0], &mut about);
    } else if wiring.memory_pages != 0 {
        memory(first, &slots, component, &mut about)?;
    }
    // The scheduler receives interrupts for drivers, which get no capability to interrupts; it can
    // be a driver itself.
    let waits = |one: &Wiring| one.intid != 0 || one.doorbells != 0;
    let mut threads = archive.threads_on(wiring.core);
    let waited_for = waits(wiring) || threads.any(|one| waits(one.component.wiring));
    let listens = component.is(Role::Scheduler) && waited_for;
    if mine(Part::Monitor) {
        copy(slots.leaf, first::MONITOR, first::MONITOR)?;
    }
    let lines = if mine(Part::Interrupts) {
        Some([FIRST_LINE, LINES])
    } else {
        listens.then(|| lines(archive, component, info)).flatten()
    };
    give_lines(slots.leaf, lines)?;
    publish(first, &slots, &about)?;
    Ok((slots, pool))
}

/// Maps the memory for jobs of pipe functions, before everything else, since component and scheduler know the addresses.
fn jobs(
    first: &mut First,
    space: &mut Space,
    archive: Checked<'_>,
    component: &Component<'_>,
    jobs: &JobPages,
) -> Result<(), Status> {
    for other in archive.with_jobs_in(component) {
        let pages = [jobs[other.number], pipe_functions::BYTES / PAGE_SIZE];
        space.memory(first, first::MEMORY, pages, Rights::Write)?;
    }
    Ok(())
}

/// Maps the memory for contents of messages on the core of a program with pipe functions: it writes its own, a scheduler all.
fn contents(
    first: &mut First,
    space: &Space,
    archive: Checked<'_>,
    component: &Component<'_>,
    contents: &ContentsPages,
) -> Result<(), Status> {
    let schedules = component.is(Role::Scheduler);
    if !schedules && component.wiring.job_stacks == 0 {
        return Ok(());
    }
    for (owner, address) in archive.with_contents_on(component.wiring.core) {
        let pages = [contents[owner.number], owner.wiring.contents_pages.into()];
        let rights = match schedules || owner.number == component.number {
            true => Rights::Write,
            false => Rights::Read,
        };
        let mut space = space.at(address);
        space.memory(first, first::MEMORY, pages, rights)?;
    }
    Ok(())
}

/// Address and bytes of a component's recorder in the trace of the partition.
fn recorder(wiring: &Wiring, info: &GuestInfo) -> [u64; 2] {
    let [from, bytes] = wiring.trace.map(|pages| u64::from(pages) * PAGE_SIZE);
    match info.trace[0] {
        0 => [0, 0],
        at => [at + from, bytes],
    }
}

/// Gives a component the capability to a range of interrupt lines: the first one, and how many.
fn give_lines(leaf: u64, lines: Option<[u64; 2]>) -> Result<(), Status> {
    if let Some([line, lines]) = lines {
        let words = [first::INTERRUPT, first::INTERRUPT, line, lines];
        call(leaf, Operation::Copy, words)?;
    }
    Ok(())
}

/// The range of interrupt lines that contains all lines that a scheduler receives, for itself and
/// the threads of its core.
fn lines(archive: Checked<'_>, component: &Component<'_>, info: &GuestInfo) -> Option<[u64; 2]> {
    let wiring = component.wiring;
    let threads = archive.threads_on(wiring.core);
    let threads = threads.map(|one| one.component.wiring);
    let (mut low, mut high) = (u64::MAX, 0);
    for one in threads.chain([wiring]) {
        let rings = |place: &usize| one.doorbells >> place & 1 != 0;
        let places = (0..info.channels.len()).filter(rings);
        let bells = places.map(|place| info.channels[place].doorbell_in);
        for line in bells.chain([one.intid]).map(u64::from) {
            if (FIRST_LINE..FIRST_LINE + LINES).contains(&line) {
                (low, high) = (low.min(line), high.max(line));
            }
        }
    }
    (low <= high).then(|| [low, high - low + 1])
}

/// Maps the heartbeat's words: the partition's and those of the other cores for the component that
/// owns the heartbeat, and their core's word for schedulers. Every core renews its word within a
/// quarter of the period, and the owner writes the partition's word within half of it.
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

/// The information page of a component, except for mappings. Written in place, because a page is a
/// quarter of the stack.
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
    about.number = component.number as u8;
    about.needs = component.wiring.needs as u16;
    let mut threads = archive.threads();
    let first = threads.find(|one| one.component.number == component.number);
    about.first_thread = first.map_or(0, |first| first.index as u16);
    about.first_has_priority = u8::from(component.wiring.priority != NO_THREAD);
    about.tasks = component.wiring.tasks as u16;
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
    lies_at(first, number, about);
    for page in 0..pages {
        let index = (start - IMAGE) / PAGE_SIZE + page;
        let words = [index, first::MEMORY, number + page, Rights::Write as u64];
        call(slots.pages[2], Operation::Map, words)?;
    }
    Ok(())
}

/// Corrects the addresses in a component's page, which so far count from the start of its memory,
/// to guest-physical ones of the function.
fn lies_at(first: &First, number: u64, about: &mut ComponentInfo) {
    let from = &mut about.function.memory;
    *from = from.wrapping_add(first.guest_physical(number));
}

/// Shared memories of a component, each with its first page.
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

/// The channel ends of a component. A scheduler also gets the number of all ends of the
/// partition, of which it maps its own.
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
        for (number, end) in about.channels.iter_mut().enumerate() {
            match holds(component, number) {
                true => *end = channel(first, space, end)?,
                false => [end.ipa, end.size, end.link, end.standby_link] = [0; 4],
            }
        }
        return Ok(());
    }
    let held = info.channels.iter().enumerate();
    let held = held.filter(|&(number, _)| holds(component, number));
    for ((_, end), place) in held.zip(&mut about.channels) {
        *place = channel(first, space, end)?;
        about.channel_count += 1;
    }
    Ok(())
}

/// Returns whether a component holds the channel end of that number.
const fn holds(component: &Component<'_>, number: usize) -> bool {
    component.wiring.channels & 1 << number != 0
}

/// Maps a channel's end, and returns it with the component's addresses.
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

/// Maps a PCIe function for its driver: its configuration page, and the pages behind its base
/// address registers.
fn function(first: &mut First, space: &mut Space, given: &Function) -> Result<Function, Status> {
    given.mapped(|page, pages| space.memory(first, first::DEVICES, [page, pages], Rights::Write))
}

/// Writes a component's information page, and maps it there for reading.
fn publish(first: &mut First, slots: &Slots, about: &ComponentInfo) -> Result<(), Status> {
    let number = first.page();
    let index = (INFO_ADDRESS - IMAGE) / PAGE_SIZE;
    let words = [index, first::MEMORY, number, Rights::Read as u64];
    // The first mapping clears a page; it is filled under a second one.
    call(slots.pages[2], Operation::Map, words)?;
    first.fill(number, about.as_bytes())
}
