//! Status of a partition, written by its monitors
//!
//! Two regions per partition, written by its own monitors only. The *link page* (state and epoch)
//! is readable by the partition, by its channel peers and by privileged partitions; the *status
//! region* (counters and fault log) by the partition itself and by privileged ones. The host tool
//! reads both in the emulator's memory. Reading disturbs no partition.

use crate::{NAME_LEN, PAGE_SIZE};
use core::mem::offset_of;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `LINKPAGE` in ASCII.
pub const LINK_MAGIC: u64 = u64::from_le_bytes(*b"LINKPAGE");
/// `STATUSPG` in ASCII.
pub const STATUS_MAGIC: u64 = u64::from_le_bytes(*b"STATUSPG");

/// Bytes of a status region.
pub const STATUS_SIZE: u64 = 10 * PAGE_SIZE;
/// Cores a status region has room for.
pub const MAX_CORES: usize = 16;
/// Outgoing doorbells a status region has room for.
pub const MAX_DOORBELLS: usize = 32;
/// Records that the fault log keeps of each cause; older ones of that cause are overwritten. No number of faults of one
/// cause displaces the records of another.
pub const LOG_RECORDS: usize = 8;

/// State of a partition, [`LinkPage::state`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not started (a standby), or stopped for good.
    Down = 0,
    /// Its image runs but has not announced itself.
    Starting = 1,
    /// The image announced itself ([`crate::hypercall::UP`]).
    Up = 2,
}

/// Link page of a partition. `epoch` grows by one with each (re)start, before the new image runs.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct LinkPage {
    /// [`LINK_MAGIC`].
    pub magic: u64,
    /// A [`State`].
    pub state: u32,
    /// Number of starts.
    pub epoch: u32,
    /// Counter value (CNTPCT) of the last change.
    pub since_ticks: u64,
    /// Name of the partition.
    pub name: [u8; NAME_LEN],
}

/// State and epoch of a link page at one instant: both are one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Down, starting or up.
    pub state: State,
    /// Number of starts; a peer that restarted has a new one.
    pub epoch: u32,
}

impl LinkState {
    /// Of a partition that was never started.
    pub const NEVER: Self = Self {
        state: State::Down,
        epoch: 0,
    };

    /// From the word at [`LinkPage::state`]; a state that does not exist is down.
    #[must_use]
    pub const fn of_word(word: u64) -> Self {
        const STARTING: u32 = State::Starting as u32;
        const UP: u32 = State::Up as u32;
        Self {
            state: match word as u32 {
                STARTING => State::Starting,
                UP => State::Up,
                _ => State::Down,
            },
            epoch: (word >> 32) as u32,
        }
    }

    /// State of a partition with a standby: that of the running one, and the starts of both.
    ///
    /// Only one of them runs, and the first is down before the other starts: read the standby first,
    /// and no failover in between makes the peer look up that is not.
    #[must_use]
    pub const fn or_standby(self, standby: Self) -> Self {
        Self {
            state: match standby.state {
                State::Down => self.state,
                running => running,
            },
            epoch: self.epoch.wrapping_add(standby.epoch),
        }
    }
}

const _: () = assert!(offset_of!(LinkPage, epoch) == offset_of!(LinkPage, state) + 4);
const _: () = assert!(offset_of!(LinkPage, state).is_multiple_of(8));

/// Why a core entered EL2, index into [`CoreCounters::traps`].
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// HVC or SMC: PSCI and Bulkhead's own calls.
    Call = 0,
    /// GIC distributor access.
    Distributor = 1,
    /// GIC redistributor access.
    Redistributor = 2,
    /// Inter-processor interrupt within the partition.
    Ipi = 3,
    /// Identification register read.
    IdRegister = 4,
    /// Broadcast TLB maintenance (`tlbi = "trap"`).
    Tlbi = 5,
    /// Cache maintenance by set and way.
    SetWay = 6,
    /// WFI or WFE (`wfi = "trap"`).
    Wfi = 7,
    /// Emulated UART access (`console = "emulated"`).
    Uart = 8,
    /// Register of the GIC's CPU interface that is not an interrupt's (`ipi = "trap"`): priority mask,
    /// running priority, control, deactivation, group 0.
    Interface = 9,
    /// Stage-2 violation, data.
    DataViolation = 10,
    /// Stage-2 violation, instruction.
    FetchViolation = 11,
    /// Anything undefined to a guest: system register, instruction class, call.
    Undefined = 12,
    /// System error.
    SError = 13,
}

/// Length of a trap table.
pub const TRAPS: usize = 14;

/// Names of [`Trap`], in order.
pub const TRAP_NAMES: [&str; TRAPS] = [
    "call",
    "distributor",
    "redistributor",
    "ipi",
    "id-register",
    "tlbi",
    "set-way",
    "wfi",
    "uart",
    "interface",
    "data-violation",
    "fetch-violation",
    "undefined",
    "serror",
];

/// Counters of one core; written by that core only.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct CoreCounters {
    /// Entries to EL2 by cause since power-on.
    pub traps: [u64; TRAPS],
    /// Entries by cause when the partition last announced itself; the difference is the steady state.
    pub traps_at_up: [u64; TRAPS],
}

/// Counters of one outgoing doorbell.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct DoorbellCounters {
    /// Delivered to the receiver's interrupt controller.
    pub sent: u64,
    /// Dropped by the rate limit.
    pub dropped: u64,
}

