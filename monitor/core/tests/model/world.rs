//! Three partitions: two cores, one core, and a standby for the first; a spare core watches
//!
//! Cores and partitions refer to each other, so they are placed first and filled in afterwards, as the
//! boot part does it.
#![expect(
    unsafe_code,
    reason = "states that refer to each other, and zeroed pages"
)]

use crate::fake::{Effect, End, Fake};
use bulkhead_abi::config::{
    Attachment, Doorbell, Gate, NO_PARTITION, PartitionConfig, Segment, Watch, flags,
};
use bulkhead_abi::status::{
    Action, CAUSES, CoreCounters, FaultRecord, LinkPage, MAX_DOORBELLS, Status,
};
use bulkhead_limiter::Limiter;
use bulkhead_monitor_core::{
    Core, CoreCells, Entry, Frame, IDENTITY_REGISTERS, Image, LinkCells, Monitor, NEVER, NO_FAULT,
    Partition, Power, StatusCells,
};
use std::alloc::{Layout, alloc_zeroed};
use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

pub(crate) const GICD: u64 = 0x0800_0000;
/// Private interrupts of the monitor, its alarm first: those of a board that is like no other.
pub(crate) const HYPERVISOR: [u64; 3] = [20, 18, 31];
pub(crate) const ALARM: u32 = 1 << HYPERVISOR[0];
pub(crate) const GUEST_PRIVATE: u32 =
    !(1 << HYPERVISOR[0] | 1 << HYPERVISOR[1] | 1 << HYPERVISOR[2]);
pub(crate) const GICR: u64 = 0x080A_0000;
pub(crate) const GUEST_GICD: u64 = 0x1800_0000;
pub(crate) const GUEST_GICR: u64 = 0x180A_0000;
pub(crate) const GUEST_UART: u64 = 0x1900_0000;
pub(crate) const ROOTS: u64 = 0x5000_0000;
pub(crate) const CONSOLE_OUT: u64 = 0x6000_0000;
pub(crate) const CONSOLE_OUT_BYTES: u64 = 24;
pub(crate) const CONSOLE_IN: u64 = 0x6001_0000;
pub(crate) const CONSOLE_IN_BYTES: u64 = 4;
pub(crate) const HEARTBEAT: u64 = 0x6002_0000;
pub(crate) const ATTACHED: u64 = 0x6003_0000;
pub(crate) const ATTACHED_VALUE: u64 = 0x1234_5000_07C3;
pub(crate) const KEY: u64 = 77;
pub(crate) const GUEST_MEMORY: [u64; 2] = [0x4000_0000, 0x10_0000];
/// From guest-physical to physical.
pub(crate) const MEMORY: u64 = 0x10_0000_0000;
/// No stage 2 from here on.
pub(crate) const UNMAPPED: u64 = 0x8000_0000;
pub(crate) const PERIOD: u64 = 1 << 20;
pub(crate) const STARTUP: u64 = 1 << 24;
pub(crate) const DOORBELL_INTID: u32 = 40;

pub(crate) const CORES: usize = 5;
pub(crate) const SPARE: usize = 4;
/// Owner and rank of each core; the last is spare.
pub(crate) const OWNERS: [Option<(usize, u32)>; CORES] =
    [Some((0, 0)), Some((0, 1)), Some((1, 0)), Some((2, 0)), None];

/// `GICR_TYPER` as guests see it: affinity, number, last of its partition.
const TYPERS: [u64; CORES] = [0, 1 << 32 | 1 << 8 | 1 << 4, 1 << 4, 1 << 4, 0];

