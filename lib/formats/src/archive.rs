//! The archive of components, checked
//!
//! The boot component relies on this check when it builds the others: every number that an archive
//! names is in range, so decoding may fail but acting on it cannot. The host tool checks its own
//! archives with the same code. Source: `doc/interfaces/kernel.md`.

use bulkhead_abi::component::{
    ANY_CORE, COMPONENT_CORES, Interface, LEAST_PRIORITY, MAX_COMPONENT_THREADS, MAX_INTERFACES,
    NO_THREAD, OnFault, Part, Role, Shared, Wiring, message_contents, pipe_functions,
};
use bulkhead_abi::guest::{MAX_CHANNELS, MAX_FUNCTIONS};
use bulkhead_abi::kernel::{
    ARCHIVE_MAGIC, Archive, IMAGE, MAX_COMPONENTS, Packed, Rights, STACK_TOP, Segment,
};
use bulkhead_abi::timing::MAX_TASKS;
use bulkhead_abi::{PAGE_SIZE, VERSION, name_text};

/// Pages that components may share under one name.
const MOST_SHARED: u32 = 256;

/// Why an archive is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// No archive, or of another version.
    Header,
    /// More components or threads than there is room for, or no component.
    Count,
    /// A component has no name, or one of another.
    Name(usize),
    /// A segment is outside of the archive, or not where components are linked, or two overlap.
    Segment(usize),
    /// The image is entered outside of itself.
    Entry(usize),
    /// A component's numbers are out of range.
    Wiring(usize),
    /// An interface has no provider, or two on one core.
    Interface(usize),
    /// A shared memory has no user, belongs to the boot component, is empty, or has a name that is
    /// used twice.
    Shared(usize),
    /// Not one boot component, the first; or several schedulers of a core; or a thread without one.
    Roles,
}

/// A component of a checked archive.
#[derive(Clone, Copy, Debug)]
pub struct Component<'a> {
    /// Its place in the archive.
    pub number: usize,
    /// Its image.
    pub packed: &'a Packed,
    /// Its rights and needs.
    pub wiring: &'a Wiring,
}

/// A thread of a component.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    /// Its index under the scheduler of its core.
    pub index: u64,
    /// Its component.
    pub component: Component<'a>,
    /// Its number within the component, from 0.
    pub number: u64,
    /// Number of the task that it executes; `None`: it has its component's priority.
    pub task: Option<usize>,
}

/// A component invokes an interface.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The interface's number.
    pub interface: usize,
    /// The providing component.
    pub provider: Component<'a>,
    /// Number of the client component.
    pub client: usize,
}

impl Invocation<'_> {
    /// Returns whether the component of that number is provider or client.
    #[must_use]
    pub const fn involves(&self, number: usize) -> bool {
        self.client == number || self.provider.number == number
    }
}

impl<'a> Component<'a> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        name_text(&self.packed.name)
    }

    /// Returns whether it is for that.
    #[must_use]
    pub const fn is(&self, role: Role) -> bool {
        self.wiring.role == role as u32
    }

    /// Returns whether that part of the partition is its own.
    #[must_use]
    pub const fn owns(&self, part: Part) -> bool {
        self.wiring.owns & part.bit() != 0
    }

    /// Tasks of its threads, in order: `None` for the thread that has the component's priority, which is the first.
    pub fn thread_tasks(&self) -> impl Iterator<Item = Option<usize>> + Clone + use<> {
        let (first, tasks) = (self.wiring.priority != NO_THREAD, self.wiring.tasks);
        let tasks = (0..u32::BITS as usize).filter(move |task| tasks >> task & 1 != 0);
        first.then_some(None).into_iter().chain(tasks.map(Some))
    }

    /// End of its image, rounded up to a page.
    #[must_use]
    pub fn image_end(&self) -> u64 {
        let ends = self.packed.segments.iter().map(segment_end);
        ends.max().unwrap_or(IMAGE).max(IMAGE)
    }
}

/// A checked archive: all numbers are in range.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a>(&'a Archive);

