//! Bounds of tasks that run at plain priorities
//!
//! A thread at a plain priority is less important than all VCPUs of its core. It counts as a sporadic server of its budget,
//! or, without one, of its task: C = WCET and what the runtime takes of a job, T = the task's period. The response is that of
//! `bulkhead_analysis::time_partitions` (Audsley et al. 1993) behind all VCPUs, all threads that are as important, and the
//! scheduling overhead. A less important thread does not run while a job is pending, so that it can be woken up once at most.

use super::explain::line;
use super::overhead::Prolonged;
use super::{Order, Place, PriorityThread, Timing, Unbounded, VcpuKind};
use crate::quantity::time_text;
use bulkhead_analysis::overhead::{self, Jobs, Keeping, Overhead, Request};
use bulkhead_analysis::time_partitions::{Core, Placed, Slot, Table};
use bulkhead_analysis::vcpu::{self, Io};
use bulkhead_analysis::{Reservation, Time};
use std::fmt::Write;

/// Threads of the runtime that are less important than all others of a core: they renew the heartbeat, decide on requests, and
/// restart components.
const OF_RUNTIME: u64 = 3;

impl Timing {
    /// Returns the bound of the response of each thread at a priority, in their order.
    #[must_use]
    pub fn priority_bounds(&self) -> Vec<Result<Time, Unbounded>> {
        let (ticks, counted) = (self.ticks(), self.in_ticks());
        let all = 0..self.threads.len();
        all.map(|index| Ok(ticks.ns(counted.priority_bound(index)?)))
            .collect()
    }

    /// Lines about the bounds of threads at priorities, and about those that have none.
    pub(crate) fn priorities_text(&self) -> String {
        let mut text = String::new();
        let mut unbounded = Vec::new();
        for (thread, bound) in self.threads.iter().zip(self.priority_bounds()) {
            let name = &thread.component;
            let task = match (bound, &thread.task) {
                (Err(reason @ Unbounded::Beside(_)), _) => {
                    // Writing to a string does not fail.
                    let _ = writeln!(text, "  no bound for `{name}`: {}", self.reason(reason));
                    continue;
                }
                (_, Some(task)) => task,
                (_, None) => {
                    unbounded.push(format!("`{name}`"));
                    continue;
                }
            };
            let load = format!(
                "{} in {}",
                time_text(task.wcet_ns),
                time_text(task.period_ns)
            );
            let _ = line(
                &mut text,
                "task",
                &task.name,
                &load,
                bound.ok(),
                task.deadline_ns,
            );
        }
        if !unbounded.is_empty() {
            let reason = self.reason(Unbounded::NoTask);
            let _ = writeln!(text, "  no bound for {}: {reason}", unbounded.join(", "));
        }
        text
    }

    /// Why a thread at a priority has no bound.
    #[must_use]
    pub fn reason(&self, unbounded: Unbounded) -> String {
        match unbounded {
            Unbounded::NoTask => {
                "no task without a `vcpu` says how long and how often its thread runs".into()
            }
            Unbounded::Beside(other) => format!(
                "`{}` is as important, and no task says how long and how often it runs",
                self.threads[other].component
            ),
            Unbounded::NotWithinPeriod => "it does not respond within its period".into(),
        }
    }

    fn priority_bound(&self, index: usize) -> Result<Time, Unbounded> {
        let thread = &self.threads[index];
        let task = thread.task.as_ref().ok_or(Unbounded::NoTask)?;
        let unknown = |&(other, one): &(usize, &PriorityThread)| {
            other != index && thread.waits_for(one) && one.task.is_none()
        };
        let mut threads = self.threads.iter().enumerate();
        if let Some((other, _)) = threads.find(unknown) {
            return Err(Unbounded::Beside(other));
        }
        let bound = self
            .bound_beside(index)
            .filter(|&one| one <= task.period_ns);
        bound.ok_or(Unbounded::NotWithinPeriod)
    }

