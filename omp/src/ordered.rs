//! Ordered regions: chunks take turns in the order of their iterations.

use crate::tsan;
use crate::worker::Worker;
use crate::workshare::WorkShare;
use core::sync::atomic::Ordering;

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
    if !is_due() && !worker.watch_for(&is_due) {
        worker.wait_until(&is_due);
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
