//! Threads on VCPUs, admitted before they are created
//!
//! Paper 001 §4.1. What the host tool asks of a description ([`bulkhead_analysis::admission`]) is asked
//! here of a VCPU that is created at run time, with decisions counted as there; one that does not fit is refused, with
//! the name of the VCPU that would miss its budget, and nothing has changed. Budgets are enforced by the kernel.

use crate::Mutex;
use crate::machine::Threads;
use bulkhead_abi::kernel::Status;
use bulkhead_abi::timing;
use bulkhead_analysis::Reservation;
use bulkhead_analysis::admission::{self, Admission};
use bulkhead_analysis::core_overhead::CoreOverhead;
pub use bulkhead_analysis::overhead::Jobs;
use bulkhead_analysis::overhead::{Keeping, Overhead};
use bulkhead_analysis::placement::Placement;
use bulkhead_analysis::time_partitions::{self, Placed};
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_analysis::vcpu::Io;
use bulkhead_component::first::Timing;
use bulkhead_component::{First, clock};
use bulkhead_sched::Time;
use bulkhead_sched::budget::{Capacity, Utilisation};
use bulkhead_sched::policy::{Order, Place, Priority, ServerId, Slot, TimeTable, Vcpus};

/// The longest period of a Main VCPU.
const LEAST_PERIOD: Time = Time::MAX >> 3;

/// U of an I/O VCPU, as its budget and as admission count it.
fn shares(percent: u32) -> Result<(Utilisation, Fraction), Refused> {
    let bad = Refused::Admission(admission::Refused::BadBudget);
    let utilisation = Utilisation::ratio(percent, 100).map_err(|_| bad)?;
    Ok((
        utilisation,
        Fraction::ratio(percent.into(), 100).ok_or(bad)?,
    ))
}

/// Why a VCPU is not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The VCPU does not fit, or is no budget; a VCPU is named by its [`ServerId`].
    Admission(admission::Refused),
    /// The kernel's refusal.
    Kernel(Status),
}

/// C and T in nanoseconds as a budget: no less time than asked for, where the period has it, and no less often.
#[must_use]
pub fn capacity([capacity_ns, period_ns]: [u64; 2]) -> Capacity {
    let period = clock::ticks(period_ns);
    Capacity {
        capacity: clock::ticks_up(capacity_ns).min(period),
        period,
    }
}

/// The tasks that the description has on the VCPU of that number, as admission counts them.
pub fn jobs_on(timing: &Timing, number: u32) -> impl Iterator<Item = Jobs> {
    let tasks = timing.tasks.iter().filter(move |task| task.vcpu == number);
    let vcpus = timing.vcpus;
    tasks.map(move |task| {
        let (period, late) = (clock::ticks(task.period_ns), clock::ticks_up(task.late_ns));
        let find_vcpu = |number: u32| vcpus.get(number as usize);
        let half = find_vcpu(task.vcpu).filter(|vcpu| vcpu.kind == timing::VcpuKind::Io as u32);
        let jobs = match half.zip(find_vcpu(task.cause)) {
            Some((half, main)) => {
                let taken = timing.costs.map_or(0, |costs| costs.job_ns);
                let wcet = clock::ticks_up(task.wcet_ns.saturating_add(taken));
                let same = timing.tasks.iter().filter(|other| other.vcpu == task.vcpu);
                let causes = same.filter_map(|other| find_vcpu(other.cause));
                let shortest = causes.map(|main| main.period_ns).min();
                let shortest = clock::ticks(shortest.unwrap_or(main.period_ns));
                Jobs::of_bottom_half(period, wcet, half.percent, shortest)
            }
            None => Jobs::each(period),
        };
        jobs.in_bursts(task.burst).after(late)
    })
}

/// Returns whether priorities order the VCPUs of the description.
#[must_use]
pub fn is_by_priority(timing: &Timing) -> bool {
    let order = timing.schedule.map(|schedule| schedule.order);
    order == Some(timing::Order::FixedPriority as u32)
}

