//! Memory that a partition of components needs until all of them run
//!
//! The kernel, the boot component and the scheduler take pages in a fixed order and give none back, so that the number of
//! pages follows from the archive and the guest page. This module takes them in the same order as
//! `kernel/core/src/boot.rs`, `user/rt/src/first.rs` and `user/components/boot/src`; `tests/qemu/boot_memory.rs`
//! runs partitions that have exactly as much memory as is counted here.

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{
    MAX_INTERFACES, NO_THREAD, OnFault, Part, Role, SCHEDULER_FREE, message_contents,
    pipe_functions,
};
use bulkhead_abi::guest::{ChannelEnd, Function, GuestPage};
use bulkhead_abi::kernel::{
    Archive, IMAGE, IMAGE_END, KERNEL_STACK_BYTES, MAX_CORES, Rights, SLOTS, STACK_PAGES, first,
};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{CARD_BYTES, EndpointKind, NONE, Stage};
use bulkhead_abi::repository::{MAX_STAGES, RECORDER};
use bulkhead_abi::timing::Vcpu;
use bulkhead_abi::timing_data::TimingData;
use bulkhead_formats::archive::{Checked, Component};
use bulkhead_stages::stacks;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Slots of a component that is made again, as in the boot component.
const OWN_SLOTS: u64 = 32;
/// Pages of the stack of a thread that a scheduler makes, unless it sets another size.
const STACK: u64 = 2;
/// VCPUs that can be requested at run time of a scheduler with VCPUs.
const REQUESTED: u64 = 4;

/// Pages and slots that the first component hands out.
#[derive(Default)]
struct Handed {
    page: u64,
    slot: u64,
    fresh: u64,
}

impl Handed {
    /// Takes a slot. The last slot of a leaf is taken for the next leaf, which is a page.
    fn slot(&mut self) {
        if self.slot % SLOTS == SLOTS - 1 {
            self.page += 1;
            self.slot += 1;
        }
        self.slot += 1;
    }

    fn slots(&mut self, count: u64) {
        (0..count).for_each(|_| self.slot());
    }

    /// Takes a page and a slot for an object.
    fn object(&mut self) {
        self.page += 1;
        self.slot();
    }

    fn keep_together(&mut self, slots: u64) {
        while self.slot % SLOTS + slots >= SLOTS {
            self.slot();
        }
    }

    fn release(&mut self, slot: u64) {
        self.fresh = self.fresh.max(self.slot);
        self.slot = slot;
    }
}

/// A partition of components as its boot component finds it.
pub(crate) struct BootMemory<'a> {
    /// Start of the partition's memory.
    pub start: u64,
    /// Guest-physical address of the archive.
    pub address: u64,
    /// The archive's first page, and all of it.
    pub archive: (&'a Archive, &'a [u8]),
    /// The guest page.
    pub page: &'a GuestPage,
    /// The boot component is that of Bulkhead. Another one takes what it likes, so that only the kernel's part is counted.
    pub is_standard: bool,
}

