//! What the first component of a partition starts with
//!
//! It holds every capability there is. Pages are handed out one after the other, and so are free
//! addresses of its own space.
#![expect(unsafe_code, reason = "mapped addresses become memory")]

use crate::call::{Answer, call};
use crate::start::INVOKED;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::{Function, GuestInfo, GuestPage};
use bulkhead_abi::kernel::{
    Archive, IMAGE, Operation, Packed, Rights, SCB_ADDRESS, SLOTS, STACK_PAGES, STACK_TOP, Status,
    first,
};
use bulkhead_abi::timing;
use bulkhead_buffers::Region;
use core::sync::atomic::AtomicU64;
use zerocopy::{FromBytes, FromZeros};

/// End of the addresses that are handed out: the guard of the stack.
const END: u64 = STACK_TOP - (STACK_PAGES + 1) * PAGE_SIZE;

const THREAD_STACK_PAGES: u64 = 2;

unsafe extern "C" {
    safe static __image_end: u8;
}

/// End of the component's image: from here on addresses are handed out.
pub(crate) fn image_end() -> u64 {
    (&raw const __image_end).addr() as u64
}

/// The number of the argument word `key=number`.
#[must_use]
pub fn argument(info: &GuestInfo, key: &str) -> Option<u64> {
    argument_text(info, key)?.parse().ok()
}

/// The text of the argument word `key=text`.
#[must_use]
pub fn argument_text<'a>(info: &'a GuestInfo, key: &str) -> Option<&'a str> {
    let text = info.argument.get(..info.argument_len as usize)?;
    let mut words = core::str::from_utf8(text).ok()?.split_whitespace();
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// Where a subsystem finds the page that it shares with who started it.
pub const SHARED_ADDRESS: u64 = STACK_TOP;

/// The words of a shared page.
pub type Shared = [AtomicU64; PAGE_SIZE as usize / 8];

/// Slots of a component that was made.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Itself.
    pub component: u64,
    /// Root of its table.
    pub table: u64,
    /// The only leaf.
    pub leaf: u64,
    /// Its translation tables, by level.
    pub pages: [u64; 3],
}

/// A component that schedules threads of its own.
#[derive(Clone, Copy, Debug)]
pub struct Subsystem {
    /// Slot of its scheduler's thread.
    pub thread: u64,
    /// Slot of the sending side of that thread.
    pub sender: u64,
    /// What it shares with who started it.
    pub shared: &'static Shared,
}

/// What a subsystem shares with who started it.
#[must_use]
pub fn shared() -> &'static Shared {
    shared_page(SHARED_ADDRESS)
}

fn shared_page(address: u64) -> &'static Shared {
    let page: *const Shared = core::ptr::with_exposed_provenance(address as usize);
    // SAFETY: mapped when the subsystem was made, for good; all of it is atomic.
    unsafe { &*page }
}

/// Maps page `number` of the first component's memory at `address`, for reading and writing.
fn map_in(last: u64, address: u64, number: u64) -> Answer {
    let index = (address - IMAGE) / PAGE_SIZE;
    call(
        last,
        Operation::Map,
        [index, first::MEMORY, number, Rights::Write as u64],
    )
}

/// The VCPUs and tasks of a partition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// In the order of the description.
    pub vcpus: &'static [timing::Vcpu],
    /// In the order of the description.
    pub tasks: &'static [timing::Task],
    /// How VCPUs are ordered, unless by rate.
    pub schedule: Option<&'static timing::Schedule>,
    /// Slots of all cores.
    pub slots: &'static [timing::Slot],
}

impl Timing {
    fn read(bytes: &'static [u8]) -> Option<Self> {
        let (head, rest) = timing::Head::ref_from_prefix(bytes).ok()?;
        if head.magic != timing::TIMING_MAGIC {
            return None;
        }
        let counts = [head.vcpus, head.tasks].map(|count| count as usize);
        let (vcpus, rest) = <[timing::Vcpu]>::ref_from_prefix_with_elems(rest, counts[0]).ok()?;
        let (tasks, rest) = <[timing::Task]>::ref_from_prefix_with_elems(rest, counts[1]).ok()?;
        let found = timing::Schedule::ref_from_prefix(rest).ok();
        let found = found.filter(|(schedule, _)| schedule.magic == timing::SCHEDULE_MAGIC);
        let (schedule, slots) = match found {
            Some((schedule, rest)) => {
                let count = schedule.slots as usize;
                let slots = <[timing::Slot]>::ref_from_prefix_with_elems(rest, count).ok()?;
                (Some(schedule), slots.0)
            }
            None => (None, &[][..]),
        };
        Some(Self {
            vcpus,
            tasks,
            schedule,
            slots,
        })
    }
}