impl<'a> Checked<'a> {
    /// Checks an archive.
    ///
    /// # Errors
    /// The first flaw.
    pub fn of(archive: &'a Archive) -> Result<Self, Flaw> {
        if archive.magic != ARCHIVE_MAGIC || archive.version != VERSION {
            return Err(Flaw::Header);
        }
        if archive.count == 0 || archive.count as usize > MAX_COMPONENTS {
            return Err(Flaw::Count);
        }
        let checked = Self(archive);
        for component in checked.components() {
            checked.check(&component)?;
        }
        for (number, interface) in checked.interfaces() {
            checked.check_interface(number, interface)?;
        }
        for (number, shared) in checked.shared() {
            checked.check_shared(number, shared)?;
        }
        let boots = checked
            .components()
            .map(|component| component.is(Role::Boot));
        let schedulers = |core: u32| {
            let all = checked.components().filter(|c| c.is(Role::Scheduler));
            all.filter(|one| one.wiring.core == core).count()
        };
        if checked.threads().count() > MAX_COMPONENT_THREADS {
            return Err(Flaw::Count);
        }
        let mut threads = checked.threads();
        if !boots
            .enumerate()
            .all(|(number, boot)| boot == (number == 0))
            || (0..COMPONENT_CORES as u32).any(|core| schedulers(core) > 1)
            || threads.any(|one| schedulers(one.component.wiring.core) == 0)
        {
            return Err(Flaw::Roles);
        }
        Ok(checked)
    }