impl BootMemory<'_> {
    /// Returns the least memory, in bytes, with which the partition starts, or `None` if the archive has a flaw.
    pub(crate) fn least(&self) -> Option<u64> {
        let cores = u64::from(self.page.info.cores).clamp(1, MAX_CORES as u64);
        // Void and identities, interrupts and mailbox of each core; of the first component the table, the address
        // space, the stack, the component, SCB, thread, scheduler and time.
        let kernel = 2 + 2 * cores + 2 + 3 + STACK_PAGES + 5;
        let taken = match self.is_standard {
            true => kernel + self.components()?,
            false => kernel,
        };
        let table = self.address
            + self.archive.0.pages * PAGE_SIZE
            + (cores - 1) * KERNEL_STACK_BYTES
            + cores * PAGE_SIZE;
        // The frame table has a word for each page, those of the frame table included.
        let mut memory = PAGE_SIZE;
        loop {
            let pages = (self.start + memory).saturating_sub(self.address) / PAGE_SIZE;
            let free = (table + 8 * pages).next_multiple_of(PAGE_SIZE);
            let needed = (free + taken * PAGE_SIZE).checked_sub(self.start)?;
            if needed <= memory {
                return Some(memory);
            }
            memory = needed;
        }
    }

    /// Bytes of kernel and archive.
    pub(crate) const fn images(&self) -> u64 {
        self.address + self.archive.0.pages * PAGE_SIZE - self.start
    }

    /// Pages that the boot component takes.
    fn components(&self) -> Option<u64> {
        let archive = Checked::of(self.archive.0).ok()?;
        let mut handed = Handed {
            slot: first::FREE,
            fresh: first::FREE,
            ..Handed::default()
        };
        handed.slots(MAX_INTERFACES as u64);
        let schedulers = || archive.components().filter(|one| one.is(Role::Scheduler));
        let has_pulses = archive.components().any(|one| one.owns(Part::Heartbeat));
        if has_pulses {
            handed.page += schedulers()
                .filter(|one| !one.owns(Part::Heartbeat))
                .count() as u64;
        }
        handed.page += archive
            .shared()
            .map(|(_, shared)| u64::from(shared.pages))
            .sum::<u64>();
        let with_jobs = archive
            .components()
            .filter(|one| one.wiring.job_stacks != 0);
        handed.page += with_jobs.count() as u64 * pipe_functions::BYTES / PAGE_SIZE;
        let contents = archive.components().map(|one| one.wiring.contents_pages);
        handed.page += contents.map(u64::from).sum::<u64>();
        for component in archive.components().skip(1) {
            self.component(&mut handed, archive, &component);
        }
        let scratch = handed.slot;
        handed.slot();
        for pair in archive.invocations() {
            if pair.client != 0 {
                handed.slot();
            }
            // The slot behind `scratch` is the first one that is emptied again.
            handed.release(scratch + 1);
        }
        handed.slots(schedulers().count() as u64);
        let mut schedulers: Vec<_> = schedulers().collect();
        schedulers.sort_by_key(|one| one.wiring.core);
        // The first core is populated before the others start.
        let (local, others): (Vec<_>, Vec<_>) =
            schedulers.iter().partition(|one| one.wiring.core == 0);
        let populate = |handed: &mut Handed, scheduler: &Component<'_>| {
            handed.slot = handed.fresh.max(handed.slot);
            // Its time and its thread; the sides of that, and the scheduler.
            handed.object();
            handed.object();
            handed.slots(3);
            handed.slots(archive.threads_on(scheduler.wiring.core).count() as u64);
        };
        local.iter().for_each(|one| populate(&mut handed, one));
        for _ in &others {
            handed.page += 4;
            handed.keep_together(3);
            handed.slots(3);
            handed.page += STACK_PAGES;
        }
        others.iter().for_each(|one| populate(&mut handed, one));
        Some(handed.page)
    }

    fn component(&self, handed: &mut Handed, archive: Checked<'_>, component: &Component<'_>) {
        let wiring = component.wiring;
        let is_rebuilt = wiring.on_fault == OnFault::Restart as u32;
        let number = component.number;
        let involved = archive.invocations().filter(|one| one.involves(number));
        let involved = involved.count() as u64;
        let threads = u64::from(wiring.threads());
        if is_rebuilt {
            handed.keep_together(OWN_SLOTS + threads + involved);
        }
        handed.slots(3 + threads.saturating_sub(1));
        let scratch = handed.slot;
        handed.slot();
        // Translation tables, copies of data, stacks, the two parts of its table, and itself.
        (0..3).for_each(|_| handed.object());
        let data = component.packed.segments.iter();
        let data = data.filter(|one| is_rebuilt && one.rights == Rights::Write as u64);
        handed.page += data.map(|one| u64::from(one.pages)).sum::<u64>();
        let stacks = u64::from(wiring.stacks());
        handed.page += stacks.max(1) * u64::from(wiring.stack_pages);
        (0..3).for_each(|_| handed.object());
        // A further translation table for each 2 MiB of what it maps.
        let mapped = self.mapped_pages(archive, component) * PAGE_SIZE;
        (0..mapped.div_ceil(IMAGE_END - IMAGE)).for_each(|_| handed.object());
        if component.is(Role::Scheduler) || wiring.job_stacks != 0 {
            let contents = archive.with_contents_on(wiring.core);
            let tables = contents.map(|(owner, _)| {
                message_contents::bytes(owner.wiring.contents_pages) / (IMAGE_END - IMAGE)
            });
            (0..tables.sum()).for_each(|_| handed.object());
        }
        // Its memory or the pages for a scheduler, its information page, SCB and scheduler, and threads.
        handed.page += u64::from(wiring.memory_pages) + 1;
        if component.is(Role::Scheduler) {
            handed.page += 2;
        }
        handed.page += threads.max(1);
        match is_rebuilt {
            true => handed.slots(involved),
            false => handed.release(scratch),
        }
    }

    /// Pages that a component maps behind its image.
    fn mapped_pages(&self, archive: Checked<'_>, component: &Component<'_>) -> u64 {
        let info = &self.page.info;
        let wiring = component.wiring;
        let mut pages = 0;
        let mut map = |[at, bytes]: [u64; 2]| {
            if at != 0 {
                pages += bytes.div_ceil(PAGE_SIZE);
            }
        };
        if component.owns(Part::Console) {
            map(info.console_out);
            map(info.console_in);
        }
        if component.owns(Part::Trace) {
            map(info.trace);
        }
        let ends = info.channels.iter().enumerate();
        for (_, end) in ends.filter(|(number, _)| wiring.channels >> number & 1 != 0) {
            let &ChannelEnd {
                ipa,
                size,
                link,
                standby_link,
                ..
            } = end;
            map([ipa, size]);
            map([link, PAGE_SIZE]);
            map([standby_link, PAGE_SIZE]);
        }
        map([info.link, PAGE_SIZE]);
        let others = archive.components().filter(|one| one.is(Role::Scheduler));
        let pulses = others.filter(|one| !one.owns(Part::Heartbeat)).count() as u64;
        if component.owns(Part::Heartbeat) {
            pages += pulses + 1;
        } else if component.is(Role::Scheduler) {
            // The page of its pulse, and the archive's.
            pages += 1;
        }
        let shared = archive.shared().map(|(_, shared)| shared);
        let shared = shared.filter(|one| one.components >> component.number & 1 != 0);
        pages += shared.map(|one| u64::from(one.pages)).sum::<u64>();
        let with_jobs = archive.with_jobs_in(component);
        pages += with_jobs.count() as u64 * pipe_functions::BYTES / PAGE_SIZE;
        let place = (wiring.function as usize).checked_sub(1);
        if let Some(function) = place.and_then(|place| self.page.functions.get(place)) {
            pages += function_pages(function);
        }
        if component.is(Role::Scheduler) || wiring.tasks != 0 {
            pages += archive.timing()[1];
        }
        pages + u64::from(component.is(Role::Scheduler))
    }

    /// Returns the first scheduler with too few pages for its threads and budgets: number, pages needed, and pages present.
    /// `program_of` returns the program of the scheduler of that number.
    pub(crate) fn crowded_scheduler(
        &self,
        program_of: impl Fn(usize) -> SchedulerProgram,
    ) -> Option<(usize, [u64; 2])> {
        let archive = Checked::of(self.archive.0).ok()?;
        let [page, pages] = archive.timing().map(|pages| (pages * PAGE_SIZE) as usize);
        let bytes = self.archive.1.get(page..page.checked_add(pages)?)?;
        let timing = TimingData::read(bytes).unwrap_or(TimingData::NOTHING);
        let mut schedulers = archive.components().filter(|one| one.is(Role::Scheduler));
        schedulers.find_map(|one| {
            let mut all = SchedulerPages::of_components(archive, &one, &timing);
            match program_of(one.number) {
                SchedulerProgram::Threads => all.add_requests(archive, &timing),
                SchedulerProgram::Pipes => all.add_pipes(&one, &timing),
                SchedulerProgram::Foreign => return None,
            }
            let needed = all.pages();
            let there = u64::from(one.wiring.memory_pages);
            (needed > there).then_some((one.number, [needed, there]))
        })
    }
}

