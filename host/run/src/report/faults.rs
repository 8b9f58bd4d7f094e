//! Faults of partitions and of their components
//!
//! Faults that are alike are one entry with a count: same partition, cause, action, core and place. A partition may fault at as
//! many places as it likes; of each cause only so many entries are kept, and further faults are counted in the last one.

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::IDENTITY;
use bulkhead_abi::component_log::{ComponentFault, ENDED};
use bulkhead_abi::failure;
use bulkhead_abi::kernel::STACK_TOP;
use bulkhead_abi::status::{ACTION_NAMES, CAUSE_NAMES, Cause, FaultRecord};
use bulkhead_formats::syndrome::{Deed, deed};
use bulkhead_plan::manifest::{ComponentManifest, Manifest, PartitionManifest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use super::place::{Place, Program};
use crate::figures::counted;
use crate::watch::{Clock, RecordedFault};

/// Entries kept of each cause of a partition.
const MOST_ENTRIES: usize = 16;
/// Times of faults of one kind that a report lists.
const MOST_TIMES: usize = 1024;
/// Cause of the faults of components.
pub const COMPONENT: &str = "component";

/// Faults that are alike.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultReport {
    /// The partition.
    pub partition: String,
    /// How many they are.
    pub count: u64,
    /// When the first came, seconds of the machine's clock.
    pub at_s: f64,
    /// When the last came.
    pub last_s: f64,
    /// Times of the first 1,024 of them, seconds.
    #[serde(default)]
    pub times_s: Vec<f64>,
    /// Why.
    pub cause: String,
    /// Action of the monitor.
    pub action: String,
    /// Core.
    pub core: u32,
    /// Restarts before.
    pub restarts: u32,
    /// The component, if it is one's.
    #[serde(default)]
    pub component: Option<String>,
    /// The component's thread, if the component has threads of its own.
    #[serde(default)]
    pub thread: Option<u64>,
    /// The component ended for good.
    #[serde(default)]
    pub ended: bool,
    /// Deed of the program, in words.
    #[serde(default)]
    pub deed: Option<String>,
    /// Of a hang: the component without a heartbeat, in words.
    #[serde(default)]
    pub silent: Option<String>,
    /// Place of the deed in the source.
    #[serde(default)]
    pub place: Option<Place>,
    /// The faults came at several places, of which the first stands here.
    #[serde(default)]
    pub scattered: bool,
    /// `ESR_EL2` or `ESR_EL1`, or the guest's own code.
    pub esr: u64,
    /// Virtual address.
    pub far: u64,
    /// Guest-physical address.
    pub ipa: u64,
    /// Program counter.
    pub elr: u64,
    /// Processor state.
    pub spsr: u64,
    /// x0 … x30.
    pub x: Vec<u64>,
}

/// Faults as they come.
#[derive(Clone, Debug, Default)]
pub struct FaultLog {
    entries: Vec<Entry>,
    /// Faults that were not seen one by one, by partition and cause (`None`: of components).
    unseen: BTreeMap<(usize, Option<usize>), u64>,
    /// Counter value of the newest fault after which a partition started anew.
    starts: BTreeMap<usize, u64>,
    total: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    partition: usize,
    first: RecordedFault,
    last_ticks: u64,
    ticks: Vec<u64>,
    count: u64,
    scattered: bool,
}

impl FaultLog {
    /// Adds a fault; returns `true` if it is the first of its kind.
    pub fn add(&mut self, partition: usize, fault: &RecordedFault) -> bool {
        self.total += 1;
        if fault.restarts() {
            self.starts.insert(partition, fault.ticks());
        }
        let is_same =
            |entry: &&mut Entry| entry.partition == partition && kind(&entry.first) == kind(fault);
        let mut same: Vec<_> = self.entries.iter_mut().filter(is_same).collect();
        let entries = same.len();
        let alike = same
            .iter()
            .position(|entry| place(&entry.first) == place(fault));
        let at = alike.or_else(|| entries.checked_sub(1).filter(|_| entries >= MOST_ENTRIES));
        let Some(entry) = at.map(|at| same.swap_remove(at)) else {
            self.entries.push(Entry {
                partition,
                first: *fault,
                last_ticks: fault.ticks(),
                ticks: vec![fault.ticks()],
                count: 1,
                scattered: false,
            });
            return true;
        };
        entry.count += 1;
        entry.last_ticks = fault.ticks();
        if entry.ticks.len() < MOST_TIMES {
            entry.ticks.push(fault.ticks());
        }
        entry.scattered |= alike.is_none();
        false
    }