/// The VCPUs for which the I/O VCPU of that number works.
fn causes(timing: &Timing, number: u32) -> impl Iterator<Item = &'static timing::Vcpu> + Clone {
    let (tasks, vcpus) = (timing.tasks.iter(), timing.vcpus);
    let tasks = tasks.filter(move |task| task.vcpu == number);
    tasks.filter_map(move |task| vcpus.get(task.cause as usize))
}

/// Their shortest and their longest period, ticks.
#[must_use]
pub fn io_periods(timing: &Timing, number: u32) -> [Time; 2] {
    let periods = causes(timing, number).map(|vcpu| vcpu.period_ns);
    [periods.clone().min(), periods.max()].map(|period| clock::ticks(period.unwrap_or(0)))
}

/// Priority and time partition of a VCPU of the description.
fn place_of(vcpu: &timing::Vcpu) -> Place {
    let priority = Priority(vcpu.place as u8);
    match vcpu.kind == timing::VcpuKind::Reservation as u32 {
        true => Place::Band(priority),
        false => Place::Partition((vcpu.place >> 8) as u8, priority),
    }
}

/// Threads of one core on up to `M` VCPUs, with up to `K` chunks of budget per Main VCPU, in up to `P` time
/// partitions under a table of up to `S` slots.
pub struct VcpuThreads<
    const N: usize,
    const M: usize,
    const K: usize,
    const P: usize = 1,
    const S: usize = 0,
> {
    /// The threads; their parameters say on which VCPU each runs.
    pub threads: Threads<Vcpus<N, M, K, P, S>, N>,
    admission: Mutex<Admission<M>>,
    /// In place of `admission` where priorities are given.
    placement: Mutex<Placement<M, S>>,
}

