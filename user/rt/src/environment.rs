//! The environment of a component: name, argument words, channel ends, interfaces and memory, as
//! the description gives them
//!
//! The boot component maps an information page at [`INFO_ADDRESS`]. Addresses in it are of this
//! component's own space. Only what the description gives the component is mapped.
#![expect(
    unsafe_code,
    reason = "mapped addresses become memory; one thread records events"
)]

use crate::call::{Answer, call};
use crate::first::Timing;
use crate::invocation::invoke;
use crate::{clock, console};
use bulkhead_abi::component::{ComponentInfo, INFO_ADDRESS, interface_slot, threads};
use bulkhead_abi::guest::{ChannelEnd, Function, HEARTBEAT_OFFSET};
use bulkhead_abi::kernel::{Operation, Status};
use bulkhead_abi::timing::Task;
use bulkhead_abi::trace::Event;
use bulkhead_abi::{name_field, name_text};
use bulkhead_buffers::recorder::records::Writer;
use bulkhead_buffers::ring::Consumer;
use bulkhead_buffers::{AttachError, Region};
use bulkhead_guest::{Home, Link, LinkWords, Unmapped, argument, recorders};
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU64;
use zerocopy::IntoBytes;

struct Trace(UnsafeCell<Option<Writer<'static>>>);

// SAFETY: one thread of a component records, as `Environment::open` requires.
unsafe impl Sync for Trace {}

static TRACE: Trace = Trace(UnsafeCell::new(None));

/// The information page, which the boot component built.
#[must_use]
pub fn info() -> &'static ComponentInfo {
    let info: *const ComponentInfo = core::ptr::with_exposed_provenance(INFO_ADDRESS as usize);
    // SAFETY: mapped read-only before the component starts; any content is a value; it is not
    // written while the component runs.
    unsafe { &*info }
}

/// VCPUs, tasks and pipes of the partition, if this component has them; else none.
fn timing() -> Timing {
    let [address, bytes] = info().timing;
    if bytes == 0 {
        return Timing::NOTHING;
    }
    let start: *const u8 = core::ptr::with_exposed_provenance(address as usize);
    // SAFETY: mapped read-only before the component starts, for good; it is never written.
    let bytes = unsafe { core::slice::from_raw_parts(start, bytes as usize) };
    Timing::read(bytes).unwrap_or(Timing::NOTHING)
}

/// The task that the component's thread of that index executes.
pub(crate) fn task_of_thread(index: u64) -> Option<&'static Task> {
    let info = info();
    let number = index.checked_sub(info.first_thread.into())?;
    let number = number.checked_sub(info.first_has_priority.into())?;
    let mut tasks = (0..u16::BITS as usize).filter(|task| info.tasks >> task & 1 != 0);
    timing().tasks.get(tasks.nth(number as usize)?)
}

/// The environment of this component.
pub struct Environment {
    info: &'static ComponentInfo,
    threads: Option<u64>,
}

impl Environment {
    /// Reads the page, and opens console and trace if the component has them. Called by a
    /// component's first thread before it starts others; its threads print and record in turn.
    #[must_use]
    pub fn open() -> Self {
        let env = Self::of_thread();
        match env.interface(bulkhead_abi::component::console::NAME) {
            Some(slot) => console::open_through(slot),
            None => env.open_console(),
        }
        if let Ok(region) = region(env.info.guest.trace) {
            let writer = recorders::trace(region, env.info.guest.trace[1]);
            // SAFETY: no thread records yet.
            unsafe { *TRACE.0.get() = writer };
        }
        env
    }

    /// The environment in another thread of the component, after [`Environment::open`].
    #[must_use]
    pub fn of_thread() -> Self {
        let mut env = Self {
            info: info(),
            threads: None,
        };
        env.threads = env.interface(threads::NAME);
        env
    }

    fn open_console(&self) {
        let place = self.info.guest.console_out;
        if let Ok(region) = region(place) {
            console::open(region, place[1]);
        }
    }

