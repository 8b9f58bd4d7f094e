//! Creation of components and their schedulers
#![expect(unsafe_code, reason = "a mapped page becomes memory")]

use super::First;
use crate::call::{Answer, call};
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::stack_top;
use bulkhead_abi::kernel::{
    IMAGE, Operation, Packed, Rights, SCB_ADDRESS, STACK_PAGES, STACK_TOP, Status, first,
};
use core::sync::atomic::AtomicU64;

/// Bytes from a component's entry to where invocations arrive: see [`crate::start`].
pub(crate) const INVOKED: u64 = 16;

/// Bytes from a component's entry to where the threads of its tasks begin.
pub const TASK: u64 = 20;

/// Address at which a subsystem finds the page that it shares with its parent.
pub const SHARED_ADDRESS: u64 = STACK_TOP;

/// The words of a shared page.
pub type Shared = [AtomicU64; PAGE_SIZE as usize / 8];

/// Slots of a created component.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// The component.
    pub component: u64,
    /// Root of its table.
    pub table: u64,
    /// Its only leaf.
    pub leaf: u64,
    /// Its translation tables, by level.
    pub pages: [u64; 3],
}

/// A component that schedules threads of its own.
#[derive(Clone, Copy, Debug)]
pub struct Subsystem {
    /// Slot of its scheduler's thread.
    pub thread: u64,
    /// Slot of the send capability to that thread.
    pub sender: u64,
    /// Page that it shares with its parent.
    pub shared: &'static Shared,
}

/// The page that a subsystem shares with its parent.
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

impl First {
    /// Creates a component of the archive with one stack, in an address space of that `identity`;
    /// its table holds the capability to return.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn component(&mut self, packed: &Packed, identity: u64) -> Result<Component, Status> {
        self.component_with(packed, identity, [1, STACK_PAGES], false)
    }

    /// Creates it with so many stacks ([`stack_top`]) of so many pages. A component that is created `again` gets
    /// copies of its data, because the archive keeps the original.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn component_with(
        &mut self,
        packed: &Packed,
        identity: u64,
        [threads, stack_pages]: [u64; 2],
        again: bool,
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
                if again && segment.rights == Rights::Write as u64 {
                    self.map_copy(last, index, number)?;
                    continue;
                }
                let words = [index, first::ARCHIVE, number, segment.rights];
                call(last, Operation::Map, words)?;
            }
        }
        for thread in 0..threads.max(1) {
            for page in 1..=stack_pages {
                let number = self.page();
                map_in(
                    last,
                    stack_top(thread, stack_pages) - page * PAGE_SIZE,
                    number,
                )?;
            }
        }
        let table = self.make(Operation::MakeTable, [0])?;
        let leaf = self.make(Operation::MakeTable, [1])?;
        call(table, Operation::Copy, [0, leaf])?;
        call(leaf, Operation::Copy, [first::RETURN, first::RETURN])?;
        let words = [table, root, first::identity(identity)];
        let component = self.make(Operation::MakeComponent, words)?;
        Ok(Component {
            component,
            table,
            leaf,
            pages,
        })
    }

    /// Maps a copy of page `number` of the archive, for reading and writing.
    fn map_copy(&mut self, last: u64, index: u64, number: u64) -> Result<(), Status> {
        let copy = self.page();
        let words = [index, first::MEMORY, copy, Rights::Write as u64];
        // The first mapping clears it.
        call(last, Operation::Map, words)?;
        let address = self.map_briefly(first::ARCHIVE, number, Rights::Read)?;
        let page: *const [u8; PAGE_SIZE as usize] =
            core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: mapped above; it is never written through another mapping.
        self.fill(copy, unsafe { &*page })?;
        self.unmap(address)
    }

    /// Creates a component with a scheduler of its own under this one, at `index`. Its table holds,
    /// at the same places as in a first component, everything except interrupts, window, archive
    /// and monitor; its memory is the next `pages` pages, its time is `time`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn subsystem(
        &mut self,
        packed: &Packed,
        [identity, index, time, pages]: [u64; 4],
    ) -> Result<Subsystem, Status> {
        let made = self.component(packed, identity)?;
        let shared = self.share(&made)?;
        let words = [first::SCHEDULER, index, time, pages];
        let [thread, sender, _] = self.schedule(&made, packed, words)?;
        Ok(Subsystem {
            thread,
            sender,
            shared,
        })
    }

    /// Creates a page that is mapped here and, at [`SHARED_ADDRESS`], in a created component.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn share(&mut self, made: &Component) -> Result<&'static Shared, Status> {
        let [.., last] = made.pages;
        let number = self.page();
        map_in(last, SHARED_ADDRESS, number)?;
        let address = self.map(first::MEMORY, number, 1, Rights::Write)?;
        Ok(shared_page(address))
    }

    /// Gives a created component a scheduler of its own, as [`First::subsystem`] does, but without
    /// the shared page. Returns the slots of its thread, of the send capability to that, and of the
    /// scheduler. `words` are the parent scheduler, the index there, its time and its pages; all of
    /// the calling core.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn schedule(
        &mut self,
        made: &Component,
        packed: &Packed,
        [parent, index, time, pages]: [u64; 4],
    ) -> Result<[u64; 3], Status> {
        let pool = [self.pages(pages), pages];
        let scb = self.furnish(made, pool)?;
        let made = [made.component, made.leaf, scb];
        self.schedule_in(made, packed, [parent, index, time])
    }

    /// Gives a created component the capability to itself and a `pool` of pages for threads: the
    /// first of them, and how many; and the page of its SCB. [`First::schedule_in`] does the rest
    /// on the core that it schedules.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn furnish(&mut self, made: &Component, [start, pages]: [u64; 2]) -> Answer {
        let [.., last] = made.pages;
        // Behind the page that becomes the scheduler.
        let scb = self.pages(2).checked_add(1).ok_or(Status::WrongPage)?;
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
        let memory = [first::MEMORY, first::MEMORY, start, pages];
        call(made.leaf, Operation::Copy, memory)?;
        Ok(scb)
    }

    /// Completes [`First::schedule`] for a furnished component: its slot, that of its leaf, and the
    /// page of its SCB.
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
        let scheduler = self.slot();
        let words = [scb.wrapping_sub(1), scheduler, thread, component, parent];
        call(first::MEMORY, Operation::MakeScheduler, words)?;
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

    /// Creates a capability to invoke `component`, which was created from `packed`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn invocation(&mut self, packed: &Packed, component: u64, token: u64) -> Answer {
        let slot = self.slot();
        self.invocation_at(slot, packed, component, token)
    }

    /// Creates it in a slot that was handed out.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn invocation_at(&self, slot: u64, packed: &Packed, component: u64, token: u64) -> Answer {
        let words = [slot, packed.entry + INVOKED, token];
        call(component, Operation::Entry, words).map(|_| slot)
    }
}