/// A machine of five cores and three partitions.
pub(crate) struct World {
    pub(crate) fake: Fake,
    pub(crate) cores: [&'static Core; CORES],
    pub(crate) partitions: [&'static Partition; 3],
}

/// Deviations of a test from the default configuration.
#[derive(Clone, Copy)]
pub(crate) struct Wishes {
    pub(crate) action: Action,
    pub(crate) escalation: Action,
    pub(crate) restarts: u32,
    pub(crate) backoff: u64,
    pub(crate) flags: u32,
    /// Partition 1 is watched by changes of its heartbeat word.
    pub(crate) by_change: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            action: Action::Restart,
            escalation: Action::Halt,
            restarts: 2,
            backoff: 0,
            flags: 0,
            by_change: false,
        }
    }
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Zeroed memory for a `T`, for good.
fn room<T>() -> *mut T {
    // SAFETY: no `T` here has size zero.
    unsafe { alloc_zeroed(Layout::new::<T>()) }.cast()
}

fn place<T>(room: *mut T, value: T) {
    // SAFETY: room for the value, and no reference to it exists yet.
    unsafe { room.write(value) };
}

fn at<T>(room: *mut T) -> &'static T {
    // SAFETY: all zeros is a value of the types this is called for, or one is placed before it is used.
    unsafe { &*room }
}

/// A copy of what a monitor has published; `P` is laid out as `T` (asserted in the crate).
fn published<T, P>(page: &T) -> P {
    // SAFETY: same layout, plain integers, and no other thread.
    unsafe { std::ptr::from_ref(page).cast::<P>().read() }
}

/// Interrupts: eight SPIs in one word, one in another. The standby has those of the first.
pub(crate) fn spis(partition: usize) -> [u32; 32] {
    let place = partition % 2;
    let mut spis = [0; 32];
    spis[1] = 0xFF << (8 * place);
    spis[6] = 1 << place;
    spis
}

/// Two cores in a cluster, so that affinities above the lowest matter.
pub(crate) const fn mpidr(core: usize) -> u64 {
    ((core as u64 / 2) << 8) | (core as u64 % 2)
}

pub(crate) const fn target(core: usize) -> u64 {
    (core as u64 / 2) << 16 | 1 << (core as u64 % 2)
}

pub(crate) const fn gicr(core: usize) -> u64 {
    GICR + 0x2_0000 * core as u64
}

pub(crate) const fn vttbr(partition: usize) -> u64 {
    (partition as u64 + 1) << 48 | (ROOTS + 0x2000 * partition as u64)
}

fn config(index: usize, wishes: Wishes) -> PartitionConfig {
    let none = Default::default();
    let standby = if index == 2 { flags::STANDBY } else { 0 };
    PartitionConfig {
        name: [0; 16],
        vttbr: vttbr(index),
        vtcr: 0,
        cores: 0,
        flags: wishes.flags | standby,
        standby: NO_PARTITION,
        memory: GUEST_MEMORY,
        entry: 0,
        argument: 0,
        alternate_entry: 0,
        alternate_argument: 0,
        segments: none,
        alternate_segments: none,
        gates: none,
        doorbells: none,
        attachments: none,
        actions: [0; CAUSES],
        escalation: 0,
        reserved: [0; 7],
        restart_limit: 0,
        restart_period_ticks: 0,
        restart_backoff_ticks: wishes.backoff,
        link_pa: 0,
        status_pa: 0,
        state_pa: 0,
        console_out: [CONSOLE_OUT, 64 + CONSOLE_OUT_BYTES],
        console_in: [CONSOLE_IN, 128 + 8 * CONSOLE_IN_BYTES],
        gicd_ipa: GUEST_GICD,
        gicr_ipa: GUEST_GICR,
        uart_ipa: GUEST_UART,
        spis: spis(index),
    }
}

pub(crate) const SEGMENT: Segment = Segment {
    ipa: 0x4000_0F00,
    pa: 0x7000_0000,
    copy_size: 0x1040,
    zero_size: 0x80,
    clean_size: 0x1000,
};

pub(crate) fn roots(partition: usize) -> [Gate; 2] {
    let root = ROOTS + 0x2000 * partition as u64;
    [8, 16].map(|offset| Gate {
        pa: root + offset,
        open: root + 3,
        closed: 0,
    })
}

