//! Memory that a partition of components needs until all of them run
//!
//! The kernel, the boot component and the scheduler take pages in a fixed order and give none back, so that the number of
//! pages follows from the archive and the guest page. This module takes them in the same order as
//! `kernel/core/src/boot.rs`, `user/rt/src/first.rs` and `user/components/boot/src`; `tests/qemu/boot_memory.rs`
//! runs partitions that have exactly as much memory as is counted here.

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{
    MAX_INTERFACES, NO_THREAD, OnFault, Part, Role, SCHEDULER_FREE, pipe_functions,
};
use bulkhead_abi::guest::{ChannelEnd, Function, GuestPage};
use bulkhead_abi::kernel::{
    Archive, IMAGE, IMAGE_END, KERNEL_STACK_BYTES, MAX_CORES, Rights, SLOTS, STACK_PAGES, first,
};
use bulkhead_abi::timing::{Head, Vcpu};
use bulkhead_formats::archive::{Checked, Component};
use std::cell::Cell;
use zerocopy::FromBytes;

/// Slots of a component that is made again, as in the boot component.
const OWN_SLOTS: u64 = 32;
/// Pages of a thread that a scheduler makes: its stack, and the thread.
const THREAD_PAGES: u64 = 2 + 1;
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
    /// `is_standard` returns whether the component of that number is Bulkhead's scheduler.
    pub(crate) fn crowded_scheduler(
        &self,
        is_standard: impl Fn(usize) -> bool,
    ) -> Option<(usize, [u64; 2])> {
        let archive = Checked::of(self.archive.0).ok()?;
        let [page, pages] = archive.timing().map(|pages| (pages * PAGE_SIZE) as usize);
        let timing = self.archive.1.get(page..page.checked_add(pages)?)?;
        let vcpus = vcpus(timing);
        let mut schedulers = archive.components().filter(|one| one.is(Role::Scheduler));
        schedulers.find_map(|one| {
            let here = archive.components();
            let here: Vec<_> = here
                .filter(|other| other.wiring.core == one.wiring.core)
                .collect();
            let budgeted = vcpus.iter().filter(|vcpu| vcpu.core == one.wiring.core);
            let budgets = here.iter().filter(|other| {
                other.wiring.budget_ticks != 0 && other.wiring.priority != NO_THREAD
            });
            let restarts = here.iter().any(|other| {
                other.wiring.on_fault == OnFault::Restart as u32 && other.wiring.threads() != 0
            });
            let has_word = archive
                .components()
                .any(|other| other.owns(Part::Heartbeat));
            let requests = archive
                .components()
                .any(|other| other.owns(Part::Admission));
            let is_one = |is: bool| u64::from(is);
            let threads = 1 + is_one(restarts) + is_one(has_word) + is_one(requests);
            let requested = match vcpus.is_empty() {
                true => 0,
                false => REQUESTED * is_one(requests),
            };
            let waiting = archive.threads_on(one.wiring.core).count() as u64;
            let objects = (budgeted.count() + budgets.count()) as u64 + requested;
            // Slots of its own table: objects, threads, and both sides of threads that wait.
            let slots = SCHEDULER_FREE + objects + threads + 2 * waiting;
            let needed = THREAD_PAGES * threads + objects + slots / SLOTS;
            let there = u64::from(one.wiring.memory_pages);
            (is_standard(one.number) && needed > there).then_some((one.number, [needed, there]))
        })
    }
}

/// VCPUs of the timing data.
fn vcpus(timing: &[u8]) -> Vec<Vcpu> {
    let Ok((head, rest)) = Head::ref_from_prefix(timing) else {
        return Vec::new();
    };
    let found = <[Vcpu]>::ref_from_prefix_with_elems(rest, head.vcpus as usize);
    found.map_or_else(|_| Vec::new(), |(vcpus, _)| vcpus.to_vec())
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