/// Program of a scheduler, by which it takes pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchedulerProgram {
    /// `bulkhead-scheduler`.
    Threads,
    /// `bulkhead-pipes`, or a program with functions of its own.
    Pipes,
    /// Another one takes what it likes.
    Foreign,
}

/// Pages that a scheduler takes of its memory, and what takes slots of its table.
struct SchedulerPages {
    /// Stacks of its threads, and memory of a device.
    mapped: u64,
    threads: u64,
    /// VCPUs and budgets.
    objects: u64,
    /// Sides of threads that wait for interrupts.
    sides: u64,
}

impl SchedulerPages {
    /// Counts the pages that each scheduler takes for the components of its core.
    fn of_components(
        archive: Checked<'_>,
        scheduler: &Component<'_>,
        timing: &TimingData<'_>,
    ) -> Self {
        let core = scheduler.wiring.core;
        let here = || {
            let all = archive.components();
            all.filter(move |one| one.wiring.core == core)
        };
        let budgeted = timing.vcpus.iter().filter(|vcpu| vcpu.core == core).count();
        let budgets = here()
            .filter(|one| one.wiring.budget_ticks != 0 && one.wiring.priority != NO_THREAD)
            .count();
        let restarts = here().any(|one| {
            let is_rebuilt = one.wiring.on_fault == OnFault::Restart as u32;
            is_rebuilt && one.wiring.threads() != 0 || one.wiring.job_stacks != 0
        });
        let has_word = archive.components().any(|one| one.owns(Part::Heartbeat));
        let mut all = Self {
            mapped: 0,
            threads: 0,
            objects: (budgeted + budgets) as u64,
            sides: 2 * archive.threads_on(core).count() as u64,
        };
        // One that sleeps when no other is ready, one that restarts components, and one that renews the heartbeat.
        all.add_threads(1 + u64::from(restarts) + u64::from(has_word), STACK);
        all
    }