fn partition(
    index: usize,
    wishes: Wishes,
    cores: &'static [&'static Core],
    standby: Option<&'static Partition>,
) -> Partition {
    let roots = if cores.is_empty() {
        &[][..]
    } else {
        &leak(roots(index))[..]
    };
    Partition {
        config: leak(config(index, wishes)),
        cores,
        link: at(room::<LinkCells>()),
        status: at(room::<StatusCells>()),
        images: [
            Image {
                segments: &[SEGMENT],
                entry: 0x4000_0000,
                argument: 0x4444,
            },
            Image {
                segments: &[],
                entry: 0x4001_0000,
                argument: 0x5555,
            },
        ],
        gates: roots,
        doorbells: leak([Doorbell {
            intid: DOORBELL_INTID,
            limit: 2,
            period_ticks: PERIOD,
        }]),
        attachments: leak([Attachment {
            key: KEY,
            ipa: 0x0C00_0000,
            size: 0x3000,
            entry_pa: ATTACHED,
            entry_value: ATTACHED_VALUE,
        }]),
        standby,
        gicd: GICD,
        limits: std::array::from_fn::<_, MAX_DOORBELLS, _>(|_| Limiter::new(2, PERIOD).ok()),
        restart_limit: Limiter::new(wishes.restarts, 1 << 40).ok(),
        distributor_enables: AtomicU64::new(0),
        stopped: AtomicU64::new(1),
        stoppers: AtomicU64::new(0),
        image: AtomicU64::new(0),
        fault_ticks: AtomicU64::new(0),
        progress: [const { AtomicU64::new(0) }; 2],
        actions: [wishes.action; CAUSES],
        escalation: wishes.escalation,
    }
}

/// The counters of a core in the status region, where boot makes it count.
fn counters(partition: &'static Partition, rank: u32) -> &'static CoreCells {
    let offset = offset_of!(Status, cores) + rank as usize * size_of::<CoreCounters>();
    let page = std::ptr::from_ref(partition.status).cast::<u8>();
    // SAFETY: inside the region, which has the layout of `Status`.
    let place = unsafe { page.add(offset) };
    // SAFETY: cells, aligned as their region is.
    unsafe { &*place.cast() }
}

fn core(
    index: usize,
    partition: &'static Partition,
    all: &'static [&'static Partition],
    by_change: bool,
) -> Core {
    let owner = OWNERS[index];
    let watch = Watch {
        heartbeat: HEARTBEAT,
        period_ticks: PERIOD,
        startup_ticks: STARTUP,
        partition: 1,
        by_change: by_change.into(),
    };
    let starts = matches!(owner, Some((0 | 1, 0)));
    Core {
        frame: Frame::new(),
        index: index as u32,
        rank: owner.map_or(0, |(_, rank)| rank),
        affinity: [owner.map_or(0, |(_, rank)| u64::from(rank)), mpidr(index)],
        typer: TYPERS[index],
        target: target(index),
        gicr: gicr(index),
        alarm: ALARM,
        private: GUEST_PRIVATE,
        hcr: 0,
        partition,
        watches: if index == SPARE { leak([watch]) } else { &[] },
        partitions: all,
        counters: counters(partition, owner.map_or(0, |(_, rank)| rank)),
        mask: 0x10,
        identity: std::array::from_fn::<_, IDENTITY_REGISTERS, _>(|n| AtomicU64::new(n as u64)),
        power: AtomicU64::new(Power::Off as u64),
        entry: AtomicU64::new(0),
        context: AtomicU64::new(0),
        requests: AtomicU64::new(0),
        fault: AtomicU64::new(NO_FAULT),
        start_ticks: AtomicU64::new(if starts { 0 } else { NEVER }),
    }
}

impl World {
    pub(crate) fn new(wishes: Wishes) -> Self {
        let cores = OWNERS.map(|_| room::<Core>());
        let partitions = [(); 3].map(|()| room::<Partition>());
        for (index, &place_of) in partitions.iter().enumerate() {
            let is_of_partition = |&(_, owner): &(&*mut Core, &Option<(usize, u32)>)| {
                owner.is_some_and(|(partition, _)| partition == index)
            };
            let members: Vec<_> = cores
                .iter()
                .zip(&OWNERS)
                .filter(is_of_partition)
                .map(|(&core, _)| at(core))
                .collect();
            let standby = (index == 0).then(|| at(partitions[2]));
            place(place_of, partition(index, wishes, members.leak(), standby));
        }
        let partitions = partitions.map(at);
        let empty = leak(partition(9, wishes, &[], None));
        for (index, &place_of) in cores.iter().enumerate() {
            let owner = OWNERS[index].map_or(empty, |(partition, _)| partitions[partition]);
            let state = core(index, owner, leak(partitions), wishes.by_change);
            place(place_of, state);
        }
        let world = Self {
            fake: Fake::new(),
            cores: cores.map(at),
            partitions,
        };
        world.map_stage2();
        world
    }

