//! Constants and state of the monitors
//!
//! The boot part builds them once, in the pages that the configuration names, and they never move. Constants are plain;
//! variables are atomic words. [`Core`] words are written by their own core, but for the ones marked as mail;
//! [`Partition`] words by the core of rank 0, its *leader*.

use crate::frame::Frame;
use crate::status_pages::{CoreCells, LinkCells, StatusCells};
use bulkhead_abi::config::{Attachment, Doorbell, Gate, PartitionConfig, Segment, Watch};
use bulkhead_abi::status::{Action, CAUSES, Cause, MAX_CORES, MAX_DOORBELLS, Trap};
use bulkhead_limiter::Limiter;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

/// Identification registers that are trapped: CRm 1 to 7, Op2 0 to 7.
pub const IDENTITY_REGISTERS: usize = 56;

/// Partitions a machine has at most: each has a core of its own.
pub const MAX_PARTITIONS: usize = MAX_CORES;

/// Power state of a core, [`Core::power`], with the values of PSCI `AFFINITY_INFO`.
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// The guest runs.
    On = 0,
    /// The core waits at EL2.
    Off = 1,
    /// The core is about to enter the guest at [`Core::entry`].
    Pending = 2,
    /// Another core of the partition is about to say where: shown as `Pending`.
    Claimed = 3,
}

/// Requests of one monitor to another, bits of [`Core::requests`].
pub(crate) mod request {
    /// Leave the guest and go off (leader to its partition's other cores).
    pub(crate) const PARK: u64 = 1 << 0;
    /// A core of the partition has a fault that is not its own to decide (to the leader).
    pub(crate) const JUDGE: u64 = 1 << 1;
    /// The heartbeat has stopped (to the leader).
    pub(crate) const HANG: u64 = 1 << 2;
    /// Restart (to the leader), also to take over as standby.
    pub(crate) const RESTART: u64 = 1 << 3;
    /// Stop for good (to the leader).
    pub(crate) const HALT: u64 = 1 << 4;
    /// Start the image of the guest's own at [`super::Core::entry`] (to the leader).
    pub(crate) const EXEC: u64 = 1 << 5;
}

/// No fault waits for judgement, [`Core::fault`].
pub const NO_FAULT: u64 = u64::MAX;
/// No start is planned, [`Core::start_ticks`].
pub const NEVER: u64 = u64::MAX;

/// One core. The frame comes first: EL2's stack pointer is the address of this.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Core {
    /// Guest registers at the last entry.
    pub frame: Frame,
    /// Index in the machine.
    pub index: u32,
    /// Index among the partition's cores.
    pub rank: u32,
    /// Affinity fields of `MPIDR_EL1`: the guest's, which are its rank unless the guest sends inter-processor
    /// interrupts by itself, and the hardware's, as routing of interrupts wants them.
    pub affinity: [u64; 2],
    /// `GICR_TYPER` as the guest sees it: affinity, number, whether it is the last one, no LPIs.
    pub typer: u64,
    /// The hardware's affinity as a target of `ICC_SGI1R_EL1`.
    pub target: u64,
    /// Redistributor, physical address.
    pub gicr: u64,
    /// The monitor's own interrupt, the one of the EL2 physical timer: its bit in a register of private interrupts.
    pub alarm: u32,
    /// Private interrupts of the guest: all but those of EL2's timers and of the interrupt controller's maintenance.
    pub private: u32,
    /// `HCR_EL2` while the guest runs.
    pub hcr: u64,
    /// The partition; on a spare core an empty one.
    pub partition: &'static Partition,
    /// Heartbeats it looks after.
    pub watches: &'static [Watch],
    /// All partitions of the machine.
    pub partitions: &'static [&'static Partition],
    /// Its counters in the partition's status region.
    pub counters: &'static CoreCells,
    /// ICC_PMR_EL1 that lets the monitor's interrupt through and none of a guest: boot finds out whether firmware
    /// shifts priorities (IHI 0069, 4.8.2).
    pub mask: u64,
    /// Identification registers as the guest sees them.
    pub identity: [AtomicU64; IDENTITY_REGISTERS],
    /// A [`Power`]. Mail: another core of the partition may turn `Off` into `Pending`.
    pub power: AtomicU64,
    /// Entry point of the guest, used if `Pending` or on [`request::EXEC`]. Mail.
    pub entry: AtomicU64,
    /// Its x0. Mail.
    pub context: AtomicU64,
    /// Bits of [`request`]. Mail.
    pub requests: AtomicU64,
    /// The cause ([`bulkhead_abi::status::Cause`]) that waits for judgement, or [`NO_FAULT`].
    pub fault: AtomicU64,
    /// On a leader: when the partition is started, or [`NEVER`].
    pub start_ticks: AtomicU64,
}