    /// Returns the bound of a thread with a task among threads with tasks.
    fn bound_beside(&self, index: usize) -> Option<Time> {
        let thread = &self.threads[index];
        let task = thread.task.as_ref()?;
        let core = thread.core;
        let ranked = self.ranked(core);
        let prolonged = self.prolonged(core, &ranked);
        let io: Vec<_> = self
            .io(core)
            .into_iter()
            .map(|(_, io)| Io { rank: 0, ..io })
            .collect();
        let mains = self.placed_vcpus(&ranked, &prolonged);
        let others = self.threads.iter().enumerate();
        let others = others.filter(|&(other, one)| other != index && thread.waits_for(one));
        let others = others.filter_map(|(_, one)| self.placed_thread(one));
        let mut all: Vec<_> = mains.into_iter().chain(others).collect();
        all.push(self.placed_thread(thread)?);
        let mut ahead = prolonged.ahead;
        ahead.extend(self.thread_overhead(index));
        let slots = self.schedule.slots.iter().filter(|slot| slot.core == core);
        let table: Vec<_> = slots
            .map(|slot| Slot {
                start: slot.start_ns,
                length: slot.length_ns,
                partition: slot.partition,
            })
            .collect();
        let table = Table {
            frame: self.schedule.frame_ns,
            slots: &table,
        };
        let core = Core {
            vcpus: &all,
            io: &io,
            ahead: &ahead,
            table,
        };
        let response = core.response(all.len() - 1)?;
        match thread.budget {
            // Without a budget nothing but more important work delays a job.
            None => Some(response),
            Some(budget) => {
                let work = task.wcet_ns.checked_add(self.overhead.job)?;
                let response = vcpu::work_response(budget, response, work, task.period_ns)?;
                response.checked_add(overhead::latency(&ahead)?)
            }
        }
    }

    /// Returns the VCPUs of a core as threads see them.
    fn placed_vcpus(&self, ranked: &[(usize, Reservation)], prolonged: &Prolonged) -> Vec<Placed> {
        // Rates and deadlines order VCPUs among themselves: all of them are more important than the threads.
        let by_priority = self.schedule.order == Order::FixedPriority;
        let placed = |(&(index, _), &limits): (&(usize, Reservation), &Reservation)| {
            let Place {
                partition,
                priority,
            } = match by_priority {
                true => self.vcpus[index].place,
                false => Place::default(),
            };
            let reservation = matches!(self.vcpus[index].kind, VcpuKind::Reservation { .. });
            Placed {
                limits,
                partition,
                priority,
                reservation,
            }
        };
        ranked.iter().zip(&prolonged.mains).map(placed).collect()
    }

    /// Returns a thread with a task as others see it.
    fn placed_thread(&self, thread: &PriorityThread) -> Option<Placed> {
        let task = thread.task.as_ref()?;
        let whole = Reservation {
            capacity: task.wcet_ns.checked_add(self.overhead.job)?,
            period: task.period_ns,
        };
        let limits = thread.budget.unwrap_or(whole);
        let request = Request {
            limits,
            jobs: Jobs::each(task.period_ns).within(limits.period),
        };
        let keeping = match thread.budget {
            Some(_) => self.keeping(),
            None => Keeping {
                chunks: 0,
                ..self.keeping()
            },
        };
        Some(Placed {
            limits: self.overhead.prolong(&request, &keeping),
            partition: 0,
            priority: thread.priority,
            reservation: false,
        })
    }

    /// Returns the overhead of releases of all threads of a core, as the thread `index` sees it: of those that are as important,
    /// all, and of each other one the release that it waits for.
    fn thread_overhead(&self, index: usize) -> Vec<Reservation> {
        let thread = &self.threads[index];
        let here = self.threads.iter().filter(|one| one.core == thread.core);
        let (before, behind): (Vec<_>, Vec<_>) = here.partition(|one| thread.waits_for(one));
        let tasks = before.iter().filter_map(|one| one.task.as_ref());
        let releases = tasks.map(|task| self.overhead.of_jobs(Jobs::each(task.period_ns)));
        let once = OF_RUNTIME + behind.len() as u64;
        let once = Overhead::ahead(self.overhead.decision, once, Time::MAX);
        releases.chain([once]).flatten().collect()
    }
}

