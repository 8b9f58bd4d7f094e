//! The first component, its thread, its scheduler, all memory and all time
//!
//! Runs once, on the first core, before user space does; the others are started by system calls. What it hands over is listed in
//! [`bulkhead_abi::kernel::first`]; from there on everything is made by system calls.

use crate::frame::{PAGE, Ref, WORDS};
use crate::memory::{DEVICES, WINDOW};
use crate::notification::LINES;
use crate::object::{Core, STARTED, Thread};
use crate::slot::Slot;
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{
    IDENTITIES, IMAGE, Kind, LEAST, MAX_CORES, Packed, Rights, SCB_ADDRESS, SCHEDULERS,
    STACK_PAGES, STACK_TOP, Segment, Status, first,
};

/// Pages below guest memory.
const DEVICE_PAGES: u64 = bulkhead_abi::guest::RAM / PAGE;

/// Memory, cores and the first component that the machine offers.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// First page and number of pages of free memory.
    pub memory: (Ref, u64),
    /// First page and number of pages of the window.
    pub window: (Ref, u64),
    /// First page and number of pages of the archive, which the frame table has as user memory.
    pub archive: (Ref, u64),
    /// The first component.
    pub component: Packed,
    /// Guest-physical address of the guest page.
    pub guest_page: u64,
    /// The pages of the cores, which have their names, ranks, periods and stacks; the first runs this.
    pub cores: (Ref, u64),
}

/// Free pages, lowest first.
struct Free {
    next: Ref,
    count: u64,
}

impl Free {
    fn take(&mut self) -> Result<Ref, Status> {
        self.count = self.count.checked_sub(1).ok_or(Status::WrongPage)?;
        let page = self.next;
        self.next = page.plus(1);
        Ok(page)
    }
}

impl<'h, H: Hal> Kernel<'h, H> {
    /// Prepares the core's page and makes what `offer` describes. The first thread is current then.
    ///
    /// # Errors
    /// The memory is too small, or the image is none of a first component.
    #[inline(never)]
    pub fn boot(self, offer: &Offer) -> Result<(), Status> {
        let mut free = Free {
            next: offer.memory.0,
            count: offer.memory.1,
        };
        let shared = [self.private(&mut free)?, self.private(&mut free)?];
        let (cores, count) = offer.cores;
        for rank in 0..count.min(MAX_CORES as u64) {
            let at = cores.plus(rank);
            let core = Core::new(at, self.0.frame(at));
            core.first().set(cores.address());
            core.count().set(count);
            self.prepare_core(core, &mut free, shared)?;
        }
        let leaf = self.first_table(&mut free)?;
        let slot = |place| Slot::of(self.0.frame(leaf), place);
        self.first_space(&mut free, leaf, offer)?;
        let component = free.take()?;
        let [table, pages] = [first::TABLE, first::PAGES[0]].map(|place| slot(place).object());
        self.new_component(component, [table, pages], 1)?;
        self.enter_in(
            self.vacant(slot(first::COMPONENT))?,
            Kind::Component,
            component,
            0,
        )?;
        let thread = self.first_thread(&mut free, leaf, offer)?;
        for (place, kind) in [
            (first::RETURN, Kind::Return),
            (first::MONITOR, Kind::Monitor),
        ] {
            slot(place).put(kind, self.void(), 0, 0);
        }
        for (place, (at, pages), extra) in [
            (first::MEMORY, (free.next, free.count), 0),
            (first::WINDOW, offer.window, WINDOW),
            (first::ARCHIVE, offer.archive, 0),
            (first::DEVICES, (Ref(H::LINEAR), DEVICE_PAGES), DEVICES),
        ] {
            slot(place).put(Kind::Memory, at, pages, extra);
        }
        for (place, rank) in (first::CORES..first::DEVICES).zip(0..count) {
            slot(place).put(Kind::Core, cores.plus(rank), 0, 0);
        }
        let lines = LINES.end - LINES.start;
        slot(first::INTERRUPT).put(Kind::Interrupt, self.void(), LINES.start, lines);
        // 0 is the kernel's, 1 that of the first component.
        slot(first::IDENTITIES).put(Kind::Identities, self.void(), 2, IDENTITIES - 2);
        let core = self.0.core();
        core.stage().set(STARTED);
        core.current().set(thread.at().address());
        self.begin();
        Ok(())
    }

    /// A page to which only the kernel ever refers.
    fn private(self, free: &mut Free) -> Result<Ref, Status> {
        let at = free.take()?;
        self.claim(at, Kind::Empty, 0)
    }