/// An image of a partition, as it is started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Image {
    /// Loaded at each start.
    pub segments: &'static [Segment],
    /// Entry point, guest-physical.
    pub entry: u64,
    /// x0 there.
    pub argument: u64,
}

/// One partition.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Partition {
    /// Its configuration.
    pub config: &'static PartitionConfig,
    /// Its cores by rank.
    pub cores: &'static [&'static Core],
    /// Its link page.
    pub link: &'static LinkCells,
    /// Its status region.
    pub status: &'static StatusCells,
    /// Segments of the image and of the alternate image.
    pub images: [Image; 2],
    /// Gates that are closed to stop the partition and opened to start it; the first is an entry of
    /// the stage-2 root.
    pub gates: &'static [Gate],
    /// Doorbells it may ring.
    pub doorbells: &'static [Doorbell],
    /// Channels it may attach.
    pub attachments: &'static [Attachment],
    /// The partition that takes over.
    pub standby: Option<&'static Partition>,
    /// GIC distributor, physical address.
    pub gicd: u64,
    /// Limits of the doorbells; `None` = never.
    pub limits: [Option<Limiter>; MAX_DOORBELLS],
    /// Limit of restarts; `None` = never.
    pub restart_limit: Option<Limiter>,
    /// Enable bits of the distributor as the guest set them.
    pub distributor_enables: AtomicU64,
    /// Not 0 while no image runs or is about to.
    pub stopped: AtomicU64,
    /// Cores that are about to stop this partition. Mail.
    pub stoppers: AtomicU64,
    /// Index into [`Partition::images`] of what is started next.
    pub image: AtomicU64,
    /// Counter value of the fault that led to the start under way; 0 for the first start.
    pub fault_ticks: AtomicU64,
    /// Of a guest that is watched by changes: the bits seen last, and since when. The watching core's.
    pub progress: [AtomicU64; 2],
    /// Action for each cause of fault.
    pub actions: [Action; CAUSES],
    /// Action when no restart is left.
    pub escalation: Action,
}

/// Views of affinities, index into [`Core::affinity`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum View {
    Guest = 0,
    Hardware = 1,
}

impl Core {
    pub(crate) fn affinity(&self, view: View) -> u64 {
        let [guest, hardware] = self.affinity;
        match view {
            View::Guest => guest,
            View::Hardware => hardware,
        }
    }

    pub(crate) fn set_power(&self, power: Power) {
        self.power.store(power as u64, Relaxed);
    }

    pub(crate) fn count(&self, trap: Trap) {
        self.counters.count(trap);
    }

    pub(crate) fn ask(&self, request: u64) {
        self.requests.fetch_or(request, Release);
    }
}

impl Partition {
    /// Logs a fault of one of the partition's cores.
    #[inline(never)]
    pub(crate) fn record(&self, victim: &Core, cause: u64, action: u64) {
        let status = self.status;
        victim
            .frame
            .judge(cause, action, victim.index, status.restarts());
        status.record(cause, &victim.frame);
    }

    /// Logs that a core has not come: nothing is known of where it is.
    #[inline(never)]
    pub(crate) fn record_lost(&self, core: &Core, now: u64) {
        core.frame.clear();
        core.frame.set_ticks(now);
        self.record(core, Cause::Hang as u64, Action::Halt as u64);
    }

    pub(crate) fn leader(&self) -> Option<&'static Core> {
        self.cores.first().copied()
    }

    /// The partition's core of that affinity in one of the two views (layout of `MPIDR_EL1`, flag bits
    /// ignored).
    #[inline(never)]
    pub(crate) fn core_at(&self, view: View, mpidr: u64) -> Option<&'static Core> {
        self.cores
            .iter()
            .copied()
            .find(|core| (core.affinity(view) ^ mpidr) & AFFINITY == 0)
    }
}

const AFFINITY: u64 = 0xFF_00FF_FFFF;
