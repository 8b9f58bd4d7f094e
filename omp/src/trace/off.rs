//! No events: every hook is empty and vanishes.

use crate::fiber::Fiber;
use crate::task::Task;
use crate::worker::Worker;

/// A task may be run from now on.
#[inline(always)]
pub fn ready(_: &Worker, _: &Task) {}

/// A fiber may be resumed from now on.
#[inline(always)]
pub fn ready_fiber(_: &Worker, _: &Fiber) {}

/// A search begins.
#[inline(always)]
pub fn search(_: &Worker) {}

/// The search has found a task.
#[inline(always)]
pub fn start(_: &Worker, _: &Task) {}

/// The search has found a fiber.
#[inline(always)]
pub fn resume(_: &Worker, _: &Fiber) {}

/// The search has found nothing.
#[inline(always)]
pub fn fail(_: &Worker) {}

/// A body has ended.
#[inline(always)]
pub fn end(_: &Worker, _: &Task) {}

/// A worker goes to sleep.
#[inline(always)]
pub fn park(_: &Worker) {}

/// A worker has woken.
#[inline(always)]
pub fn unpark(_: &Worker) {}

/// Saves what was recorded.
#[inline(always)]
pub fn save() {}