    /// Adds faults that were overwritten before they were read.
    pub fn add_unseen(&mut self, partition: usize, cause: Option<usize>, count: u64) {
        self.total += count;
        *self.unseen.entry((partition, cause)).or_default() += count;
    }

    /// Faults so far.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Counter value of the newest fault after which `partition` started anew.
    #[must_use]
    pub fn newest_start(&self, partition: usize) -> Option<u64> {
        self.starts.get(&partition).copied()
    }

    /// All faults in words, by the time of the first of each kind.
    #[must_use]
    pub fn reports(&self, manifest: &Manifest, clock: &Clock) -> Vec<FaultReport> {
        let seen = self.entries.iter().map(|entry| {
            let partition = &manifest.partitions[entry.partition];
            FaultReport {
                count: entry.count,
                last_s: seconds(clock, entry.last_ticks),
                times_s: entry.ticks.iter().map(|at| seconds(clock, *at)).collect(),
                scattered: entry.scattered,
                ..report(partition, &entry.first, clock)
            }
        });
        let unseen = self.unseen.iter().map(|((partition, cause), count)| {
            let cause = cause.map_or(COMPONENT, |cause| CAUSE_NAMES[cause]);
            FaultReport {
                partition: manifest.partitions[*partition].name.clone(),
                count: *count,
                cause: cause.into(),
                ..FaultReport::default()
            }
        });
        let mut reports: Vec<_> = seen.chain(unseen).collect();
        reports.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        reports
    }
}

/// Common part of faults of one kind, without their place: cause, action and core, or component and thread.
const fn kind(fault: &RecordedFault) -> (u32, u64, u64) {
    match fault {
        RecordedFault::Partition(record) => {
            (record.cause, record.action as u64, record.core as u64)
        }
        RecordedFault::Component(fault) => (u32::MAX, fault.component_thread, 0),
    }
}

/// Place of a fault. Where a partition was stopped by others is chance.
fn place(fault: &RecordedFault) -> [u64; 2] {
    const BY_OTHERS: [u32; 4] = [
        Cause::Hang as u32,
        Cause::Reset as u32,
        Cause::Off as u32,
        Cause::Control as u32,
    ];
    match fault {
        RecordedFault::Partition(record) if BY_OTHERS.contains(&record.cause) => [0; 2],
        RecordedFault::Partition(record) => [record.elr, 0],
        RecordedFault::Component(fault) => [fault.pc, u64::from(fault.syndrome == ENDED)],
    }
}

fn seconds(clock: &Clock, ticks: u64) -> f64 {
    clock.ns(ticks) as f64 / 1e9
}

fn name(table: &[&str], index: u32) -> String {
    table
        .get(index as usize)
        .map_or_else(|| format!("({index})"), ToString::to_string)
}

/// One fault in words.
pub(crate) fn report(
    partition: &PartitionManifest,
    fault: &RecordedFault,
    clock: &Clock,
) -> FaultReport {
    let at_s = seconds(clock, fault.ticks());
    let common = FaultReport {
        partition: partition.name.clone(),
        count: 1,
        at_s,
        last_s: at_s,
        ..FaultReport::default()
    };
    match fault {
        RecordedFault::Partition(record) => of_partition(common, partition, record),
        RecordedFault::Component(fault) => of_component(common, partition, fault),
    }
}