impl<const N: usize, const M: usize, const K: usize, const P: usize, const S: usize>
    VcpuThreads<N, M, K, P, S>
{
    /// A machine without VCPUs, by rate. With `background`, those without budget run when no other would.
    pub const fn new(background: bool) -> Self {
        Self {
            threads: Threads::new(Vcpus::new(background)),
            admission: Mutex::new(Admission::new()),
            placement: Mutex::new(Placement::new()),
        }
    }

    /// Orders VCPUs and counts decisions as the description says, on that core of the partition; before there are any.
    ///
    /// # Errors
    /// [`Refused`]: more time partitions, slots or doorbells than there is room for, or what is no time table.
    pub fn configure(&self, timing: &Timing, core: u32) -> Result<(), Refused> {
        self.count(timing, core)?;
        let switch = timing.costs.map_or(0, |costs| costs.switch_ns);
        self.threads.set_switch(clock::ticks_up(switch));
        match timing.schedule {
            Some(schedule) => self.order(schedule, timing.slots, core),
            None => Ok(()),
        }
    }

    /// Counts what decides beside the VCPUs.
    fn count(&self, timing: &Timing, core: u32) -> Result<(), Refused> {
        let bad = Refused::Kernel(Status::BadArgument);
        let threads = &self.threads;
        let rated = self.admission.with(threads, |admission| {
            Self::counted(timing, core, admission.core_overhead())
        });
        rated.map_err(|_| bad)?.map_err(Refused::Admission)?;
        let placed = self.placement.with(threads, |placement| {
            Self::counted(timing, core, placement.core_overhead())
        });
        placed.map_err(|_| bad)?.map_err(Refused::Admission)
    }

    fn counted(
        timing: &Timing,
        core: u32,
        core_overhead: &mut CoreOverhead,
    ) -> Result<(), admission::Refused> {
        let Some(costs) = timing.costs else {
            return Ok(());
        };
        let overhead = Overhead {
            decision: clock::ticks_up(costs.decision_ns),
            interrupt: clock::ticks_up(costs.interrupt_ns),
            job: clock::ticks_up(costs.job_ns),
            // Budgets of stages have it.
            stage: 0,
            blocking: clock::ticks_up(costs.blocking_ns),
        };
        let schedule = timing.schedule;
        let quantum = schedule.map(|schedule| clock::ticks(schedule.quantum_ns));
        let keeping = Keeping {
            chunks: K as u64,
            quantum: quantum.filter(|&quantum| quantum != 0),
        };
        let slots = timing.slots.iter().filter(|slot| slot.core == core);
        let slots = slots.count() as u64;
        let frame = schedule.map_or(0, |schedule| clock::ticks(schedule.frame_ns));
        core_overhead.count(overhead, keeping)?;
        let mut doorbells = timing.doorbells.iter();
        doorbells.try_for_each(|doorbell| {
            core_overhead.doorbell(doorbell.limit, clock::ticks(doorbell.per_ns))
        })?;
        core_overhead.slots(slots, frame)
    }

    fn order(
        &self,
        schedule: &timing::Schedule,
        slots: &[timing::Slot],
        core: u32,
    ) -> Result<(), Refused> {
        let bad = Refused::Kernel(Status::BadArgument);
        let order = match schedule.order {
            order if order == timing::Order::EarliestDeadline as u32 => Order::EarliestDeadline,
            order if order == timing::Order::FixedPriority as u32 => Order::FixedPriority,
            _ => Order::RateMonotonic,
        };
        if order == Order::EarliestDeadline {
            let is_set = self.admission.with(&self.threads, Admission::by_deadline);
            is_set.map_err(|_| bad)?;
        }
        let slots = slots.iter().filter(|slot| slot.core == core);
        let table = self.table(slots, clock::ticks(schedule.frame_ns))?;
        let configured = self.threads.with_policy(|policy, _| {
            policy.set_order(order)?;
            let servers = policy.servers_mut();
            servers.set_background(schedule.background != 0);
            if schedule.quantum_ns != 0 {
                servers.set_quantum(clock::ticks(schedule.quantum_ns));
            }
            let bands = (0..u64::BITS as u8).filter(|band| schedule.bands >> band & 1 != 0);
            for band in bands {
                servers.add_band(Priority(band))?;
            }
            servers.set_table(table)
        });
        configured.map_err(|_| bad)
    }

    /// Slots, with the gaps between them, where TP0 is alone.
    fn table<'a>(
        &self,
        slots: impl Iterator<Item = &'a timing::Slot>,
        frame: Time,
    ) -> Result<TimeTable<S>, Refused> {
        let bad = Refused::Kernel(Status::BadArgument);
        let mut table = [Slot {
            end: 0,
            partition: 0,
        }; S];
        let (mut count, mut end) = (0, 0);
        let mut enter = |until: Time, partition: u8| {
            if until > end {
                end = until;
                *table.get_mut(count).ok_or(bad)? = Slot {
                    end: until,
                    partition,
                };
                count += 1;
            }
            Ok(())
        };
        for slot in slots {
            let start = clock::ticks(slot.start_ns);
            let until = clock::ticks(slot.start_ns.saturating_add(slot.length_ns));
            enter(start, 0)?;
            enter(until, slot.partition as u8)?;
            let slot_limits = time_partitions::Slot {
                start,
                length: until.saturating_sub(start),
                partition: slot.partition as u8,
            };
            let kept = self.placement.with(&self.threads, |placement| {
                placement.slot(frame, slot_limits)
            });
            kept.map_err(|_| bad)?.map_err(Refused::Admission)?;
        }
        enter(frame, 0)?;
        let table = table.get(..count).unwrap_or(&[]);
        TimeTable::of(table).map_err(|_| bad)
    }

    /// Creates the VCPU of the description with that number, which is on this core.
    ///
    /// # Errors
    /// [`Refused`]; there is no such VCPU.
    pub fn create_from_description(
        &self,
        first: &mut First,
        number: u32,
        timing: &Timing,
    ) -> Result<ServerId, Refused> {
        let vcpu = timing.vcpus.get(number as usize);
        let vcpu = vcpu.ok_or(Refused::Kernel(Status::BadArgument))?;
        let tasks = jobs_on(timing, number);
        if vcpu.kind == timing::VcpuKind::Io as u32 {
            let most = causes(timing, number).map(|vcpu| Priority(vcpu.place as u8));
            let most = most.min().filter(|_| is_by_priority(timing));
            return self.create_io(first, vcpu.percent, io_periods(timing, number), most, tasks);
        }
        let limits = capacity([vcpu.capacity_ns, vcpu.period_ns]);
        match is_by_priority(timing) {
            true => self.create_placed(first, limits, place_of(vcpu), tasks),
            false => self.create_main(first, limits, tasks),
        }
    }

    /// Creates the VCPU of the description with that number without its limit and without admission: others may miss
    /// their budgets.
    ///
    /// # Errors
    /// [`Refused`]; there is no such VCPU.
    pub fn create_unlimited(
        &self,
        first: &mut First,
        number: u32,
        timing: &Timing,
    ) -> Result<ServerId, Refused> {
        let vcpu = timing.vcpus.get(number as usize);
        let vcpu = vcpu.ok_or(Refused::Kernel(Status::BadArgument))?;
        if vcpu.kind == timing::VcpuKind::Io as u32 {
            let bad = Refused::Admission(admission::Refused::BadBudget);
            let whole = Utilisation::ratio(1, 1).map_err(|_| bad)?;
            let periods = io_periods(timing, number);
            let add = |policy: &mut Vcpus<N, M, K, P, S>, now| policy.add_io(whole, periods, now);
            return self.create(first, |_| Some(Ok(())), add);
        }
        let period = clock::ticks(vcpu.period_ns);
        let limits = Capacity {
            capacity: period,
            period,
        };
        let place = place_of(vcpu);
        let add = |policy: &mut Vcpus<N, M, K, P, S>, now| policy.add_placed(limits, place, now);
        self.create(first, |_| Some(Ok(())), add)
    }

    /// Creates a Main VCPU of C in T, in ticks of the clock, on which such tasks run, where priorities are given.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn create_placed(
        &self,
        first: &mut First,
        limits: Capacity,
        place: Place,
        tasks: impl IntoIterator<Item = Jobs>,
    ) -> Result<ServerId, Refused> {
        let Capacity { capacity, period } = limits;
        let (partition, Priority(priority), reservation) = match place {
            Place::Partition(number, priority) => (number, priority, false),
            Place::Band(priority) => (0, priority, true),
        };
        let placed = Placed {
            limits: Reservation { capacity, period },
            partition,
            priority,
            reservation,
        };
        self.create(
            first,
            |id| {
                let admit = |placement: &mut Placement<M, S>| {
                    placement.vcpu(usize::from(id.0), placed, tasks)
                };
                self.placement.with(&self.threads, admit).ok()
            },
            |policy, now| policy.add_placed(limits, place, now),
        )
    }

    /// Creates a priority for threads without a VCPU: with a budget, which the kernel enforces, or without a limit. It
    /// is not admitted.
    ///
    /// # Errors
    /// [`Refused`]: no room for it, or it is more important than VCPUs that rates or deadlines order.
    pub fn create_priority(
        &self,
        first: &mut First,
        priority: Priority,
        limits: Option<Capacity>,
    ) -> Result<ServerId, Refused> {
        if limits.is_some() {
            return self.create(
                first,
                |_| Some(Ok(())),
                |policy, now| policy.add_priority(priority, limits, now),
            );
        }
        let added = self
            .threads
            .with_policy(|policy, now| policy.add_priority(priority, None, now));
        added.map_err(|_| Refused::Admission(admission::Refused::BadBudget))
    }

    /// Creates a Main VCPU of C in T, in ticks of the clock, on which such tasks run ([`jobs_on`]).
    ///
    /// # Errors
    /// [`Refused`].
    pub fn create_main(
        &self,
        first: &mut First,
        limits: Capacity,
        tasks: impl IntoIterator<Item = Jobs>,
    ) -> Result<ServerId, Refused> {
        let Capacity { capacity, period } = limits;
        let reservation = Reservation { capacity, period };
        self.create(
            first,
            |id| {
                let admit = |admission: &mut Admission<M>| {
                    admission.main(usize::from(id.0), reservation, tasks)
                };
                self.admission.with(&self.threads, admit).ok()
            },
            |policy, now| policy.add_main(limits, now),
        )
    }

    /// Creates a Main VCPU, where rates or deadlines order them, that has what others leave: none is less important, since its period is the
    /// longest there can be, so no admission test is needed.
    ///
    /// # Errors
    /// [`Refused`]: no room for it.
    pub fn create_least(&self, first: &mut First) -> Result<ServerId, Refused> {
        let period = LEAST_PERIOD;
        let limits = Capacity {
            capacity: period,
            period,
        };
        self.create(
            first,
            |_| Some(Ok(())),
            |policy, now| policy.add_main(limits, now),
        )
    }

    /// Admits all VCPUs anew, as `admit` asks for them of an empty core on which decisions are counted as the description says; answers whether
    /// they fit. What is there stays as it is.
    ///
    /// # Errors
    /// [`Refused`]: the first that does not fit.
    pub fn would_admit(
        timing: &Timing,
        admit: impl FnOnce(&mut Admission<M>) -> Result<(), admission::Refused>,
    ) -> Result<(), Refused> {
        let mut all = Admission::new();
        let order = timing.schedule.map(|schedule| schedule.order);
        if order == Some(timing::Order::EarliestDeadline as u32) {
            all.by_deadline();
        }
        Self::counted(timing, 0, all.core_overhead()).map_err(Refused::Admission)?;
        admit(&mut all).map_err(Refused::Admission)
    }

    /// Creates an I/O VCPU of so many percent that may work for Main VCPUs with periods, in ticks,
    /// between the two, and on which such bottom halves run. Where priorities are given, `most` is that of the most
    /// important of them.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn create_io(
        &self,
        first: &mut First,
        percent: u32,
        periods: [Time; 2],
        most: Option<Priority>,
        tasks: impl IntoIterator<Item = Jobs>,
    ) -> Result<ServerId, Refused> {
        let (utilisation, share) = shares(percent)?;
        self.create(
            first,
            |_| match most {
                None => {
                    let admit = |admitted: &mut Admission<M>| admitted.io(share, periods, tasks);
                    self.admission.with(&self.threads, admit).ok()
                }
                Some(Priority(most)) => {
                    let io = Io {
                        utilisation: share,
                        longest: periods[1],
                        rank: most.into(),
                    };
                    let admit = |admitted: &mut Placement<M, S>| admitted.io(io, tasks);
                    self.placement.with(&self.threads, admit).ok()
                }
            },
            |policy, now| policy.add_io(utilisation, periods, now),
        )
    }

    /// Creates an I/O VCPU of so many percent that may work for any Main VCPU that there will be, where rates or deadlines order them; it is
    /// admitted for those of these periods, on which such bottom halves run, or for none yet. A caller that gives it other work tests anew whether all
    /// fit ([`Self::would_admit`]).
    ///
    /// # Errors
    /// [`Refused`].
    pub fn create_io_for_any(
        &self,
        first: &mut First,
        percent: u32,
        periods: Option<[Time; 2]>,
        tasks: impl IntoIterator<Item = Jobs>,
    ) -> Result<ServerId, Refused> {
        let (utilisation, share) = shares(percent)?;
        self.create(
            first,
            |_| match periods {
                None => Some(Ok(())),
                Some(periods) => {
                    let admit = |admission: &mut Admission<M>| admission.io(share, periods, tasks);
                    self.admission.with(&self.threads, admit).ok()
                }
            },
            |policy, now| policy.add_io(utilisation, [1, LEAST_PERIOD], now),
        )
    }

    /// Creates a VCPU that `admit` admits; `admit` returns `None` if it could not be asked.
    fn create(
        &self,
        first: &mut First,
        admit: impl FnOnce(ServerId) -> Option<Result<(), admission::Refused>>,
        add: impl FnOnce(&mut Vcpus<N, M, K, P, S>, Time) -> Result<ServerId, bulkhead_sched::Refusal>,
    ) -> Result<ServerId, Refused> {
        let id = self
            .threads
            .with_policy(|policy, _| policy.servers().next());
        let id = id.ok_or(Refused::Admission(admission::Refused::Full))?;
        // First the steps that can fail and leave nothing behind on which a thread runs.
        self.threads.enforce(first, id).map_err(Refused::Kernel)?;
        let answer = admit(id).ok_or(Refused::Kernel(Status::BadArgument))?;
        answer.map_err(Refused::Admission)?;
        let added = self.threads.with_policy(add);
        added.map_err(|_| Refused::Admission(admission::Refused::BadBudget))
    }
}