/// A page of [`first::MEMORY`] and a slot: what the first component hands out next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Number of the page.
    pub page: u64,
    /// The slot.
    pub slot: u64,
}

/// The first component's means.
#[derive(Debug)]
pub struct First {
    index: u64,
    guest_page: u64,
    window: u64,
    /// Guest-physical address of page 0 of [`first::MEMORY`].
    memory: u64,
    address: u64,
    page: u64,
    slot: u64,
    /// Slots from here on were never handed out.
    fresh: u64,
    /// Where addresses, pages and slots end.
    address_end: u64,
    end: Position,
}

impl First {
    pub(crate) fn new(index: u64, guest_page: u64, window: u64, memory: u64) -> Self {
        Self {
            index,
            guest_page,
            window,
            memory,
            address: image_end(),
            page: 0,
            slot: first::FREE,
            fresh: first::FREE,
            address_end: END,
            end: Position {
                page: u64::MAX,
                slot: u64::MAX,
            },
        }
    }

    /// A part of it, for a thread of another core: `pages` pages of memory, addresses for as many, and the
    /// slots of one leaf, but the last.
    ///
    /// # Errors
    /// No free addresses.
    pub fn part(&mut self, pages: u64) -> Result<Self, Status> {
        let address_end = self.address + pages * PAGE_SIZE;
        if address_end > self.address_end {
            return Err(Status::BadArgument);
        }
        let slot = loop {
            let slot = self.slot();
            if slot.is_multiple_of(SLOTS) {
                break slot;
            }
        };
        let part = Self {
            slot,
            address_end,
            end: Position {
                page: self.page + pages,
                slot: slot + SLOTS - 1,
            },
            ..*self
        };
        (self.address, self.page) = (address_end, part.end.page);
        // The last slot holds the next leaf.
        self.slot = part.end.slot;
        self.slot();
        Ok(part)
    }

    /// The same, in a component whose table has more in it: slots from `slot` on are empty.
    #[must_use]
    pub const fn with_slots_from(mut self, slot: u64) -> Self {
        self.slot = slot;
        self
    }

    /// Has the next `slots` slots lie in one leaf.
    pub fn keep_together(&mut self, slots: u64) {
        while self.slot % SLOTS + slots >= SLOTS {
            self.slot();
        }
    }

    /// What it hands out next.
    #[must_use]
    pub const fn position(&self) -> Position {
        Position {
            page: self.page,
            slot: self.slot,
        }
    }

    /// Hands out from there on, what was handed out before, too: it was given up since.
    pub const fn go_to(&mut self, position: Position) {
        self.page = position.page;
        self.slot = position.slot;
    }