impl PriorityThread {
    /// Returns `true` if `other` may run while a job of this thread is pending; also of itself.
    fn waits_for(&self, other: &Self) -> bool {
        other.core == self.core && other.priority <= self.priority
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{PriorityTask, Vcpu};
    use bulkhead_sched::harness::Random;

    /// A thread with that budget and task, each a C and a T.
    fn thread(
        priority: u8,
        budget: Option<(Time, Time)>,
        task: Option<(Time, Time)>,
    ) -> PriorityThread {
        PriorityThread {
            component: format!("c{priority}"),
            core: 0,
            priority,
            budget: budget.map(|(capacity, period)| Reservation { capacity, period }),
            task: task.map(|(wcet_ns, period_ns)| PriorityTask {
                name: format!("t{priority}"),
                span: 0..0,
                wcet_ns,
                period_ns,
                deadline_ns: period_ns,
            }),
        }
    }

    fn timing(threads: Vec<PriorityThread>, overhead: Overhead) -> Timing {
        Timing {
            threads,
            overhead,
            ..Timing::default()
        }
    }

    fn bounds(threads: Vec<PriorityThread>) -> Vec<Result<Time, Unbounded>> {
        timing(threads, Overhead::default()).priority_bounds()
    }

    #[test]
    fn without_overhead_it_is_the_textbook() {
        let tasks = [(3, 7), (3, 12), (5, 20)].into_iter().zip(1..);
        let threads = tasks.map(|(task, priority)| thread(priority, None, Some(task)));
        assert_eq!(bounds(threads.collect()), [Ok(3), Ok(6), Ok(20)]);
    }

    #[test]
    fn a_thread_without_a_task_takes_the_bound_of_those_behind_it_alone() {
        let unknown = thread(2, Some((1, 10)), None);
        let threads = [1, 2, 3].map(|priority| thread(priority, None, Some((1, 100))));
        let found = bounds(threads.into_iter().chain([unknown]).collect());
        let beside = Err(Unbounded::Beside(3));
        assert_eq!(found, [Ok(1), beside, beside, Err(Unbounded::NoTask)]);
        // Another core is not concerned.
        let mut elsewhere = thread(0, None, None);
        elsewhere.core = 1;
        assert_eq!(
            bounds(vec![thread(1, None, Some((1, 100))), elsewhere])[0],
            Ok(1)
        );
    }

    #[test]
    fn a_budget_limits_a_thread_for_others_and_delays_its_own_jobs() {
        let limited = thread(1, Some((2, 10)), Some((3, 100)));
        let behind = thread(2, None, Some((5, 100)));
        // Of the job of 3, two budgets of 2 are needed: ⌈3/2⌉·10 + 2.
        assert_eq!(bounds(vec![limited, behind]), [Ok(22), Ok(7)]);
    }

    #[test]
    fn vcpus_and_decisions_delay_threads() {
        let overhead = Overhead {
            decision: 10,
            ..Overhead::default()
        };
        let threads = vec![thread(1, None, Some((100, 10_000))), thread(2, None, None)];
        // A start and an end, its release, that of the other thread, three of the runtime, and one that is being made.
        let of_threads = 2 + 1 + 1 + 3 + 1;
        let mut timing = timing(threads, overhead);
        assert_eq!(timing.priority_bounds()[0], Ok(100 + 10 * of_threads));
        timing.vcpus.push(Vcpu {
            name: "v".into(),
            span: 0..0,
            kind: VcpuKind::Main {
                capacity_ns: 500,
                period_ns: 10_000,
            },
            place: Place::default(),
            core: 0,
        });
        for order in [Order::RateMonotonic, Order::EarliestDeadline] {
            timing.schedule.order = order;
            let bound = timing.priority_bounds()[0].expect("it fits");
            assert!(bound >= 600 + 10 * of_threads, "{order:?}: {bound}");
        }
        timing.vcpus[0].kind = VcpuKind::Main {
            capacity_ns: 10_000,
            period_ns: 10_000,
        };
        assert_eq!(timing.priority_bounds()[0], Err(Unbounded::NotWithinPeriod));
    }

    /// Preemptive fixed priorities, a tick at a time: the longest response of each of `tasks`, the most important first.
    fn simulate(tasks: &[(Time, Time)], phases: &[Time]) -> Vec<Time> {
        let mut pending = vec![(0, 0); tasks.len()];
        let mut longest = vec![0; tasks.len()];
        for now in 0..600 {
            for (index, &(wcet, period)) in tasks.iter().enumerate() {
                if now >= phases[index] && (now - phases[index]).is_multiple_of(period) {
                    pending[index] = (wcet, now);
                }
            }
            if let Some(index) = pending.iter().position(|&(work, _)| work > 0) {
                pending[index].0 -= 1;
                if pending[index].0 == 0 {
                    longest[index] = longest[index].max(now + 1 - pending[index].1);
                }
            }
        }
        longest
    }

    /// No simulated response exceeds its bound, and all released together reach it.
    #[test]
    fn bounds_hold_and_are_exact() {
        let mut random = Random::new(7);
        let mut below = |most| random.below(most);
        for _ in 0..2_000 {
            let count = 1 + below(4) as usize;
            let mut drawn = || (1 + below(6), 3 + below(40));
            let tasks: Vec<_> = (0..count).map(|_| drawn()).collect();
            let tasks: Vec<_> = tasks.iter().map(|&(c, t)| (c.min(t), t)).collect();
            let threads = (1..).zip(&tasks);
            let threads = threads.map(|(priority, &task)| thread(priority, None, Some(task)));
            let found = bounds(threads.collect());
            let fits = found.iter().take_while(|bound| bound.is_ok()).count();
            let phases: Vec<_> = (0..count).map(|_| below(40)).collect();
            let at_once = simulate(&tasks[..fits], &vec![0; fits]);
            let at_phases = simulate(&tasks[..fits], &phases[..fits]);
            for index in 0..fits {
                assert_eq!(found[index], Ok(at_once[index]), "{tasks:?}");
                assert!(
                    at_phases[index] <= at_once[index],
                    "{tasks:?} at {phases:?}"
                );
            }
        }
    }
}
