//! Barriers, and the question whether all tasks of a team have ended.
//!
//! Workers count tasks made and tasks ended, each on its own line. With all implicit tasks at a
//! barrier only a task can make tasks, and: read all the ended counts, then all the made
//! counts; both only grow, a task is counted as made before it can end; so if the sums are equal,
//! then between the two readings made = ended held, and holds for ever after. A detached task whose
//! body has ended before its event is fulfilled moves from one count to another before it is
//! counted as ended.

use crate::team::Team;
use crate::tsan;
use crate::worker::Worker;
use core::sync::atomic::{Ordering, fence};

/// True if every task of the team has ended; the caller knows that no implicit task makes more.
#[inline]
pub fn is_quiescent(team: &'static Team) -> bool {
    !team.is_tasking() || counts_agree(team) || team.orphaned.load(Ordering::Relaxed)
}

fn counts_agree(team: &'static Team) -> bool {
    fence(Ordering::SeqCst);
    let finished: isize = team
        .all_workers()
        .map(|w| w.deque().finished.load(Ordering::Acquire))
        .sum();
    if team.awaited_events.load(Ordering::Acquire) != 0 {
        return false;
    }
    fence(Ordering::SeqCst);
    let created: isize = team
        .all_workers()
        .map(|w| w.deque().created.load(Ordering::Acquire))
        .sum();
    created == finished
}

/// Waits, alone in the team, until all tasks have ended.
pub fn wait_for_tasks(worker: &'static Worker) {
    let team = worker.team();
    worker.wait_until(&|| is_quiescent(team) && worker.deque().is_empty());
    tsan::acquire(team.phase());
}

/// Waits for all threads of the team and for all its tasks.
pub fn wait(worker: &'static Worker) {
    worker.check_at_barrier("a barrier");
    let team = worker.team();
    let size = team.size();
    if size == 1 {
        if team.is_tasking() {
            wait_for_tasks(worker);
        }
        return;
    }
    let (generation, phase) = (team.generation.0.load(Ordering::Relaxed), team.phase());
    tsan::release(phase);
    let last = team.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == size;
    if !(last && release(team, generation)) {
        worker.wait_until(&|| passed(team, generation));
    }
    tsan::acquire(phase);
    worker.implicit().settle();
}

fn passed(team: &'static Team, generation: u32) -> bool {
    team.generation.0.load(Ordering::Acquire) != generation
        || team.arrived.0.load(Ordering::Acquire) == team.size() && release(team, generation)
}

/// Opens the barrier if all tasks have ended; the thread that wins the exchange does it.
fn release(team: &'static Team, generation: u32) -> bool {
    let size = team.size();
    if !is_quiescent(team) {
        return false;
    }
    let (won, lost) = (Ordering::AcqRel, Ordering::Acquire);
    if team.arrived.0.compare_exchange(size, 0, won, lost).is_err() {
        return false;
    }
    team.generation
        .0
        .store(generation.wrapping_add(1), Ordering::Release);
    team.wake_all();
    true
}

/// Like [`wait`], but ends early when the region is cancelled. True if it was.
pub fn wait_or_cancelled(worker: &'static Worker) -> bool {
    let team = worker.team();
    if team.size() == 1 {
        wait(worker);
        return team.cancelled.load(Ordering::Relaxed);
    }
    let cancelled = || team.cancelled.load(Ordering::Acquire);
    if cancelled() {
        return true;
    }
    let (generation, phase) = (team.generation.0.load(Ordering::Relaxed), team.phase());
    tsan::release(phase);
    let last = team.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == team.size();
    if !(last && release(team, generation)) {
        worker.wait_until(&|| cancelled() || passed(team, generation));
    }
    // Tasks may still run when the wait was cut short: they count until the next region begins.
    if cancelled() {
        return true;
    }
    tsan::acquire(phase);
    worker.implicit().settle();
    false
}

impl Worker {
    /// If the tasks that ended here were the team's last, the workers that sleep at a barrier until then
    /// have to be woken. Of several workers that end the last tasks at once, at least one sees the
    /// counts of all behind its fence; a sleeper looks at them once more before it sleeps.
    pub(crate) fn report_finished(&'static self) {
        let finished = self.deque().finished.load(Ordering::Relaxed);
        if self.reported.replace(finished) == finished {
            return;
        }
        fence(Ordering::SeqCst);
        let team = self.team();
        if team.has_sleepers() && is_quiescent(team) {
            team.wake_all();
        }
    }
}
