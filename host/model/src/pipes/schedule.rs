//! Stages of pipes in the schedule of a partition

use super::pipe::{Pipe, Place};
use super::solved::Stage;
use crate::draft::{Draft, PartitionDraft};
use crate::system::{PartitionId, Span};
use crate::timing::{NO_DEADLINE, Place as Rank, Task, Timing, Vcpu, VcpuKind};
use bulkhead_abi::repository::{PAUSE_NS, RECORDER, RECORDER_NS};

/// Tasks that are late beside the pipes, those of stages among them, and their bounds; but
/// for those that are late without pipes.
pub(crate) fn late(draft: &Draft, pipes: &[Pipe]) -> Vec<(Task, Option<u64>)> {
    let mut late = Vec::new();
    for (index, partition) in draft.partitions.iter().enumerate() {
        let Some(mut timing) = draft.timing(partition) else {
            continue;
        };
        let static_tasks = timing.tasks.len();
        let before = bounds(&timing);
        extend(&mut timing, pipes, (PartitionId(index), partition));
        let mut before = before.into_iter().map(|(_, bound)| bound);
        late.extend(bounds(&timing).into_iter().filter_map(|(index, beside)| {
            let task = &timing.tasks[index];
            let was_late = index < static_tasks && task.is_late(before.next().flatten());
            (!was_late && task.is_late(beside)).then(|| (task.clone(), beside))
        }));
    }
    late
}

/// Of tasks, in their order.
fn bounds(timing: &Timing) -> Vec<(usize, Option<u64>)> {
    let cores = timing.analyse().into_iter();
    let mut bounds: Vec<_> = cores.flat_map(|core| core.tasks).collect();
    bounds.sort_by_key(|(index, _)| *index);
    bounds
}

/// Adds the VCPUs and jobs of pipes to what a partition schedules, and those of the runtime.
pub(crate) fn extend(
    timing: &mut Timing,
    pipes: &[Pipe],
    (partition, draft): (PartitionId, &PartitionDraft),
) {
    for pipe in pipes {
        let stages = pipe.solved.stages.iter().zip(&pipe.places).enumerate();
        let here = stages.filter(|(_, (_, place))| place.partition == partition && !place.linux);
        for (index, (stage, place)) in here {
            add(timing, pipe, index, stage, place);
        }
    }
    let cores = draft.stage_cores();
    if cores.contains(&0) {
        record(timing, &draft.name.span);
    }
    let polling = cores.into_iter().filter(|_| draft.polls());
    timing.polls.extend(polling.map(|core| (core, PAUSE_NS)));
}

/// Adds the recorder of the first core. It has no deadline.
fn record(timing: &mut Timing, span: &Span) {
    let [capacity_ns, period_ns] = RECORDER_NS;
    let vcpu = timing.vcpus.len();
    timing.vcpus.push(Vcpu {
        name: RECORDER.to_owned(),
        span: span.clone(),
        kind: VcpuKind::Main {
            capacity_ns,
            period_ns,
        },
        place: Rank::default(),
        core: 0,
    });
    timing.tasks.push(Task {
        name: RECORDER.to_owned(),
        span: span.clone(),
        vcpu,
        cause: vcpu,
        after: None,
        wcet_ns: capacity_ns,
        period_ns: PAUSE_NS,
        deadline_ns: NO_DEADLINE,
        burst: 1,
        is_stage: true,
    });
}

fn add(timing: &mut Timing, pipe: &Pipe, index: usize, stage: &Stage, place: &Place) {
    let name = pipe.vcpu(index);
    let vcpu = timing.vcpus.len();
    timing.vcpus.push(Vcpu {
        name: name.clone(),
        span: pipe.span.clone(),
        kind: VcpuKind::Main {
            capacity_ns: stage.capacity_ns,
            period_ns: stage.period_ns,
        },
        place: Rank::default(),
        core: place.core,
    });
    timing.tasks.push(Task {
        wcet_ns: stage.capacity_ns / stage.messages,
        burst: stage.messages,
        ..whole(&name, pipe, vcpu, [stage.capacity_ns, stage.period_ns])
    });
    let named =
        |timing: &Timing, name: &str| timing.vcpus.iter().position(|vcpu| vcpu.name == name);
    for half in &place.halves {
        let scatter = half.scatter.as_deref().and_then(|name| named(timing, name));
        if let Some(io) = named(timing, &half.io) {
            timing.tasks.push(Task {
                cause: scatter.unwrap_or(vcpu),
                burst: stage.messages,
                is_stage: false,
                // Part of the bound of its pipe.
                deadline_ns: NO_DEADLINE,
                ..whole(&name, pipe, io, [half.wcet_ns, stage.period_ns])
            });
        }
        if let Some(scatter) = scatter {
            scatters(timing, pipe, scatter);
        }
    }
}

/// A scatterer or gatherer uses its budget for the messages of all its sharers.
fn scatters(timing: &mut Timing, pipe: &Pipe, vcpu: usize) {
    let has_task = timing.tasks.iter().any(|task| task.vcpu == vcpu);
    let budget = timing.vcpus.get(vcpu).and_then(Vcpu::budget);
    if let (false, Some(budget)) = (has_task, budget) {
        let name = timing.vcpus[vcpu].name.clone();
        let work = [budget.capacity, budget.period];
        timing.tasks.push(whole(&name, pipe, vcpu, work));
    }
}

/// A task that uses the whole budget of its VCPU in each period.
fn whole(name: &str, pipe: &Pipe, vcpu: usize, [wcet_ns, period_ns]: [u64; 2]) -> Task {
    Task {
        name: name.to_owned(),
        span: pipe.span.clone(),
        vcpu,
        cause: vcpu,
        after: None,
        wcet_ns,
        period_ns,
        deadline_ns: period_ns,
        burst: 1,
        is_stage: true,
    }
}
