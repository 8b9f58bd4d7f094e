//! Detached tasks: complete when the body has ended and the event is fulfilled, in either order.

use crate::task::{Flags, Task};
use crate::team::Team;
use crate::tsan;
use crate::worker::Worker;
use core::sync::atomic::{Ordering, fence};

const BODY_ENDED: u32 = 1;
const FULFILLED: u32 = 2;

/// Arms the event of a task that was just made.
pub fn arm(task: &'static Task, team: &'static Team) {
    task.set(Flags::DETACHED);
    task.team.set(Some(team));
    task.event.store(0, Ordering::Relaxed);
}

/// The body has ended. True if the event was fulfilled before: the task is complete.
pub fn body_ended(task: &'static Task) -> bool {
    let Some(team) = task.team.get() else {
        return true;
    };
    team.awaited_events.fetch_add(1, Ordering::SeqCst);
    tsan::release(&task.event);
    let complete = task.event.fetch_or(BODY_ENDED, Ordering::AcqRel) & FULFILLED != 0;
    if complete {
        tsan::acquire(&task.event);
        team.awaited_events.fetch_sub(1, Ordering::SeqCst);
    }
    complete
}

/// Fulfils the event, from any thread.
pub fn fulfill(task: &'static Task) {
    tsan::release(&task.event);
    if task.event.fetch_or(FULFILLED, Ordering::AcqRel) & BODY_ENDED == 0 {
        return;
    }
    tsan::acquire(&task.event);
    let worker = Worker::current_here();
    let team = task.team.get();
    task.release_dependants(worker);
    if let Some(fiber) = task.complete(worker) {
        worker.make_ready_later(fiber);
    }
    if let Some(team) = team {
        team.awaited_events.fetch_sub(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        team.wake_all();
    }
}
