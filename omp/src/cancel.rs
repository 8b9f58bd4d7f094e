//! Cancellation. Tasks that have not started when their taskgroup or region is cancelled end
//! without running; nothing that runs is interrupted.

use crate::icv;
use crate::task::{Flags, Task};
use crate::team::Team;
use crate::worker::Worker;
use core::sync::atomic::Ordering;

/// Kind of the cancelled construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Construct {
    /// The innermost parallel region.
    Parallel,
    /// The innermost loop or sections construct.
    Worksharing,
    /// The innermost taskgroup.
    Taskgroup,
}

/// True if cancellation was allowed at start.
#[inline]
pub fn is_enabled() -> bool {
    icv::CANCELLATION.load(Ordering::Relaxed)
}

/// Cancels; true if the caller must go to the end of the construct.
pub fn request(construct: Construct) -> bool {
    if !is_enabled() {
        return false;
    }
    let worker = Worker::current_here();
    match construct {
        Construct::Parallel => {
            worker.team().cancelled.store(true, Ordering::Release);
            worker.team().wake_all();
        }
        Construct::Worksharing => {
            worker
                .share
                .get()
                .inspect(|share| share.cancelled.store(true, Ordering::Release));
        }
        Construct::Taskgroup => {
            let group = worker.current().group();
            group.inspect(|group| group.cancellable().cancelled.store(true, Ordering::Release));
        }
    }
    true
}

/// True if the construct has been cancelled.
pub fn is_requested(construct: Construct) -> bool {
    if !is_enabled() {
        return false;
    }
    let worker = Worker::current_here();
    let region = || worker.team().cancelled.load(Ordering::Acquire);
    match construct {
        Construct::Parallel => region(),
        Construct::Worksharing => worker
            .share
            .get()
            .is_some_and(|share| share.cancelled.load(Ordering::Acquire)),
        Construct::Taskgroup => region() || in_cancelled_group(worker.current()),
    }
}

fn in_cancelled_group(task: &'static Task) -> bool {
    task.group().is_some_and(|group| group.is_cancelled())
}

/// True if a task that is about to start must not.
pub fn is_discarded(team: &'static Team, task: &'static Task) -> bool {
    if task.has(Flags::IMPLICIT) {
        return false;
    }
    team.cancelled.load(Ordering::Acquire) || task.has(Flags::GROUPED) && in_cancelled_group(task)
}
