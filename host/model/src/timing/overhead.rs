//! What deciding costs on a core, as the analysis counts it
//!
//! `bulkhead_analysis::overhead` over what is described. Bottom halves start and end like VCPUs, as often as a job
//! of them needs budgets, and count as more important than all.

use super::{Order, Task, Timing, VcpuKind};
use bulkhead_abi::timing::MAX_CHUNKS;
use bulkhead_analysis::overhead::{Activity, Overhead};
use bulkhead_analysis::{Reservation, Time};

/// Decisions of what starts and ends: one when it comes, one when it is over.
const START_AND_END: u64 = 2;
/// Longer than any window: it comes once.
const ONCE: Time = Time::MAX;

/// The VCPUs of a core with what their decisions take, and what those of all others take.
pub(super) struct Prolonged {
    /// In the order of the ranks.
    pub(super) mains: Vec<Reservation>,
    /// More important than all.
    pub(super) ahead: Vec<Reservation>,
}

impl Timing {
    /// Main VCPUs, by rank, as they are to be counted.
    pub(super) fn prolonged(&self, core: usize, ranked: &[(usize, Reservation)]) -> Prolonged {
        let mut starts: Vec<(u64, Time)> = self
            .of_bottom_halves(core)
            .map(|(task, pieces)| (pieces, task.period_ns))
            .collect();
        let frame = self.schedule.frame_ns;
        let slots = self.schedule.slots.iter();
        let changes = START_AND_END * slots.filter(|slot| slot.core == core).count() as u64;
        if changes > 0 {
            starts.push((changes, frame));
        }
        let mut mains = Vec::new();
        for &(index, main) in ranked {
            let activity = self.activity(index, main, &starts);
            starts.push((activity.starts(), main.period));
            mains.push(self.overhead.prolong(main, activity));
        }
        Prolonged {
            mains,
            ahead: self.ahead(core, changes),
        }
    }

    /// What happens on a Main VCPU in a period, behind what starts so often in such times.
    fn activity(&self, index: usize, main: Reservation, before: &[(u64, Time)]) -> Activity {
        let tasks = self.tasks.iter().filter(|task| task.vcpu == index);
        let jobs: u64 = tasks
            .map(|task| {
                let window = main.period.saturating_add(self.jitter(task));
                window.div_ceil(task.period_ns.max(1))
            })
            .sum();
        // Its equals have their turn.
        let quantum = self.schedule.quantum_ns;
        let turns = quantum.map_or(0, |quantum| main.capacity / quantum.max(1) + 1);
        let preempted = before
            .iter()
            .map(|&(starts, period)| Activity::within(starts, period.max(1), main.period))
            .fold(turns, u64::saturating_add);
        let by_deadline = self.schedule.order == Order::EarliestDeadline
            || matches!(self.vcpus[index].kind, VcpuKind::Reservation { .. });
        // Among deadlines each may preempt each.
        let preempted = if by_deadline { u64::MAX } else { preempted };
        Activity::new(jobs + turns, preempted, MAX_CHUNKS as u64)
    }

    /// Tasks on I/O VCPUs of a core, and of how many pieces their jobs are.
    fn of_bottom_halves(&self, core: usize) -> impl Iterator<Item = (&Task, u64)> {
        let tasks = self.tasks.iter();
        tasks.filter_map(move |task| {
            let vcpu = &self.vcpus[task.vcpu];
            let VcpuKind::Io { percent } = vcpu.kind else {
                return None;
            };
            let period = self.vcpus[task.cause].budget()?.period;
            let budget = (period / 100).saturating_mul(percent.into()).max(1);
            let pieces = task.wcet_ns.div_ceil(budget).saturating_add(1);
            (vcpu.core == core).then_some((task, pieces))
        })
    }

    fn ahead(&self, core: usize, changes: u64) -> Vec<Reservation> {
        let Overhead {
            decision,
            interrupt,
        } = self.overhead;
        let tasks = self.tasks.iter();
        let here = tasks
            .clone()
            .filter(|task| self.vcpus[task.vcpu].core == core);
        let released = here.map(|task| Overhead::ahead(decision, 1, task.period_ns));
        let halves = self.of_bottom_halves(core);
        let halves = halves.map(|(task, pieces)| {
            let decisions = START_AND_END.saturating_mul(pieces);
            Overhead::ahead(decision, decisions, task.period_ns)
        });
        // A task wakes the one that it releases as a doorbell would.
        let here = tasks.filter(|task| self.vcpus[task.vcpu].core == core);
        let woken = here.filter(|task| task.after.is_some());
        let woken = woken.map(|task| (1, task.period_ns));
        let doorbells = self.doorbells.iter().copied().chain(woken);
        let doorbells = doorbells.flat_map(|(limit, per_ns)| {
            // As many again may fall into a span that begins before the end of a window.
            let each = |per_ns| Overhead::ahead(interrupt, limit, per_ns);
            [each(per_ns), each(ONCE)]
        });
        let slots = Overhead::ahead(decision, changes, self.schedule.frame_ns);
        let all = released.chain(halves).chain(doorbells).chain([slots]);
        all.flatten().collect()
    }
}
