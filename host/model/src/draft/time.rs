//! VCPUs, tasks and time tables as written

use super::{
    ComponentDraft, Draft, Field, PartitionDraft, RateDraft, ScheduleDraft, SlotDraft, TaskDraft,
    VcpuDraft,
};
use crate::board::Costs;
use crate::document::At;
use crate::kinds::KindDraft;
use crate::timing::{
    Order, Place, PriorityTask, PriorityThread, Schedule, Slot, Task, Timing, Vcpu, VcpuKind,
};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::overhead::Overhead;
use std::num::NonZero;

impl VcpuDraft {
    /// Its kind; nothing where that is broken.
    pub(crate) fn is(&self, kind: KindDraft) -> bool {
        self.kind.or(KindDraft::Main) == Some(kind)
    }

    fn resolve(&self) -> Option<Vcpu> {
        let kind = match self.kind.or(KindDraft::Main)? {
            KindDraft::Main => VcpuKind::Main {
                capacity_ns: self.capacity.value()?,
                period_ns: self.period.value()?,
            },
            KindDraft::Reservation => VcpuKind::Reservation {
                capacity_ns: self.capacity.value()?,
                period_ns: self.period.value()?,
            },
            KindDraft::Io => VcpuKind::Io {
                percent: u32::try_from(self.utilisation.value()?).ok()?,
            },
        };
        Some(Vcpu {
            name: self.name.value.clone(),
            span: self.name.span.clone(),
            kind,
            place: Place {
                partition: self.time_partition.or(0)? as u8,
                priority: self.priority.or(0)? as u8,
            },
            core: self.core.or(0)? as usize,
        })
    }
}

impl ScheduleDraft {
    /// Returns whether priorities are given; nothing where that cannot be read.
    pub(crate) fn by_priority(&self) -> Option<bool> {
        Some(self.order.or(Order::default())? == Order::FixedPriority)
    }

    /// Priorities that are bands.
    pub(crate) fn bands(&self) -> impl Iterator<Item = &At<u64>> {
        self.bands
            .given()
            .into_iter()
            .flat_map(|bands| &bands.value)
    }

    fn resolve(&self, slots: &[SlotDraft]) -> Option<Schedule> {
        let slots: Option<Vec<_>> = slots.iter().map(SlotDraft::resolve).collect();
        let mut slots = slots?;
        slots.sort_by_key(|slot| (slot.start_ns, slot.core));
        Some(Schedule {
            order: self.order.or(Order::default())?,
            background: self.background.or(false)?,
            quantum_ns: self.quantum.given().map(|quantum| quantum.value),
            frame_ns: self.frame.or(0)?,
            bands: self.bands().map(|band| band.value as u8).collect(),
            slots,
        })
    }
}

impl SlotDraft {
    fn resolve(&self) -> Option<Slot> {
        Some(Slot {
            name: self.name.value.clone(),
            core: self.core.or(0)? as usize,
            partition: self.time_partition.value()? as u8,
            start_ns: self.start.value()?,
            length_ns: self.length.value()?,
        })
    }
}

impl TaskDraft {
    /// Returns whether it runs on a VCPU, not at the priority of its component.
    pub(crate) fn has_vcpu(&self) -> bool {
        !self.vcpu.is_absent()
    }

    /// Returns it as a task at a priority.
    fn resolve_at_priority(&self) -> Option<PriorityTask> {
        let period_ns = self.period.value()?;
        Some(PriorityTask {
            name: self.name.value.clone(),
            span: self.name.span.clone(),
            wcet_ns: self.wcet.value()?,
            period_ns,
            deadline_ns: self.deadline.or(period_ns)?,
        })
    }

    fn resolve(&self, vcpus: &[VcpuDraft], tasks: &[&Self]) -> Option<Task> {
        let named = |name: &str| vcpus.iter().position(|vcpu| vcpu.name.value == name);
        let vcpu = named(&self.vcpu.value()?)?;
        let period_ns = self.period.value()?;
        Some(Task {
            name: self.name.value.clone(),
            span: self.name.span.clone(),
            vcpu,
            cause: match self.cause.given() {
                Some(name) => named(&name.value)?,
                None => vcpu,
            },
            after: match self.after.given() {
                Some(name) => Some(tasks.iter().position(|one| one.name.value == name.value)?),
                None => None,
            },
            wcet_ns: self.wcet.value()?,
            period_ns,
            deadline_ns: self.deadline.or(period_ns)?,
            burst: 1,
            is_stage: false,
        })
    }
}

impl PartitionDraft {
    /// The VCPU of that name.
    pub(crate) fn vcpu(&self, name: &str) -> Option<&VcpuDraft> {
        self.vcpus.iter().find(|vcpu| vcpu.name.value == name)
    }

    /// The task of that name.
    pub(crate) fn task(&self, name: &str) -> Option<&TaskDraft> {
        self.tasks.iter().find(|task| task.name.value == name)
    }

    /// Tasks on VCPUs, by their numbers.
    pub(crate) fn vcpu_tasks(&self) -> impl Iterator<Item = &TaskDraft> {
        self.tasks.iter().filter(|task| task.has_vcpu())
    }

