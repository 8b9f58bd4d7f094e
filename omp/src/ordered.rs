//! Ordered regions: chunks take turns in the order of their iterations.

use crate::arch;
use crate::backend::{Backend, System};
use crate::tsan;
use crate::worker::Worker;
use crate::workshare::WorkShare;
use core::sync::atomic::Ordering;

/// Distance of the first two looks at the turn of a thread that stands back, and the largest distance, in pauses. The first is
/// about the time in which a core hands the turn over to another. Each look takes the cache line from the thread that has the turn.
/// If threads outnumber cores, the thread yields once in place of [`FIRST_DISTANCE`] pauses.
const FIRST_DISTANCE: u32 = 8;
const LAST_DISTANCE: u32 = 128;

/// Waits until all chunks before the thread's own have ended.
pub fn start() {
    let worker = Worker::current_here();
    if let Some(share) = worker.share.get()
        && worker.team().size() > 1
    {
        wait_for_turn(worker, share, worker.loop_state.chunk().0);
    }
}

fn wait_for_turn(worker: &'static Worker, share: &'static WorkShare, start: u64) {
    let is_due = || share.turn.0.load(Ordering::Acquire) == start;
    if !is_due() {
        worker.loop_state.has_waited.set(true);
        if !worker.watch_for(&is_due) {
            worker.wait_until(&is_due);
        }
    }
    tsan::acquire(&share.turn);
}

/// The thread has done its chunk: passes the turn on, in order.
pub fn end_chunk(worker: &'static Worker, share: &'static WorkShare) {
    let (start, end) = worker.loop_state.chunk();
    if start == end || worker.team().size() == 1 {
        return;
    }
    wait_for_turn(worker, share, start);
    tsan::release(&share.turn);
    share.turn.0.store(end, Ordering::Release);
    worker.team().wake_all();
}

/// Delays a thread's next chunk of a dynamic loop while the chunks of other threads follow each other faster than cores can hand the
/// turn over. The ordered regions are the bottleneck then, and each further thread adds a hand-over per chunk. The thread takes
/// its chunk once the turn has not moved between two looks. Loops with parallel parts are therefore not delayed.
pub fn stand_back(worker: &'static Worker, share: &'static WorkShare) {
    if !worker.loop_state.has_waited.replace(false) || share.is_static() {
        return;
    }
    let is_crowded = worker.team().is_crowded();
    let mut distance = FIRST_DISTANCE;
    let mut turn = share.turn.0.load(Ordering::Relaxed);
    while share.has_iterations() && !worker.sees_work() {
        if is_crowded {
            (0..distance / FIRST_DISTANCE).for_each(|_| System::yield_now());
        } else {
            (0..distance).for_each(|_| arch::pause());
        }
        let now = share.turn.0.load(Ordering::Relaxed);
        if now == turn {
            return;
        }
        turn = now;
        distance = LAST_DISTANCE.min(distance * 2);
    }
}