    fn add_threads(&mut self, threads: u64, stack: u64) {
        self.threads += threads;
        self.mapped += threads * stack;
    }

    /// Adds the pages that `bulkhead-scheduler` takes for components that request VCPUs at run time.
    fn add_requests(&mut self, archive: Checked<'_>, timing: &TimingData<'_>) {
        if !archive.components().any(|one| one.owns(Part::Admission)) {
            return;
        }
        self.add_threads(1, STACK);
        if !timing.vcpus.is_empty() {
            self.objects += REQUESTED;
        }
    }

    /// Adds the pages that `bulkhead-pipes` takes for stages, recorder, planner and device.
    fn add_pipes(&mut self, scheduler: &Component<'_>, timing: &TimingData<'_>) {
        let core = scheduler.wiring.core;
        let stages = timing.stages.iter();
        let here: Vec<_> = stages.filter(|stage| stage.core == core).collect();
        self.add_threads(here.len() as u64, stacks::STAGE);
        let static_count = timing.stages.len().min(MAX_STAGES);
        let spare = timing.repository.map_or(0, |all| {
            let spare = all.head.spare_stages as usize;
            spare.min(MAX_STAGES - static_count)
        });
        // A thread, and a VCPU each.
        self.add_threads(spare as u64, stacks::STAGE);
        self.objects += spare as u64;
        if timing.repository.is_some() {
            let stack = match core {
                0 => stacks::PLANNER,
                _ => stacks::COMMANDS,
            };
            self.add_threads(1, stack);
            self.objects += 1;
        }
        if core != 0 {
            return;
        }
        self.add_threads(1, stacks::RECORDER);
        let is_recorder = |vcpu: &Vcpu| name_text(&vcpu.name) == RECORDER;
        self.objects += u64::from(!timing.vcpus.iter().any(is_recorder));
        self.add_device(&here, timing);
    }

    /// Adds the bottom half of its device, the threads that scatter and gather there, and the memory of a network card.
    fn add_device(&mut self, here: &[&Stage], timing: &TimingData<'_>) {
        let of_stages = here.iter().any(|stage| {
            let [source, sink] = stage.endpoints();
            stage.from == 0 && source == EndpointKind::Device || sink == EndpointKind::Device
        });
        let served = || {
            let all = timing.repository.into_iter();
            all.flat_map(|all| all.devices)
                .filter(|one| one.vcpu != NONE)
        };
        if !of_stages && served().next().is_none() {
            return;
        }
        let scatter = here.iter().flat_map(|stage| stage.scatter);
        let scatter = scatter.chain(served().map(|device| device.scatter));
        let scatter: BTreeSet<_> = scatter.filter(|vcpu| *vcpu != NONE).collect();
        self.add_threads(1 + scatter.len() as u64, STACK);
        self.sides += 2;
        let addresses = here.iter().map(|stage| stage.addresses[0]);
        let functions = timing.repository.into_iter().flat_map(|all| all.functions);
        let mut addresses = addresses.chain(functions.map(|one| one.addresses[0]));
        if addresses.any(|address| address != 0) {
            self.mapped += CARD_BYTES.div_ceil(PAGE_SIZE);
        }
    }

    /// Pages of all of it.
    fn pages(&self) -> u64 {
        let slots = SCHEDULER_FREE + self.objects + self.threads + self.sides;
        self.mapped + self.threads + self.objects + slots / SLOTS
    }
}

/// Pages of registers of a PCIe function.
fn function_pages(function: &Function) -> u64 {
    let count = Cell::new(0);
    let counted: Result<_, std::convert::Infallible> = function.mapped(|_, pages| {
        count.set(count.get() + pages);
        Ok(0)
    });
    let _never_fails = counted;
    count.get()
}