    /// Its components, the boot component first.
    pub fn components(self) -> impl Iterator<Item = Component<'a>> + Clone {
        let both = self.0.components.iter().zip(&self.0.wiring).enumerate();
        both.take(self.0.count as usize)
            .map(|(number, (packed, wiring))| Component {
                number,
                packed,
                wiring,
            })
    }

    /// First page and pages of VCPUs, tasks and pipes; no pages where the partition has none.
    #[must_use]
    pub fn timing(self) -> [u64; 2] {
        self.0.timing.map(u64::from)
    }

    /// The component of that role; the first one where several have it.
    #[must_use]
    pub fn of_role(self, role: Role) -> Option<Component<'a>> {
        self.components().find(|component| component.is(role))
    }

    /// Threads of all components, with indices from 1 on, those of a component together.
    pub fn threads(self) -> impl Iterator<Item = Thread<'a>> + Clone {
        let threads = self.components().flat_map(|component| {
            let tasks = (0..).zip(component.thread_tasks());
            tasks.map(move |(number, task)| (component, number, task))
        });
        (1..)
            .zip(threads)
            .map(|(index, (component, number, task))| Thread {
                index,
                component,
                number,
                task,
            })
    }

    /// Threads of one core.
    pub fn threads_on(self, core: u32) -> impl Iterator<Item = Thread<'a>> {
        self.threads()
            .filter(move |thread| thread.component.wiring.core == core)
    }

    /// The scheduler of a core.
    #[must_use]
    pub fn scheduler(self, core: u32) -> Option<Component<'a>> {
        let mut schedulers = self.components().filter(|one| one.is(Role::Scheduler));
        schedulers.find(|one| one.wiring.core == core)
    }

    /// Its interfaces and their numbers.
    pub fn interfaces(self) -> impl Iterator<Item = (usize, &'a Interface)> {
        let named = |(_, interface): &(usize, &Interface)| interface.name != [0; 16];
        self.0.interfaces.iter().enumerate().take_while(named)
    }

    /// Shared memories with their numbers.
    pub fn shared(self) -> impl Iterator<Item = (usize, &'a Shared)> {
        let named = |(_, shared): &(usize, &Shared)| shared.name != [0; 16];
        self.0.shared.iter().enumerate().take_while(named)
    }

    /// All invocations: client, provider and interface.
    pub fn invocations(self) -> impl Iterator<Item = Invocation<'a>> {
        self.components().flat_map(move |client| {
            let needed = move |(number, _): &(usize, _)| client.wiring.needs & 1 << number != 0;
            let providers = self.interfaces().filter(needed);
            providers.filter_map(move |(interface, one)| {
                Some(Invocation {
                    interface,
                    provider: self.components().nth(one.provider as usize)?,
                    client: client.number,
                })
            })
        })
    }

    /// Components of which `component` has the memory for jobs of pipe functions in its space, in the order of addresses: itself, or for a
    /// scheduler those of its core.
    pub fn with_jobs_in(
        self,
        component: &Component<'a>,
    ) -> impl Iterator<Item = Component<'a>> + use<'a> {
        let (number, core) = (component.number, component.wiring.core);
        let schedules = component.is(Role::Scheduler);
        self.components().filter(move |one| {
            let is_there = schedules && one.wiring.core == core || one.number == number;
            one.wiring.job_stacks != 0 && is_there
        })
    }

    /// Components of a core with memory for contents of messages, each with its address ([`message_contents`]).
    pub fn with_contents_on(
        self,
        core: u32,
    ) -> impl Iterator<Item = (Component<'a>, u64)> + use<'a> {
        let on_core =
            move |one: &Component<'a>| one.wiring.contents_pages != 0 && one.wiring.core == core;
        let mut next = message_contents::FIRST;
        self.components().filter(on_core).map(move |one| {
            let address = next;
            next += message_contents::bytes(one.wiring.contents_pages);
            (one, address)
        })
    }

    fn check(self, component: &Component<'a>) -> Result<(), Flaw> {
        let number = component.number;
        let name = &component.packed.name;
        let again = self.components().take(number);
        if name_text(name).is_empty() || again.into_iter().any(|other| other.packed.name == *name) {
            return Err(Flaw::Name(number));
        }
        if !self.segments_fit(component) {
            return Err(Flaw::Segment(number));
        }
        if !(IMAGE..component.image_end()).contains(&component.packed.entry) {
            return Err(Flaw::Entry(number));
        }
        if self.wiring_fits(component.wiring) {
            Ok(())
        } else {
            Err(Flaw::Wiring(number))
        }
    }

    /// Segments lie in the archive, behind its first page, and one after the other below the stack.
    fn segments_fit(self, component: &Component<'a>) -> bool {
        let memory = u64::from(component.wiring.memory_pages);
        let stack = u64::from(component.wiring.stack_pages) + 1;
        let stacks = stack * u64::from(component.wiring.stacks().max(1));
        let reserved = (memory + stacks).saturating_mul(PAGE_SIZE);
        let room = STACK_TOP.saturating_sub(reserved);
        let mut end = IMAGE;
        let used = component.packed.segments.iter();
        used.filter(|segment| segment.pages != 0).all(|segment| {
            let behind = u64::from(segment.page) + u64::from(segment.pages);
            let placed = segment.address >= end && segment.address.is_multiple_of(PAGE_SIZE);
            end = segment_end(segment);
            let rights = Rights::of(segment.rights).is_some();
            placed && rights && segment.page >= 1 && behind <= self.0.pages && end <= room
        })
    }

    fn wiring_fits(self, wiring: &Wiring) -> bool {
        let interfaces = self.interfaces().count();
        let within = |bits: u32, count: usize| u64::from(bits) >> count == 0;
        Role::ALL.iter().any(|&role| role as u32 == wiring.role)
            && within(wiring.owns, Part::ALL.len())
            && within(wiring.needs, interfaces)
            && within(wiring.channels, MAX_CHANNELS)
            && wiring.doorbells & !wiring.channels == 0
            && self.core_fits(wiring)
            && wiring.function as usize <= MAX_FUNCTIONS
            && (wiring.priority <= LEAST_PRIORITY || wiring.priority == NO_THREAD)
            && within(wiring.tasks, MAX_TASKS)
            && usize::from(wiring.job_stacks) <= pipe_functions::JOBS
            && (wiring.job_stacks == 0 || wiring.role == Role::Application as u32)
            && self.contents_fit(wiring)
            && wiring.on_fault <= OnFault::Restart as u32
            && wiring.budget_ticks <= wiring.period_ticks
            && wiring.period_ticks <= u64::MAX >> 2
    }

    /// Returns whether the contents of messages of a component, and of all on its core, have room in the address space.
    fn contents_fit(self, wiring: &Wiring) -> bool {
        let programs = [Role::Scheduler, Role::Application].map(|role| role as u32);
        let on_core = self
            .components()
            .filter(|one| one.wiring.core == wiring.core);
        let bytes = on_core.map(|one| message_contents::bytes(one.wiring.contents_pages));
        wiring.contents_pages == 0
            || programs.contains(&wiring.role) && bytes.sum::<u64>() <= message_contents::MOST
    }

    /// Returns whether the core of a component is valid: components that run on one core or
    /// schedule it must name it.
    fn core_fits(self, wiring: &Wiring) -> bool {
        let passive = wiring.threads() == 0
            && wiring.role != Role::Scheduler as u32
            && wiring.role != Role::Boot as u32;
        (wiring.core as usize) < COMPONENT_CORES || passive && wiring.core == ANY_CORE
    }

    fn check_shared(self, number: usize, shared: &Shared) -> Result<(), Flaw> {
        let mut again = self.shared().take(number);
        let several = shared.components.count_ones() > 1 && shared.components & 1 == 0;
        let is_known = u64::from(shared.components) >> self.0.count == 0;
        let fits = (1..=MOST_SHARED).contains(&shared.pages);
        if several && is_known && fits && !again.any(|(_, one)| one.name == shared.name) {
            Ok(())
        } else {
            Err(Flaw::Shared(number))
        }
    }

    fn check_interface(self, number: usize, interface: &Interface) -> Result<(), Flaw> {
        let core = |one: &Interface| {
            let provider = self.components().nth(one.provider as usize);
            provider.map(|provider| provider.wiring.core)
        };
        let mut again = self.interfaces().take(number);
        let twice =
            again.any(|(_, one)| one.name == interface.name && core(one) == core(interface));
        let provided = interface.provider < self.0.count;
        if provided && !twice && number < MAX_INTERFACES {
            Ok(())
        } else {
            Err(Flaw::Interface(number))
        }
    }
}