fn of_partition(
    common: FaultReport,
    partition: &PartitionManifest,
    record: &FaultRecord,
) -> FaultReport {
    let mut report = FaultReport {
        cause: name(&CAUSE_NAMES, record.cause),
        action: name(&ACTION_NAMES, record.action),
        core: record.core,
        restarts: record.restarts,
        esr: record.esr,
        far: record.far,
        ipa: record.ipa,
        elr: record.elr,
        spsr: record.spsr,
        x: record.x.to_vec(),
        ..common
    };
    if matches!(report.cause.as_str(), "violation" | "undefined") {
        report.deed = Some(deed(record.esr, record.far, &(0..0)).to_string());
        let program = partition.program.as_deref().and_then(Program::read);
        report.place = program.and_then(|program| program.place(record.elr));
    }
    if record.cause == Cause::Hang as u32 {
        let mut components = partition.components.iter();
        let owner = components.find(|one| one.has_heartbeat);
        report.silent = owner.map(|one| match partition.cores.len() {
            1 => format!("`{}`", one.name),
            _ => format!("`{}`, which beats while all cores do", one.name),
        });
    }
    report
}

fn of_component(
    common: FaultReport,
    partition: &PartitionManifest,
    fault: &ComponentFault,
) -> FaultReport {
    const IDENTITIES: u64 = 0xFFFF_FFFF;
    let identity = fault.component_thread & IDENTITIES;
    let number = identity
        .checked_sub(IDENTITY)
        .and_then(|number| usize::try_from(number).ok());
    let component = number.and_then(|number| partition.components.get(number));
    let name = component.map_or_else(
        || format!("component {identity}"),
        |component| component.name.clone(),
    );
    let mut report = FaultReport {
        cause: COMPONENT.into(),
        action: "record".into(),
        component: Some(name),
        esr: fault.syndrome,
        far: fault.address,
        elr: fault.pc,
        ended: fault.syndrome == ENDED,
        ..common
    };
    if report.ended {
        return report;
    }
    let has_threads = component.is_none_or(|component| component.has_threads);
    report.thread = has_threads.then_some(fault.component_thread >> 32);
    let program = component.and_then(|component| component.program.as_deref());
    let program = program.and_then(Program::read);
    let guard = component.map_or(0..0, |component| guard(component, program.as_ref()));
    let done = deed(fault.syndrome, fault.address, &guard);
    report.deed = Some(done.to_string());
    // After a jump to nowhere the program counter says nothing about the program.
    let is_place = !matches!(done, Deed::Jump(_));
    report.place = program
        .filter(|_| is_place)
        .and_then(|program| program.place(fault.pc));
    report
}

/// Addresses below stacks that are not mapped.
fn guard(component: &ComponentManifest, program: Option<&Program>) -> Range<u64> {
    if component.has_threads {
        let end = program.and_then(Program::end).unwrap_or(STACK_TOP);
        return end..STACK_TOP;
    }
    let stack = STACK_TOP.saturating_sub(component.stack);
    stack.saturating_sub(PAGE_SIZE)..stack
}

impl FaultReport {
    /// The faults were overwritten before they were read.
    #[must_use]
    pub const fn is_unseen(&self) -> bool {
        self.action.is_empty()
    }