    /// The consumer of console input, if it owns the console; one at a time.
    #[must_use]
    pub fn console_input(&self) -> Option<Consumer<'static>> {
        let place = self.info.guest.console_in;
        recorders::console_input(region(place).ok()?, place[1])
    }

    /// The information page.
    #[must_use]
    pub const fn info(&self) -> &'static ComponentInfo {
        self.info
    }

    /// VCPUs, tasks and pipes of the partition, if this is a scheduler or has tasks, and there are any.
    #[must_use]
    pub fn timing(&self) -> Timing {
        timing()
    }

    /// The task that the component's first thread executes; `None`: the thread has a priority.
    #[must_use]
    pub fn task(&self) -> Option<&'static Task> {
        task_of_thread(self.info.first_thread.into())
    }

    /// All tasks of the component.
    pub fn tasks(&self) -> impl Iterator<Item = &'static Task> + use<> {
        let bits = self.info.tasks;
        let all = timing().tasks.iter().enumerate();
        all.filter_map(move |(number, task)| (bits >> number & 1 != 0).then_some(task))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        name_text(&self.info.name)
    }

    /// The value of the argument word `key=value`; `""` for the bare word.
    #[must_use]
    pub fn argument(&self, key: &str) -> Option<&str> {
        let guest = &self.info.guest;
        let text = guest.argument.get(..guest.argument_len as usize)?;
        argument::value(core::str::from_utf8(text).ok()?, key)
    }

    /// The number in an argument word, or `usual`.
    #[must_use]
    pub fn number(&self, key: &str, usual: u64) -> u64 {
        let given = self.argument(key).and_then(|text| text.parse().ok());
        given.unwrap_or(usual)
    }

    /// Slot of the capability to invoke an interface, if the description wires it.
    #[must_use]
    pub fn interface(&self, name: &str) -> Option<u64> {
        let name = name_field(name);
        // Each core may have one of that name.
        let mut named = self.info.interfaces.iter().enumerate();
        let (number, _) =
            named.find(|(number, one)| self.info.needs & 1 << number != 0 && **one == name)?;
        Some(interface_slot(number))
    }

    /// Address and bytes of its memory beside image and stack.
    #[must_use]
    pub const fn memory(&self) -> [u64; 2] {
        self.info.guest.memory
    }

    /// The partition's own link: state and number of starts.
    #[must_use]
    pub fn link(&self) -> Link {
        link(self.info.guest.link, 0)
    }

    /// The link of the partition at the other end of a channel; after a failover, of its standby.
    #[must_use]
    pub fn peer_link(&self, end: &ChannelEnd) -> Option<Link> {
        (end.link != 0).then(|| link(end.link, end.standby_link))
    }

    /// The heartbeat's word: the partition's, or that of one core, which the component with the
    /// partition's word reads.
    #[must_use]
    pub fn heartbeat(&self) -> Option<&'static AtomicU64> {
        heartbeat(self.info.guest_page)
    }

    /// The heartbeat words of other cores, if it has the partition's.
    pub fn pulses(&self) -> impl Iterator<Item = &'static AtomicU64> {
        self.info.pulses.iter().filter_map(|page| heartbeat(*page))
    }

    /// Reports that the component works: the threads of its other tasks begin, and the partition is up once all
    /// applications work.
    ///
    /// # Errors
    /// There is no scheduler, or the scheduler's refusal.
    pub fn ready(&self) -> Result<(), Status> {
        match Status::of(self.ask(threads::READY, 0)?) {
            Some(Status::Ok) => Ok(()),
            status => Err(status.unwrap_or(Status::BadArgument)),
        }
    }

    /// Lets threads of equal priority run.
    pub fn give_way(&self) {
        let _refused_without_scheduler = self.ask(threads::YIELD, 0);
    }

    /// The PCIe function of the component, if it has one.
    #[must_use]
    pub fn function(&self) -> Option<&'static Function> {
        let function = &self.info.function;
        (function.configuration != 0).then_some(function)
    }

    /// The shared memory of that name, and its number for [`Environment::wake`].
    #[must_use]
    pub fn shared(&self, name: &str) -> Option<(u64, &'static [AtomicU64])> {
        let name = name_field(name);
        let mut all = (0..).zip(&self.info.shared);
        let (number, found) = all.find(|(_, one)| one.name == name)?;
        Some((number, words([found.address, found.bytes])))
    }

    /// Its own memory ([`Environment::memory`]), to which a device or other components may write at
    /// any time.
    #[must_use]
    pub fn memory_words(&self) -> &'static [AtomicU64] {
        words(self.info.guest.memory)
    }

    /// Notifies the other components with that shared memory: they no longer wait in
    /// [`Environment::served`].
    ///
    /// # Errors
    /// The component does not have it, or has no scheduler.
    pub fn wake(&self, shared: u64) -> Result<(), Status> {
        match Status::of(self.ask(threads::WAKE, shared)?) {
            Some(Status::Ok) => Ok(()),
            status => Err(status.unwrap_or(Status::BadArgument)),
        }
    }

    /// Completes the last interrupt, and waits for the next one, of its function or a doorbell, or
    /// for a notification. Returns how many came at once.
    ///
    /// # Errors
    /// There is no scheduler, or the scheduler's refusal.
    pub fn served(&self) -> Answer {
        match self.ask(threads::SERVED, 0)? {
            0 => Err(Status::NoCapability),
            count => Ok(count),
        }
    }

    /// Rings the peer at a channel's end.
    ///
    /// # Errors
    /// The component has no such end, or the end no doorbell; [`Status::Refused`]: more often than
    /// agreed.
    pub fn ring(&self, end: &ChannelEnd) -> Result<(), Status> {
        match Status::of(self.ask(threads::RING, end.doorbell_out.into())?) {
            Some(Status::Ok) => Ok(()),
            status => Err(status.unwrap_or(Status::BadArgument)),
        }
    }

    /// Requests a Main VCPU of `capacity_ns` in `period_ns`; needs [`bulkhead_abi::component::Part::Admission`].
    /// Returns the answer of [`threads::REQUEST`].
    #[must_use]
    pub fn request_vcpu(&self, capacity_ns: u64, period_ns: u64) -> u64 {
        let Some(slot) = self.threads else {
            return threads::REFUSED;
        };
        let reply = invoke(slot, [threads::REQUEST, capacity_ns, period_ns, 0, 0]);
        match reply.status {
            0 => reply.value,
            _ => threads::REFUSED,
        }
    }

    fn ask(&self, what: u64, word: u64) -> Answer {
        let slot = self.threads.ok_or(Status::NoCapability)?;
        let reply = invoke(slot, [what, word, 0, 0, 0]);
        match Status::of(reply.status) {
            Some(Status::Ok) => Ok(reply.value),
            status => Err(status.unwrap_or(Status::BadArgument)),
        }
    }
}