    /// Tasks of a component without a VCPU: its first thread executes them.
    pub(crate) fn priority_tasks(
        &self,
        component: &ComponentDraft,
    ) -> impl Iterator<Item = &TaskDraft> {
        let tasks = component.task_names().filter_map(|name| self.task(name));
        tasks.filter(|task| !task.has_vcpu())
    }

    /// Number of threads of a component.
    pub(crate) fn thread_count(&self, component: &ComponentDraft) -> usize {
        let at_priority = match component.priority.is_absent() {
            true => 0,
            // The thread with the priority executes all tasks without a VCPU.
            false => 1 - (self.priority_tasks(component).count() as isize),
        };
        component
            .task_names()
            .count()
            .saturating_add_signed(at_priority)
    }

    /// The thread of a component at its priority, if it has one; nothing where that could not be read.
    fn priority_thread(&self, component: &ComponentDraft) -> Option<Option<PriorityThread>> {
        if component.priority.is_absent() {
            return Some(None);
        }
        let budget = component.budget.value().zip(component.period.value());
        let task = self.priority_tasks(component).next();
        Some(Some(PriorityThread {
            component: component.name.value.clone(),
            core: component.core()? as usize,
            priority: component.priority.value()? as u8,
            budget: budget.and_then(|(capacity, period)| Reservation::new(capacity, period)),
            task: match task {
                Some(task) => Some(task.resolve_at_priority()?),
                None => None,
            },
        }))
    }

    /// Its VCPUs, tasks and threads, where all of them could be read.
    fn timing(&self) -> Option<Timing> {
        let vcpus: Option<_> = self.vcpus.iter().map(VcpuDraft::resolve).collect();
        let on_vcpus: Vec<_> = self.vcpu_tasks().collect();
        let tasks = on_vcpus
            .iter()
            .map(|task| task.resolve(&self.vcpus, &on_vcpus));
        let threads = self.components.iter().map(|one| self.priority_thread(one));
        let threads: Option<Vec<_>> = threads.collect();
        Some(Timing {
            schedule: self.schedule.resolve(&self.slots)?,
            vcpus: vcpus?,
            tasks: tasks.collect::<Option<_>>()?,
            threads: threads?.into_iter().flatten().collect(),
            ..Timing::default()
        })
    }
}

impl Draft {
    /// The VCPUs and tasks of a partition, where all of them could be read, on this board beside
    /// the others.
    pub(crate) fn timing(&self, partition: &PartitionDraft) -> Option<Timing> {
        let timing = partition.timing()?;
        let board = self.board.as_ref();
        let counter_hz = board.and_then(|board| NonZero::new(board.timer.frequency));
        Some(Timing {
            counter_hz: counter_hz.unwrap_or(timing.counter_hz),
            overhead: self.overhead(),
            switch_ns: self.cost_ns(|costs| costs.switch) + self.turns_ns(),
            doorbells: self.doorbells(&partition.name.value).collect(),
            ..timing
        })
    }

    fn overhead(&self) -> Overhead {
        Overhead {
            decision: self.cost_ns(|costs| costs.decision) + self.turns_ns(),
            interrupt: self.cost_ns(|costs| costs.interrupt),
            job: self.cost_ns(|costs| costs.job),
            stage: self.cost_ns(|costs| costs.stage),
            blocking: self.cost_ns(|costs| costs.blocking),
        }
    }

    /// One of the board's costs. Where the board is emulated, cores take turns: an instruction
    /// takes as many times as long.
    fn cost_ns(&self, instructions: impl Fn(&Costs) -> u64) -> u64 {
        let costs = self.costs();
        costs.map_or(0, |costs| {
            instructions(costs) * costs.instruction_ns * self.turns()
        })
    }

    /// Longest time for which a thread that starts or resumes waits for the turns of the other emulated cores.
    fn turns_ns(&self) -> u64 {
        let costs = self.costs();
        costs.map_or(0, |costs| costs.turn_ns * (self.turns() - 1))
    }

    /// Cores that take turns.
    fn turns(&self) -> u64 {
        (self.cores_counted() as u64).max(1)
    }

    fn costs(&self) -> Option<&Costs> {
        self.board.as_ref()?.costs.as_ref()
    }

    /// Limits of the doorbells that ring in the partition: so many in such a time.
    fn doorbells(&self, partition: &str) -> impl Iterator<Item = (u64, u64)> {
        self.channels.iter().flat_map(move |channel| {
            let to = channel.to.given().map_or(&[][..], |to| &to.value);
            let reads = to.iter().any(|name| name.value == partition);
            let writes = channel
                .from
                .given()
                .is_some_and(|from| from.value == partition);
            let rate = |rate: &Field<RateDraft>| {
                let rate = &rate.given()?.value;
                Some((rate.limit.value()?, rate.per.value()?))
            };
            let inwards = reads.then(|| rate(&channel.doorbell));
            let back = writes.then(|| rate(&channel.reply_doorbell));
            inwards.into_iter().chain(back).flatten()
        })
    }
}