    /// Empties its slots from `slot` on, which it handed out last.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn release(&mut self, slot: u64) -> Result<(), Status> {
        // A slot that holds a leaf keeps it.
        let emptied = |used: &u64| used % SLOTS != SLOTS - 1;
        for used in (slot..self.slot).filter(emptied) {
            call(first::LEAF, Operation::Remove, [used])?;
        }
        self.fresh = self.fresh.max(self.slot);
        self.slot = slot;
        Ok(())
    }

    /// Hands out from now on slots that it never handed out: none that rests.
    pub fn skip_released(&mut self) {
        self.slot = self.fresh.max(self.slot);
    }

    /// Index of the thread that started here; the others' means are only the first component's.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// The next page of [`first::MEMORY`]; where there is none, a number that the kernel refuses.
    pub fn page(&mut self) -> u64 {
        if self.page == self.end.page {
            return u64::MAX;
        }
        self.page += 1;
        self.page - 1
    }

    /// The next empty slot of its table. The last one of a leaf holds the next leaf; where that
    /// cannot be made, what is put into its slots is refused; as in a part, where the leaf is full.
    pub fn slot(&mut self) -> u64 {
        if self.slot == self.end.slot {
            return self.slot;
        }
        if self.slot % SLOTS == SLOTS - 1 {
            let (page, leaf) = (self.page(), self.slot);
            let made = call(first::MEMORY, Operation::MakeTable, [page, leaf, 1]);
            let _refused_later =
                made.and_then(|_| call(first::TABLE, Operation::Copy, [leaf / SLOTS + 1, leaf]));
            self.slot += 1;
        }
        self.slot += 1;
        self.slot - 1
    }

    /// Makes an object of the next page; its slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn make<const N: usize>(&mut self, operation: Operation, words: [u64; N]) -> Answer {
        let (page, slot) = (self.page(), self.slot());
        let word = |number: usize| words.get(number).copied().unwrap_or(0);
        let all = [page, slot, word(0), word(1), word(2)];
        call(first::MEMORY, operation, all).map(|_| slot)
    }

    /// Maps `pages` pages of a range of memory, from page `number` on; their address.
    ///
    /// # Errors
    /// The kernel's refusal, or no free addresses.
    pub fn map(&mut self, memory: u64, number: u64, pages: u64, rights: Rights) -> Answer {
        let address = self.address;
        if address + pages * PAGE_SIZE > self.address_end {
            return Err(Status::BadArgument);
        }
        for page in 0..pages {
            let index = (address - IMAGE) / PAGE_SIZE + page;
            let words = [index, memory, number + page, rights as u64];
            call(first::PAGES[2], Operation::Map, words)?;
        }
        self.address += pages * PAGE_SIZE;
        Ok(address)
    }

    /// Maps fresh memory.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn memory(&mut self, pages: u64) -> Answer {
        let number = self.page;
        if pages > self.end.page - number {
            return Err(Status::BadArgument);
        }
        self.page += pages;
        self.map(first::MEMORY, number, pages, Rights::Write)
    }

    /// Maps fresh memory for a device to share: its address here, and its guest-physical one.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn shared_memory(&mut self, pages: u64) -> Result<[u64; 2], Status> {
        let at = self.memory + self.page * PAGE_SIZE;
        Ok([self.memory(pages)?, at])
    }

    /// A PCIe function as the guest page gives it, mapped: where this component finds its registers.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn function(&mut self, given: &Function) -> Result<Function, Status> {
        given.mapped(|page, pages| self.map(first::DEVICES, page, pages, Rights::Write))
    }

    /// A thread of this component, which notifications run on `time`: its function, which must not
    /// return, gets its index. Its slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn thread(&mut self, entry: extern "C" fn(u64) -> !, index: u64, time: u64) -> Answer {
        let thread = self.unbound_thread(entry)?;
        call(thread, Operation::Bind, [first::SCHEDULER, index, time])?;
        Ok(thread)
    }

    /// A thread of this component that is nobody's yet: its function, which must not return, gets the
    /// index at which it is bound. Its slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn unbound_thread(&mut self, entry: extern "C" fn(u64) -> !) -> Answer {
        let stack = self.stack(THREAD_STACK_PAGES)?;
        let entry = entry as *const () as u64;
        self.make(Operation::MakeThread, [first::COMPONENT, entry, stack])
    }

    /// A stack; its upper end.
    /// The page below is not mapped.
    pub(crate) fn stack(&mut self, pages: u64) -> Answer {
        self.address += PAGE_SIZE;
        Ok(self.memory(pages)? + pages * PAGE_SIZE)
    }

    /// Time split off its own: `cycles` (or [`bulkhead_abi::kernel::ALL`]) of `priority`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn time(&mut self, cycles: u64, priority: u64) -> Answer {
        self.make(Operation::MakeTime, [first::TIME, cycles, priority])
    }

    /// A component of the archive with one stack, in an address space of that `identity`; its table
    /// holds the capability to return.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn component(&mut self, packed: &Packed, identity: u64) -> Result<Component, Status> {
        self.component_with(packed, identity, STACK_PAGES)
    }

    /// The same with a stack of so many pages.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn component_with(
        &mut self,
        packed: &Packed,
        identity: u64,
        stack_pages: u64,
    ) -> Result<Component, Status> {
        let mut pages = [0; 3];
        for (level, slot) in (1..).zip(&mut pages) {
            *slot = self.make(Operation::MakePages, [level])?;
        }
        let [root, middle, last] = pages;
        call(root, Operation::Attach, [IMAGE >> 30, middle])?;
        call(middle, Operation::Attach, [IMAGE >> 21, last])?;
        for segment in &packed.segments {
            for page in 0..u64::from(segment.pages) {
                let index = (segment.address - IMAGE) / PAGE_SIZE + page;
                let number = u64::from(segment.page) + page;
                let words = [index, first::ARCHIVE, number, segment.rights];
                call(last, Operation::Map, words)?;
            }
        }
        for page in 1..=stack_pages {
            let number = self.page();
            map_in(last, STACK_TOP - page * PAGE_SIZE, number)?;
        }
        let table = self.make(Operation::MakeTable, [0])?;
        let leaf = self.make(Operation::MakeTable, [1])?;
        call(table, Operation::Copy, [0, leaf])?;
        call(leaf, Operation::Copy, [first::RETURN, first::RETURN])?;
        let component = self.make(Operation::MakeComponent, [table, root, identity])?;
        Ok(Component {
            component,
            table,
            leaf,
            pages,
        })
    }

    /// A component with a scheduler of its own under this one, at `index`: it finds in its table, at
    /// the same places, what the first component of a partition finds, but for interrupts, window,
    /// archive and monitor; its memory is the next `pages` pages, its time is `time`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn subsystem(
        &mut self,
        packed: &Packed,
        [identity, index, time, pages]: [u64; 4],
    ) -> Result<Subsystem, Status> {
        let made = self.component(packed, identity)?;
        let [.., last] = made.pages;
        let shared = self.page();
        map_in(last, SHARED_ADDRESS, shared)?;
        let address = self.map(first::MEMORY, shared, 1, Rights::Write)?;
        let words = [first::SCHEDULER, index, time, pages];
        let [thread, sender, _] = self.schedule(&made, packed, words)?;
        Ok(Subsystem {
            thread,
            sender,
            shared: shared_page(address),
        })
    }

    /// Gives a component that was made a scheduler of its own, as [`First::subsystem`] says, but for
    /// the shared page: slots of its thread, of the sending side of that, of the scheduler. `words` are the
    /// scheduler it is under, its index there, its time and its pages; all of the calling core.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn schedule(
        &mut self,
        made: &Component,
        packed: &Packed,
        [parent, index, time, pages]: [u64; 4],
    ) -> Result<[u64; 3], Status> {
        let scb = self.furnish(made, pages)?;
        let made = [made.component, made.leaf, scb];
        self.schedule_in(made, packed, [parent, index, time])
    }

    /// Gives a component that was made itself and `pages` pages, to make threads of; the page of its SCB.
    /// The rest is [`First::schedule_in`]'s, on the core that it schedules.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn furnish(&mut self, made: &Component, pages: u64) -> Answer {
        let [.., last] = made.pages;
        let scb = self.page();
        map_in(last, SCB_ADDRESS, scb)?;
        for (place, from) in [
            (first::TABLE, made.table),
            (first::LEAF, made.leaf),
            (first::COMPONENT, made.component),
            (first::PAGES[0], made.pages[0]),
            (first::PAGES[1], made.pages[1]),
            (first::PAGES[2], made.pages[2]),
        ] {
            call(made.leaf, Operation::Copy, [place, from])?;
        }
        let memory = [first::MEMORY, first::MEMORY, self.page, pages];
        self.page += pages;
        call(made.leaf, Operation::Copy, memory)?;
        Ok(scb)
    }

    /// The other half of [`First::schedule`], for a component that was furnished: its slot, that of its
    /// leaf, the page of its SCB.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn schedule_in(
        &mut self,
        [component, leaf, scb]: [u64; 3],
        packed: &Packed,
        [parent, index, time]: [u64; 3],
    ) -> Result<[u64; 3], Status> {
        let start = [component, packed.entry, STACK_TOP];
        let thread = self.make(Operation::MakeThread, start)?;
        call(thread, Operation::Bind, [parent, index, time])?;
        let [sender, receiver] = [self.slot(), self.slot()];
        call(thread, Operation::Sender, [sender])?;
        call(thread, Operation::Receiver, [receiver])?;
        let scheduler = self.make(Operation::MakeScheduler, [thread, first::MEMORY, scb])?;
        for (place, from) in [
            (first::THREAD, thread),
            (first::SCHEDULER, scheduler),
            (first::RECEIVE, receiver),
            (first::TIME, time),
        ] {
            call(leaf, Operation::Copy, [place, from])?;
        }
        Ok([thread, sender, scheduler])
    }

    /// A capability to invoke `component`, which was made from `packed`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn invocation(&mut self, packed: &Packed, component: u64, token: u64) -> Answer {
        let slot = self.slot();
        self.invocation_at(slot, packed, component, token)
    }

    /// The same in a slot that it handed out.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn invocation_at(&self, slot: u64, packed: &Packed, component: u64, token: u64) -> Answer {
        let words = [slot, packed.entry + INVOKED, token];
        call(component, Operation::Entry, words).map(|_| slot)
    }

    /// Writes `bytes` to the start of page `number` of its memory, which another component has mapped.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn fill(&mut self, number: u64, bytes: &[u8]) -> Result<(), Status> {
        let address = self.map(first::MEMORY, number, 1, Rights::Write)?;
        let length = bytes.len().min(PAGE_SIZE as usize);
        let page = core::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: mapped above, of at least that length; who has the page has not started.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), page, length) };
        self.unmap_last(address)
    }

    /// A copy of the guest information page.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn guest_info(&mut self) -> Result<GuestInfo, Status> {
        let mut info = GuestInfo::new_zeroed();
        self.copy_guest(&mut info)?;
        Ok(info)
    }

    /// The same with what else is on the page.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn guest(&mut self) -> Result<GuestPage, Status> {
        let mut page = GuestPage::new_zeroed();
        self.copy_guest(&mut page)?;
        Ok(page)
    }

    /// Copies the guest information page, or what it begins with, to a place: for who has not the stack for it.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn copy_guest<T: FromBytes>(&mut self, place: &mut T) -> Result<(), Status> {
        const { assert!(size_of::<T>() <= PAGE_SIZE as usize, "it is one page") };
        let number = (self.guest_page - self.window) / PAGE_SIZE;
        let address = self.map(first::WINDOW, number, 1, Rights::Read)?;
        let page: *const T = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: mapped above; every bit pattern is a value; nobody else writes it.
        unsafe { core::ptr::copy_nonoverlapping(page, place, 1) };
        self.unmap_last(address)
    }

    /// Unmaps the page that was mapped last; its address is free again.
    fn unmap_last(&mut self, address: u64) -> Result<(), Status> {
        self.address = address;
        let index = (address - IMAGE) / PAGE_SIZE;
        call(first::PAGES[2], Operation::Unmap, [index]).map(|_| ())
    }

    /// The number of the page at a guest-physical address of the window.
    ///
    /// # Errors
    /// It lies before the window.
    pub fn window_page(&self, at: u64) -> Answer {
        let offset = at.checked_sub(self.window).ok_or(Status::BadArgument)?;
        Ok(offset / PAGE_SIZE)
    }

    /// Guest-physical address of the guest page.
    #[must_use]
    pub const fn guest_page(&self) -> u64 {
        self.guest_page
    }

    /// The archive of components.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn archive(&mut self) -> Result<&'static Archive, Status> {
        let address = self.map(first::ARCHIVE, 0, 1, Rights::Read)?;
        let archive: *const Archive = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: mapped above for good; the kernel has checked it; nobody writes it.
        Ok(unsafe { &*archive })
    }

    /// The VCPUs and tasks that the description gives the partition; empty where it gives none.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn timing(&mut self, archive: &Archive) -> Result<Timing, Status> {
        let [page, pages] = archive.timing.map(u64::from);
        if pages == 0 {
            return Ok(Timing::default());
        }
        let address = self.map(first::ARCHIVE, page, pages, Rights::Read)?;
        let bytes: *const u8 = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: mapped above for good; nobody writes it.
        let bytes = unsafe { core::slice::from_raw_parts(bytes, (pages * PAGE_SIZE) as usize) };
        Timing::read(bytes).ok_or(Status::BadArgument)
    }

    /// Shared memory of the window, `[guest-physical address, bytes]`.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn window(&mut self, [at, bytes]: [u64; 2]) -> Result<Region<'static>, Status> {
        let number = self.window_page(at)?;
        let pages = bytes.div_ceil(PAGE_SIZE);
        let address = self.map(first::WINDOW, number, pages, Rights::Write)?;
        let base = core::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: mapped above for good; reached through regions alone.
        unsafe { Region::from_raw(base, bytes as usize) }.map_err(|_| Status::BadArgument)
    }
}