fn segment_end(segment: &Segment) -> u64 {
    let bytes = u64::from(segment.pages) * PAGE_SIZE;
    segment.address.saturating_add(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_abi::name_field;
    use proptest::prelude::{any, prop_assert, proptest};
    use zerocopy::{FromBytes, FromZeros, IntoBytes};

    fn sound() -> Archive {
        let mut archive = Archive::new_zeroed();
        archive.magic = ARCHIVE_MAGIC;
        archive.version = VERSION;
        archive.count = 3;
        archive.pages = 10;
        for (number, name) in ["boot", "scheduler", "work"].into_iter().enumerate() {
            let packed = &mut archive.components[number];
            packed.name = name_field(name);
            packed.entry = IMAGE;
            packed.segments[0] = Segment {
                address: IMAGE,
                page: 1 + 3 * number as u32,
                pages: 3,
                rights: Rights::Execute as u64,
            };
            archive.wiring[number].priority = NO_THREAD;
            archive.wiring[number].stack_pages = 4;
        }
        archive.wiring[0].role = Role::Boot as u32;
        archive.wiring[1].role = Role::Scheduler as u32;
        archive.wiring[2].priority = 1;
        archive.wiring[2].needs = 1;
        archive.interfaces[0] = Interface {
            name: name_field("threads"),
            provider: 1,
            reserved: 0,
        };
        archive.shared[0] = Shared {
            name: name_field("frames"),
            pages: 1,
            components: 0b110,
        };
        archive
    }

    #[test]
    fn a_sound_archive_is_taken() {
        let archive = sound();
        let checked = Checked::of(&archive).expect("sound");
        assert_eq!(checked.components().count(), 3);
        let scheduler = checked.of_role(Role::Scheduler).expect("there is one");
        assert_eq!(scheduler.name(), "scheduler");
        let threads: [_; 1] = [checked.threads().next().expect("one")];
        assert_eq!((threads[0].index, threads[0].component.number), (1, 2));
        assert_eq!(threads[0].component.image_end(), IMAGE + 3 * PAGE_SIZE);
    }

    #[test]
    fn a_component_has_a_thread_at_its_priority_and_one_for_each_task() {
        let mut archive = sound();
        archive.wiring[2].tasks = 0b101;
        let checked = Checked::of(&archive).expect("sound");
        let threads = checked
            .threads_on(0)
            .map(|one| (one.index, one.number, one.task));
        let threads: [_; 3] = core::array::from_fn({
            let mut threads = threads;
            move |_| threads.next().expect("three")
        });
        assert_eq!(threads, [(1, 0, None), (2, 1, Some(0)), (3, 2, Some(2))]);
    }

    #[test]
    fn each_flaw_is_found() {
        type Damage = fn(&mut Archive);
        let cases: [(Damage, Flaw); 24] = [
            (|a| a.magic ^= 1, Flaw::Header),
            (|a| a.count = 17, Flaw::Count),
            (|a| a.count = 0, Flaw::Count),
            (
                |a| a.components[2].name = a.components[1].name,
                Flaw::Name(2),
            ),
            (|a| a.components[1].segments[0].page = 8, Flaw::Segment(1)),
            (|a| a.components[1].segments[0].page = 0, Flaw::Segment(1)),
            (|a| a.components[1].segments[0].rights = 3, Flaw::Segment(1)),
            (
                |a| a.components[1].segments[0].address = STACK_TOP,
                Flaw::Segment(1),
            ),
            (|a| a.components[2].entry = 0, Flaw::Entry(2)),
            (|a| a.wiring[2].needs = 2, Flaw::Wiring(2)),
            (
                |a| a.wiring[2].priority = LEAST_PRIORITY + 1,
                Flaw::Wiring(2),
            ),
            (|a| a.interfaces[0].provider = 3, Flaw::Interface(0)),
            (
                |a| a.wiring[2].core = COMPONENT_CORES as u32,
                Flaw::Wiring(2),
            ),
            (|a| a.wiring[2].core = ANY_CORE, Flaw::Wiring(2)),
            (|a| a.wiring[2].tasks = 1 << MAX_TASKS, Flaw::Wiring(2)),
            // 17 stacks.
            (
                |a| (a.wiring[2].tasks, a.wiring[2].stack_pages) = (u16::MAX.into(), 30),
                Flaw::Segment(2),
            ),
            (|a| a.wiring[2].doorbells = 1, Flaw::Wiring(2)),
            (|a| a.shared[0].components = 0b100, Flaw::Shared(0)),
            (|a| a.shared[0].components = 0b101, Flaw::Shared(0)),
            (|a| a.shared[0].components = 0b1010, Flaw::Shared(0)),
            (|a| a.shared[0].pages = 0, Flaw::Shared(0)),
            (|a| a.wiring[2].core = 1, Flaw::Roles),
            (|a| a.wiring[2].role = Role::Boot as u32, Flaw::Roles),
            (|a| a.wiring[2].role = Role::Scheduler as u32, Flaw::Roles),
        ];
        for (damage, flaw) in cases {
            let mut archive = sound();
            damage(&mut archive);
            assert_eq!(Checked::of(&archive).err(), Some(flaw));
        }
    }

    proptest! {
        /// Whatever stands in the page: it is refused, or all that is done with it stays in range.
        #[test]
        fn any_page_is_refused_or_safe(at in 0..size_of::<Archive>(), bytes in any::<[u8; 64]>(),
                                       bit in 0u32..8) {
            let mut image = sound().as_bytes().to_vec();
            for (place, byte) in image.iter_mut().skip(at).zip(bytes) {
                *place = byte;
            }
            if let Some(place) = image.get_mut(at) {
                *place ^= 1 << bit;
            }
            let archive = Archive::read_from_bytes(&image).expect("the size of one");
            if let Ok(checked) = Checked::of(&archive) {
                for component in checked.components() {
                    for segment in &component.packed.segments {
                        let last = u64::from(segment.page) + u64::from(segment.pages);
                        prop_assert!(segment.pages == 0 || last <= archive.pages);
                    }
                    let end = component.image_end() + u64::from(component.wiring.memory_pages) * PAGE_SIZE;
                    prop_assert!(end <= STACK_TOP);
                }
                for (_, interface) in checked.interfaces() {
                    prop_assert!(interface.provider < archive.count);
                }
            }
        }
    }
}
