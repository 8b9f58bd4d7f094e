//! What the first component of a partition starts with
//!
//! It holds every capability there is. Pages are handed out one after the other, and so are free
//! addresses of its own space.
#![expect(unsafe_code, reason = "mapped addresses become memory")]

use crate::call::{Answer, call};
use crate::start::INVOKED;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::GuestInfo;
use bulkhead_abi::kernel::{
    ALL, Archive, IMAGE, Operation, Packed, Rights, STACK_PAGES, STACK_TOP, Status, first,
};
use bulkhead_buffers::Region;

/// End of the addresses that are handed out: the guard of the stack.
const END: u64 = STACK_TOP - (STACK_PAGES + 1) * PAGE_SIZE;

const THREAD_STACK_PAGES: u64 = 2;

unsafe extern "C" {
    safe static __image_end: u8;
}

/// The first component's means.
#[derive(Debug)]
pub struct First {
    index: u64,
    guest_page: u64,
    window: u64,
    address: u64,
    page: u64,
    slot: u64,
}

impl First {
    pub(crate) fn new(index: u64, guest_page: u64, window: u64) -> Self {
        Self {
            index,
            guest_page,
            window,
            address: (&raw const __image_end).addr() as u64,
            page: 0,
            slot: first::FREE,
        }
    }

    /// Index of the thread that started here; the others' means are only the first component's.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// The next page of [`first::MEMORY`].
    pub fn page(&mut self) -> u64 {
        self.page += 1;
        self.page - 1
    }

    /// The next empty slot of its table.
    pub fn slot(&mut self) -> u64 {
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
        if address + pages * PAGE_SIZE > END {
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
        self.page += pages;
        self.map(first::MEMORY, number, pages, Rights::Write)
    }

    /// A thread of this component: its function, which must not return, gets its index. Its slot,
    /// and its time's, which is of `priority` and without end.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn thread(
        &mut self,
        entry: extern "C" fn(u64) -> !,
        index: u64,
        priority: u64,
    ) -> Result<[u64; 2], Status> {
        let stack = self.memory(THREAD_STACK_PAGES)? + THREAD_STACK_PAGES * PAGE_SIZE;
        let entry = entry as *const () as u64;
        let thread = self.make(Operation::MakeThread, [first::COMPONENT, entry, stack])?;
        let time = self.make(Operation::MakeTime, [first::TIME, ALL, priority])?;
        call(thread, Operation::Bind, [first::SCHEDULER, index, time])?;
        Ok([thread, time])
    }

    /// A component of the archive with one stack, in an address space of that `identity`: the slots of its component
    /// and of the leaf of its table, which holds the capability to return.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn component(&mut self, packed: &Packed, identity: u64) -> Result<[u64; 2], Status> {
        let mut levels = [0; 3];
        for (level, slot) in (1..).zip(&mut levels) {
            *slot = self.make(Operation::MakePages, [level])?;
        }
        let [root, middle, last] = levels;
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
        for page in 1..=STACK_PAGES {
            let index = (STACK_TOP - IMAGE) / PAGE_SIZE - page;
            let words = [index, first::MEMORY, self.page(), Rights::Write as u64];
            call(last, Operation::Map, words)?;
        }
        let table = self.make(Operation::MakeTable, [0])?;
        let leaf = self.make(Operation::MakeTable, [1])?;
        call(table, Operation::Copy, [0, leaf])?;
        call(leaf, Operation::Copy, [0, first::RETURN])?;
        let component = self.make(Operation::MakeComponent, [table, root, identity])?;
        Ok([component, leaf])
    }

    /// A capability to invoke `component`, which was made from `packed`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn invocation(&mut self, packed: &Packed, component: u64, token: u64) -> Answer {
        let slot = self.slot();
        let words = [slot, packed.entry + INVOKED, token];
        call(component, Operation::Entry, words).map(|_| slot)
    }

    /// A copy of the guest information page.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn guest_info(&mut self) -> Result<GuestInfo, Status> {
        let number = (self.guest_page - self.window) / PAGE_SIZE;
        let address = self.map(first::WINDOW, number, 1, Rights::Read)?;
        let info: *const GuestInfo = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: mapped above; every bit pattern is a value; nobody else writes it.
        Ok(unsafe { info.read() })
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

    /// Shared memory of the window, `[guest-physical address, bytes]`.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn window(&mut self, [at, bytes]: [u64; 2]) -> Result<Region<'static>, Status> {
        let number = at.checked_sub(self.window).ok_or(Status::BadArgument)? / PAGE_SIZE;
        let pages = bytes.div_ceil(PAGE_SIZE);
        let address = self.map(first::WINDOW, number, pages, Rights::Write)?;
        let base = core::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: mapped above for good; reached through regions alone.
        unsafe { Region::from_raw(base, bytes as usize) }.map_err(|_| Status::BadArgument)
    }
}