    /// With its partitions started.
    pub(crate) fn running(wishes: Wishes) -> Self {
        let world = Self::new(wishes);
        assert_eq!(world.idle(0), End::Resumed);
        assert_eq!(world.idle(2), End::Resumed);
        world.fake.take_effects();
        world
    }

    fn map_stage2(&self) {
        for entry in (0..3).flat_map(roots) {
            self.fake.poke(entry.pa, 8, entry.open);
        }
    }

    pub(crate) fn monitor(&self, core: usize) -> Monitor<Fake> {
        Monitor {
            machine: self.fake,
            core: self.cores[core],
        }
    }

    pub(crate) fn idle(&self, core: usize) -> End {
        self.fake.run(|| self.monitor(core).idle())
    }

    pub(crate) fn enter(&self, core: usize, entry: Entry) -> End {
        self.fake.run(|| self.monitor(core).enter(entry))
    }

    /// While a core spins, that other one waits at EL2 and serves requests.
    pub(crate) fn others_idle(&self, core: usize) {
        let (fake, core): (Fake, &'static Core) = (self.fake, self.cores[core]);
        *fake.0.meanwhile.borrow_mut() = Some(Box::new(move || {
            fake.run(|| {
                Monitor {
                    machine: fake,
                    core,
                }
                .idle()
            });
        }));
    }

    /// A synchronous exception of that syndrome.
    pub(crate) fn exception(&self, core: usize, esr: u64) -> End {
        let frame = &self.cores[core].frame;
        frame.set_esr(esr);
        frame.set_ticks(self.fake.0.now.get());
        self.enter(core, Entry::Synchronous)
    }

    /// The guest's next fetch, after another core has cut its partition.
    pub(crate) fn fetch(&self, core: usize) -> End {
        self.exception(core, 0x20 << 26 | 1 << 25 | 5)
    }

    /// `hvc #0`.
    pub(crate) fn call(&self, core: usize, arguments: &[u64]) -> End {
        for (register, &argument) in arguments.iter().enumerate() {
            self.cores[core].frame.set_x(register, argument);
        }
        self.exception(core, 0x16 << 26 | 1 << 25)
    }

    /// The answer of the last call.
    pub(crate) fn answer(&self, core: usize) -> i64 {
        self.cores[core].frame.x(0).cast_signed()
    }

    pub(crate) fn status(&self, partition: usize) -> Status {
        published(self.partitions[partition].status)
    }

    /// All records of the fault log, oldest first.
    pub(crate) fn faults(&self, partition: usize) -> Vec<FaultRecord> {
        let status = self.status(partition);
        let mut records: Vec<_> = status.records().copied().collect();
        records.sort_by_key(|record| record.ticks);
        records
    }

    pub(crate) fn link(&self, partition: usize) -> LinkPage {
        published(self.partitions[partition].link)
    }

    pub(crate) fn counters(&self, core: usize) -> CoreCounters {
        published(self.cores[core].counters)
    }

    pub(crate) fn is_cut(&self, partition: usize) -> bool {
        let cut = roots(partition).map(|entry| self.fake.read(entry.pa, 8) == 0);
        assert_eq!(cut[0], cut[1], "the root is cut as a whole");
        cut[0]
    }

    /// Targets of the cores that were woken.
    pub(crate) fn kicked(&self) -> Vec<u64> {
        let effects = self.fake.0.effects.borrow();
        let kicked = |effect: &Effect| {
            (0..CORES)
                .find(|&core| *effect == set_private(core, 0x200))
                .map(target)
        };
        effects.iter().filter_map(kicked).collect()
    }
}

/// The bit of the monitor's interrupt is written to a register of a core's redistributor.
pub(crate) const fn set_private(core: usize, register: u64) -> Effect {
    Effect::Write {
        pa: gicr(core) + 0x1_0000 + register,
        bytes: 4,
        value: ALARM as u64,
    }
}