    /// Reason that an image gave for a failure, if its code has one.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        let failed = self.component.is_none() && self.cause == "panic";
        failure::reason(self.esr).filter(|_| failed)
    }

    /// Name of the partition or component, as `run.waive` names it.
    #[must_use]
    pub fn subject(&self) -> String {
        match &self.component {
            Some(component) => format!("{}/{component}", self.partition),
            None => self.partition.clone(),
        }
    }

    /// Describes the fault, without the subject's name.
    #[must_use]
    pub fn what(&self) -> String {
        if self.is_unseen() {
            return format!(
                "the records of {} of kind `{}` were overwritten",
                counted(self.count, "fault"),
                self.cause
            );
        }
        let mut text = match (&self.component, &self.deed) {
            _ if self.ended => "ended for good: its restarts are used up".to_owned(),
            (Some(_), Some(deed)) => deed.clone(),
            (None, Some(deed)) => format!("{}: {deed}", self.cause),
            _ => self.cause.clone(),
        };
        // Writing to a string cannot fail.
        if self.cause == "violation" && self.ipa != self.far {
            let _ = write!(text, " (guest-physical {:#x})", self.ipa);
        }
        if let Some(owner) = &self.silent {
            let _ = write!(text, ": no heartbeat from component {owner}");
        }
        if self.cause == "panic" {
            let _ = write!(text, " with code {:#x}", self.esr);
            if let Some(reason) = self.reason() {
                let _ = write!(text, ": {reason}");
            }
        }
        if let Some(place) = &self.place {
            let _ = write!(text, " in {place}");
        }
        if self.deed.is_some() {
            let _ = write!(text, ", pc {:#x}", self.elr);
        }
        if self.component.is_none() {
            let _ = write!(text, " -> {}", self.action);
        }
        if self.count > 1 {
            let others = if self.scattered {
                ", and other places"
            } else {
                ""
            };
            let _ = write!(
                text,
                "; {} times until {:.6} s{others}",
                self.count, self.last_s
            );
        }
        text
    }

    /// Describes the fault in one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let thread = self
            .thread
            .map_or_else(String::new, |thread| format!(" thread {thread}"));
        let core = match &self.component {
            None if !self.is_unseen() => format!(" on core {}", self.core),
            _ => String::new(),
        };
        format!(
            "[{:.6}] {}{thread}{core}: {}",
            self.at_s,
            self.subject(),
            self.what()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_abi::status::Action;
    use zerocopy::FromZeros;

    fn record(cause: Cause, action: Action, elr: u64) -> RecordedFault {
        RecordedFault::Partition(FaultRecord {
            ticks: 1_000_000,
            cause: cause as u32,
            action: action as u32,
            core: 1,
            elr,
            ..FaultRecord::new_zeroed()
        })
    }

    #[test]
    fn a_fault_reads_as_a_sentence() {
        let fault = FaultReport {
            partition: "control".into(),
            count: 1,
            at_s: 5.25,
            cause: "violation".into(),
            action: "restart".into(),
            deed: Some("write to 0x80000000".into()),
            core: 1,
            ipa: 0x8000_0000,
            far: 0x8000_0000,
            elr: 0x4000_1234,
            ..FaultReport::default()
        };
        assert_eq!(
            fault.sentence(),
            "[5.250000] control on core 1: violation: write to 0x80000000, pc 0x40001234 -> restart"
        );
        let many = FaultReport {
            count: 33_740,
            last_s: 6.5,
            ..fault
        };
        assert!(
            many.sentence()
                .ends_with("-> restart; 33740 times until 6.500000 s")
        );
    }

    #[test]
    fn a_fault_of_a_component_names_thread_and_place() {
        let fault = FaultReport {
            partition: "blink".into(),
            component: Some("app".into()),
            thread: Some(2),
            count: 1,
            cause: "component".into(),
            action: "record".into(),
            deed: Some("write to 0x10".into()),
            place: Some(Place {
                function: "produce".into(),
                file: Some("app/main.c".into()),
                line: Some(12),
                inlined_in: None,
            }),
            elr: 0x40_1234,
            ..FaultReport::default()
        };
        assert_eq!(
            fault.sentence(),
            "[0.000000] blink/app thread 2: write to 0x10 in `produce` (app/main.c:12), pc 0x401234"
        );
    }

    #[test]
    fn faults_that_are_alike_are_one_entry_and_entries_are_bounded() {
        let mut log = FaultLog::default();
        let hang = record(Cause::Hang, Action::Restart, 7);
        assert!(log.add(0, &hang));
        for elr in 0..1000 {
            let same = record(Cause::Violation, Action::Inject, 0x1000);
            assert_eq!(log.add(0, &same), elr == 0);
            log.add(0, &record(Cause::Violation, Action::Inject, 4 * elr));
        }
        assert_eq!(log.entries.len(), 1 + MOST_ENTRIES);
        let counts = log.entries.iter().map(|entry| entry.count);
        assert_eq!((counts.sum::<u64>(), log.total()), (2001, 2001));
        assert!(log.entries.last().is_some_and(|entry| entry.scattered));
        assert!(
            !log.add(0, &record(Cause::Hang, Action::Restart, 9)),
            "elsewhere by chance"
        );
        assert!(log.add(1, &hang), "of another partition");
        assert_eq!(log.newest_start(1), Some(1_000_000));
    }
}
