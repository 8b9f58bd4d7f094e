//! One core: the scheduler of the target, driven from event to event

use crate::policy::{Policy, TASKS, VCPUS, policy, refused};
use crate::{Observer, Statistics, Stretch};
use bulkhead_model::timing::Timing;
use bulkhead_sched::harness::Random;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_sched::{NEVER, Scheduler, ThreadId};
use std::collections::VecDeque;
use std::fmt;

type CoreScheduler = Scheduler<Policy, TASKS>;

/// How to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Nanoseconds simulated.
    pub for_ns: u64,
    /// Of phases and execution times.
    pub seed: u64,
    /// True if every job needs its WCET and all tasks are released at 0: the critical instant. Else
    /// phases are random, and half of the jobs need less.
    pub critical: bool,
    /// True if VCPUs without budget run while the core would be idle, even if the description does
    /// not enable this.
    pub background: bool,
}

/// A core has more VCPUs or tasks than a scheduler takes, or budgets it refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUpError {
    /// Name of the VCPU or task.
    pub name: String,
}

impl fmt::Display for SetUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` cannot be simulated: a core takes up to {VCPUS} VCPUs and {TASKS} tasks, with 0 < C ≤ T, in \
             slots that do not overlap",
            self.name
        )
    }
}

impl std::error::Error for SetUpError {}

/// A job under way, of a task that has a thread.
struct Job {
    task: usize,
    released: u64,
    remaining: u64,
    /// Releases that wait for it: of the task that releases it, the first's.
    waiting: VecDeque<u64>,
}

struct Core<'a, O> {
    timing: &'a Timing,
    number: usize,
    options: Options,
    scheduler: Box<CoreScheduler>,
    jobs: Vec<Job>,
    random: Random,
    statistics: &'a mut [Statistics],
    observer: &'a mut O,
}

/// Simulates one core of a partition, adding to the statistics of its tasks; answers the number of
/// decisions.
///
/// # Errors
/// [`SetUpError`].
pub fn simulate_core(
    timing: &Timing,
    number: usize,
    options: Options,
    statistics: &mut [Statistics],
    observer: &mut impl Observer,
) -> Result<u64, SetUpError> {
    let background = options.background || timing.schedule.background;
    let (policy, servers) = policy(timing, number, background)?;
    let mut core = Core {
        timing,
        number,
        options,
        scheduler: Box::new(Scheduler::new(*policy)),
        jobs: Vec::new(),
        random: Random::new(
            options
                .seed
                .wrapping_mul(64)
                .wrapping_add(number as u64 + 1),
        ),
        statistics,
        observer,
    };
    core.start(&servers)?;
    Ok(core.run())
}

impl<O: Observer> Core<'_, O> {
    /// A thread for each task, asleep until its first release.
    fn start(&mut self, servers: &[Option<ServerId>]) -> Result<(), SetUpError> {
        let (timing, number) = (self.timing, self.number);
        let tasks = timing.tasks.iter().enumerate();
        for (index, task) in tasks.filter(|(_, task)| timing.vcpus[task.vcpu].core == number) {
            let refused = || refused(&task.name);
            let binding = Binding {
                vcpu: servers[task.vcpu].ok_or_else(refused)?,
                cause: servers[task.cause].ok_or_else(refused)?,
            };
            let thread = self.scheduler.add(binding, 0).map_err(|_| refused())?;
            let released = match self.options.critical {
                true => 0,
                false => self.random.below(task.period_ns),
            };
            self.jobs.push(Job {
                task: index,
                released,
                remaining: 0,
                waiting: VecDeque::new(),
            });
            self.draw(thread);
            self.scheduler.wakeup(thread, 0);
            if task.after.is_some() {
                self.scheduler.block(thread, NEVER, 0);
            } else if released > 0 {
                self.scheduler.block(thread, released, 0);
            }
        }
        Ok(())
    }

    /// Draws the execution time of the job that is about to be released.
    fn draw(&mut self, thread: ThreadId) {
        let wcet = self.timing.tasks[self.jobs[thread.index()].task].wcet_ns;
        let less = match self.options.critical || self.random.below(2) == 0 {
            true => 0,
            false => self.random.below(wcet),
        };
        self.jobs[thread.index()].remaining = wcet - less;
    }

    fn run(&mut self) -> u64 {
        let (mut now, mut events) = (0, 0);
        while now < self.options.for_ns {
            let decision = self.scheduler.decide(now);
            self.scheduler.dispatched(decision.thread, now);
            events += 1;
            let mut next = decision.timer.min(self.options.for_ns);
            if let Some(thread) = decision.thread {
                let job = &mut self.jobs[thread.index()];
                next = next.min(now + job.remaining);
                job.remaining -= next - now;
                self.observer.ran(Stretch {
                    task: job.task,
                    core: self.number,
                    from: now,
                    until: next,
                });
                if job.remaining == 0 {
                    self.end_job(thread, next);
                }
            }
            now = next;
        }
        events
    }

    /// Counts the job, and puts the thread to sleep until the next release.
    fn end_job(&mut self, thread: ThreadId, now: u64) {
        let job = &mut self.jobs[thread.index()];
        let task = &self.timing.tasks[job.task];
        self.statistics[job.task].add(now - job.released, task.deadline_ns);
        let (index, began) = (job.task, job.released);
        job.released = match task.after {
            None => began + task.period_ns,
            Some(_) => job.waiting.pop_front().unwrap_or(NEVER),
        };
        let released = job.released;
        self.draw(thread);
        match task.after {
            // It has been released already.
            Some(_) if released != NEVER => {}
            _ => _ = self.scheduler.block(thread, released.max(now), now),
        }
        self.release_those_after(index, began, now);
    }

    /// A job of a task that began so has ended: those that it releases are counted from there.
    fn release_those_after(&mut self, index: usize, began: u64, now: u64) {
        let timing = self.timing;
        for (thread, job) in self.jobs.iter_mut().enumerate() {
            if timing.tasks[job.task].after != Some(index) {
                continue;
            }
            if self.scheduler.is_blocked(ThreadId(thread as u16)) {
                job.released = began;
                self.scheduler.wakeup(ThreadId(thread as u16), now);
            } else {
                job.waiting.push_back(began);
            }
        }
    }
}