    /// The page of a core, which shares the void and the identities with the others.
    fn prepare_core(
        self,
        core: Core<'h>,
        free: &mut Free,
        [void, identities]: [Ref; 2],
    ) -> Result<(), Status> {
        let [interrupts, mailbox] = [self.private(free)?, self.private(free)?];
        // Its leaves, were it a root, are not read; as a leaf, scheduler or thread the void is all
        // zero, and its component is no component's page.
        self.0.fill(interrupts, void.address(), WORDS as u64);
        core.void().set(void.address());
        core.identities().set(identities.address());
        core.interrupts().set(interrupts.address());
        core.mailbox().set(mailbox.address());
        for word in [
            core.fp_owner(),
            core.preempted(),
            core.preempted_time(),
            core.time(),
            core.current(),
        ] {
            word.set(void.address());
        }
        for place in 0..SCHEDULERS as u64 {
            core.placed(place).set(void.address());
        }
        Ok(())
    }

    /// Root and first leaf of its table.
    fn first_table(self, free: &mut Free) -> Result<Ref, Status> {
        let [root, leaf] = [free.take()?, free.take()?];
        let slot = |place| Slot::of(self.0.frame(leaf), place);
        self.claim(leaf, Kind::Table, 0)?;
        self.make_table(self.vacant(slot(first::TABLE))?, root, 0)?;
        self.enter_in(self.vacant(slot(first::LEAF))?, Kind::Table, leaf, 1)?;
        self.0.frame(root).word(0).set(leaf.address());
        self.add_reference(leaf)?;
        Ok(leaf)
    }

    /// Its address space: the segments of its image where they lie, a stack.
    fn first_space(self, free: &mut Free, leaf: Ref, offer: &Offer) -> Result<(), Status> {
        let slot = |place| Slot::of(self.0.frame(leaf), place);
        for (level, place) in (1..).zip(first::PAGES) {
            self.make_pages(self.vacant(slot(place))?, free.take()?, level)?;
        }
        let [root, middle, last] = first::PAGES.map(|place| slot(place).object());
        self.attach(root, IMAGE >> 30, middle)?;
        self.attach(middle, IMAGE >> 21, last)?;
        let memory = slot(first::ARCHIVE);
        memory.put(Kind::Memory, offer.archive.0, offer.archive.1, 0);
        for segment in &offer.component.segments {
            self.map_segment(last, memory, segment)?;
        }
        for page in 1..=STACK_PAGES {
            let stack = slot(first::MEMORY);
            stack.put(Kind::Memory, free.take()?, 1, 0);
            let index = index_of(STACK_TOP - page * PAGE)?;
            self.map(last, index, stack, 0, Rights::Write)?;
        }
        Ok(())
    }

    fn map_segment(self, last: Ref, memory: Slot<'h>, segment: &Segment) -> Result<(), Status> {
        let rights = Rights::of(segment.rights).ok_or(Status::BadArgument)?;
        for page in 0..u64::from(segment.pages) {
            let index = index_of(segment.address + page * PAGE)?;
            let number = u64::from(segment.page) + page;
            self.map(last, index, memory, number, rights)?;
        }
        Ok(())
    }

    /// Its thread with time without end, and the root scheduler over a shared page.
    fn first_thread(self, free: &mut Free, leaf: Ref, offer: &Offer) -> Result<Thread<'h>, Status> {
        let slot = |place| Slot::of(self.0.frame(leaf), place);
        let component = slot(first::COMPONENT).object();
        let start = [offer.component.entry, STACK_TOP];
        let core = self.0.core();
        let shared = slot(first::MEMORY);
        shared.put(Kind::Memory, free.take()?, 1, 0);
        let last = slot(first::PAGES[2]).object();
        self.map(last, index_of(SCB_ADDRESS)?, shared, 0, Rights::Write)?;
        let thread = self.new_thread(free.take()?, component, start)?;
        let scheduler = self.new_scheduler(core, free.take()?, thread, shared.object())?;
        let time = self.all_time(core, free.take()?, scheduler)?;
        self.set_time(thread, time.at())?;
        thread.message(1).set(offer.guest_page);
        thread.message(2).set(offer.window.0.address() - H::LINEAR);
        // Nothing more is taken.
        thread.message(3).set(free.next.address() - H::LINEAR);
        for (place, kind, at) in [
            (first::THREAD, Kind::Thread, thread.at()),
            (first::RECEIVE, Kind::Receive, thread.at()),
            (first::SCHEDULER, Kind::Scheduler, scheduler.at()),
            (first::TIME, Kind::Time, time.at()),
        ] {
            self.enter_in(self.vacant(slot(place))?, kind, at, 0)?;
        }
        Ok(thread)
    }
}

/// Index in the only level-3 table of the first component.
fn index_of(address: u64) -> Result<u64, Status> {
    let pages = address.wrapping_sub(IMAGE) / PAGE;
    if address.is_multiple_of(PAGE) && pages < 512 {
        Ok(pages)
    } else {
        Err(Status::BadArgument)
    }
}

const _: () = assert!(LEAST == u64::MAX);