/// Why a fault was recorded, [`FaultRecord::cause`]; also the index of a partition's policy table.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Stage-2 violation, data or instruction, that the guest is not given to handle.
    Violation = 0,
    /// Undefined call, register or instruction class.
    Undefined = 1,
    /// Missed heartbeat.
    Hang = 2,
    /// The guest said so ([`crate::hypercall::FAIL`]).
    Panic = 3,
    /// The guest asked for a reset (PSCI `SYSTEM_RESET`).
    Reset = 4,
    /// The guest went off (PSCI `SYSTEM_OFF`).
    Off = 5,
    /// A privileged partition asked for it.
    Control = 6,
    /// System error.
    SError = 7,
}

/// Length of a policy table.
pub const CAUSES: usize = 8;

/// Names of [`Cause`], in order.
pub const CAUSE_NAMES: [&str; CAUSES] = [
    "violation",
    "undefined",
    "hang",
    "panic",
    "reset",
    "off",
    "control",
    "serror",
];

/// Action after a fault, [`FaultRecord::action`] and the policy table's entries.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The fault is injected into the guest as the architecture would report it.
    Inject = 0,
    /// Restart from the pristine image.
    Restart = 1,
    /// Start the alternate image.
    Alternate = 2,
    /// Stop, and start the standby partition.
    Failover = 3,
    /// Stop.
    Halt = 4,
}

/// Names of [`Action`], in order.
pub const ACTION_NAMES: [&str; 5] = ["inject", "restart", "alternate", "failover", "halt"];

/// One fault: core, place, registers, action.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct FaultRecord {
    /// Number of the record among those of its cause, from 1; 0 in an unused place. Written last.
    pub sequence: u64,
    /// Counter value (CNTPCT) at entry.
    pub ticks: u64,
    /// A [`Cause`].
    pub cause: u32,
    /// An [`Action`], after limits and escalation.
    pub action: u32,
    /// Core, index in the machine.
    pub core: u32,
    /// Restarts of the partition so far.
    pub restarts: u32,
    /// ESR_EL2, or the guest's code for [`Cause::Panic`].
    pub esr: u64,
    /// FAR_EL2: the guest-virtual address.
    pub far: u64,
    /// Guest-physical address of a violation (from HPFAR_EL2 and FAR_EL2).
    pub ipa: u64,
    /// ELR_EL2.
    pub elr: u64,
    /// SPSR_EL2.
    pub spsr: u64,
    /// x0…x30.
    pub x: [u64; 31],
}

/// Faults of one cause: a page each.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct CauseLog {
    /// Faults so far; the newest has this sequence number.
    pub faults: u64,
    /// Record `n` is at `(n - 1) % LOG_RECORDS`.
    pub records: [FaultRecord; LOG_RECORDS],
    /// Fills the page.
    pub reserved: [u64; 191],
}

const _: () = assert!(size_of::<CauseLog>() == PAGE_SIZE as usize);

/// Status region of a partition.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Status {
    /// [`STATUS_MAGIC`].
    pub magic: u64,
    /// Index of the partition.
    pub partition: u32,
    /// Cores of the partition.
    pub core_count: u32,
    /// Name of the partition.
    pub name: [u8; NAME_LEN],
    /// Restarts so far.
    pub restarts: u64,
    /// Ticks from fault to the first instruction of the new image, last restart.
    pub last_restart_ticks: u64,
    /// Ticks of the slowest restart so far.
    pub worst_restart_ticks: u64,
    /// Counters by core, in the order of the partition's cores.
    pub cores: [CoreCounters; MAX_CORES],
    /// Outgoing doorbells, in the order of the partition's table.
    pub doorbells: [DoorbellCounters; MAX_DOORBELLS],
    /// Fills the page.
    pub reserved: [u64; 505],
    /// Fault log, by cause.
    pub log: [CauseLog; CAUSES],
}

impl Status {
    /// Faults of all causes.
    #[must_use]
    pub fn faults(&self) -> u64 {
        let counts = self.log.iter().map(|log| log.faults);
        counts.fold(0, u64::saturating_add)
    }

    /// Records of all causes, by cause.
    pub fn records(&self) -> impl Iterator<Item = &FaultRecord> {
        let records = self.log.iter().flat_map(|log| &log.records);
        records.filter(|record| record.sequence != 0)
    }
}

const _: () = assert!(offset_of!(Status, log) == 2 * PAGE_SIZE as usize);

const _: () = assert!(size_of::<Status>() <= STATUS_SIZE as usize);
const _: () = assert!(size_of::<LinkPage>() <= PAGE_SIZE as usize);

#[cfg(test)]
mod tests {
    use super::{LinkState, State};

    fn link(state: State, epoch: u32) -> LinkState {
        LinkState { state, epoch }
    }

    #[test]
    fn a_link_word_holds_state_and_epoch() {
        assert_eq!(LinkState::of_word(7 << 32 | 2), link(State::Up, 7));
        assert_eq!(LinkState::of_word(1 << 32 | 1), link(State::Starting, 1));
        assert_eq!(LinkState::of_word(1 << 32 | 9), link(State::Down, 1));
    }

    #[test]
    fn a_peer_with_a_standby_is_the_one_that_runs() {
        let (down, up) = (link(State::Down, 3), link(State::Up, 3));
        assert_eq!(up.or_standby(LinkState::NEVER), up);
        assert_eq!(down.or_standby(LinkState::NEVER), down);
        let starting = link(State::Starting, 1);
        assert_eq!(down.or_standby(starting), link(State::Starting, 4));
        assert_eq!(down.or_standby(up), link(State::Up, 6));
        assert_eq!(down.or_standby(down), link(State::Down, 6));
    }
}