impl Home for Environment {
    fn channels(&self) -> &[ChannelEnd] {
        let guest = &self.info.guest;
        let held = guest.channels.get(..guest.channel_count as usize);
        held.unwrap_or(&guest.channels)
    }

    fn memory(&self, end: &ChannelEnd) -> Result<Region<'static>, Unmapped> {
        region([end.ipa, end.size]).map_err(Unmapped::Unfit)
    }

    fn sleep_until(&self, ticks: u64) {
        while clock::now() < ticks {
            let _slept = self.ask(threads::SLEEP, ticks);
        }
    }

    fn now() -> u64 {
        clock::now()
    }

    fn frequency() -> u64 {
        clock::frequency()
    }

    fn record(event: &Event) {
        // SAFETY: one thread of the component records.
        if let Some(writer) = unsafe { (*TRACE.0.get()).as_mut() } {
            let _whole = writer.write(event.as_bytes());
        }
    }
}

/// Memory that the boot component mapped.
fn region([address, bytes]: [u64; 2]) -> Result<Region<'static>, AttachError> {
    if address == 0 {
        return Err(AttachError::TooSmall {
            needed: 1,
            given: 0,
        });
    }
    let base = core::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the page about the component names mapped memory, for good; it is reached through
    // regions alone.
    unsafe { Region::from_raw(base, bytes as usize) }
}

/// Words of the shared memory of that number ([`Environment::shared`]); empty if there is none.
#[must_use]
pub fn shared_words(number: u64) -> &'static [AtomicU64] {
    let found = info().shared.get(number as usize);
    found.map_or(&[], |one| words([one.address, one.bytes]))
}

/// Memory that the boot component mapped, as words.
fn words([address, bytes]: [u64; 2]) -> &'static [AtomicU64] {
    let count = bytes as usize / size_of::<AtomicU64>();
    if count == 0 {
        return &[];
    }
    let start: *const AtomicU64 = core::ptr::with_exposed_provenance(address as usize);
    // SAFETY: whole pages that the page about the component names, mapped for good; reached by atomics alone.
    unsafe { core::slice::from_raw_parts(start, count) }
}

fn word(address: u64) -> &'static AtomicU64 {
    let pointer = core::ptr::with_exposed_provenance_mut(address as usize & !7);
    // SAFETY: in a page that the information page names; aligned; others write it whole.
    unsafe { AtomicU64::from_ptr(pointer) }
}

/// Address of a word in a page that is the guest page or stands in for it.
fn heartbeat(page: u64) -> Option<&'static AtomicU64> {
    (page != 0).then(|| word(page + HEARTBEAT_OFFSET))
}

fn link(address: u64, standby: u64) -> Link {
    let words = |address| LinkWords::at(address, word);
    Link {
        page: words(address),
        standby: (standby != 0).then(|| words(standby)),
    }
}

/// Reports to the monitor that the partition gives up with `code`; needs the capability.
///
/// # Errors
/// The kernel's refusal: `slot` holds no such capability.
pub fn fail(slot: u64, code: u64) -> Answer {
    call(slot, Operation::Fail, [code])
}
