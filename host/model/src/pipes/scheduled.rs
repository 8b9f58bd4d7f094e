//! What pipes add to what a partition schedules

use super::pipe::{Pipe, Place};
use super::solved::Stage;
use crate::draft::Draft;
use crate::system::PartitionId;
use crate::timing::{Place as Rank, Task, Timing, Vcpu, VcpuKind};

/// Tasks that are in time without the pipes and late beside them, and their bounds there.
pub(crate) fn late(draft: &Draft, pipes: &[Pipe]) -> Vec<(Task, Option<u64>)> {
    let mut late = Vec::new();
    for (index, partition) in draft.partitions.iter().enumerate() {
        let Some(mut timing) = draft.timing(partition) else {
            continue;
        };
        let described = timing.tasks.len();
        let before = bounds(&timing);
        extend(&mut timing, pipes, PartitionId(index));
        let both = before.into_iter().zip(bounds(&timing)).take(described);
        late.extend(both.filter_map(|((index, alone), (_, beside))| {
            let task = &timing.tasks[index];
            let fits = |bound: Option<u64>| bound.is_some_and(|bound| bound <= task.deadline_ns);
            (fits(alone) && !fits(beside)).then(|| (task.clone(), beside))
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

/// Adds the VCPUs and jobs of pipes to what a partition schedules.
pub(crate) fn extend(timing: &mut Timing, pipes: &[Pipe], partition: PartitionId) {
    for pipe in pipes {
        let stages = pipe.solved.stages.iter().zip(&pipe.places).enumerate();
        let here = stages.filter(|(_, (_, place))| place.partition == partition && !place.linux);
        for (index, (stage, place)) in here {
            add(timing, pipe, index, stage, place);
        }
    }
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
    timing.tasks.push(task(
        &name,
        pipe,
        [vcpu; 2],
        [stage.capacity_ns, stage.period_ns],
    ));
    let named =
        |timing: &Timing, name: &str| timing.vcpus.iter().position(|vcpu| vcpu.name == name);
    for half in &place.halves {
        let scatter = half.scatter.as_deref().and_then(|name| named(timing, name));
        if let Some(io) = named(timing, &half.io) {
            let work = [half.wcet_ns, stage.period_ns];
            timing
                .tasks
                .push(task(&name, pipe, [io, scatter.unwrap_or(vcpu)], work));
        }
        if let Some(scatter) = scatter {
            scatters(timing, pipe, scatter);
        }
    }
}

/// Who scatters or gathers uses its budget for messages, whosever they are.
fn scatters(timing: &mut Timing, pipe: &Pipe, vcpu: usize) {
    let known = timing.tasks.iter().any(|task| task.vcpu == vcpu);
    let budget = timing.vcpus.get(vcpu).and_then(Vcpu::budget);
    if let (false, Some(budget)) = (known, budget) {
        let name = timing.vcpus[vcpu].name.clone();
        let work = [budget.capacity, budget.period];
        timing.tasks.push(task(&name, pipe, [vcpu; 2], work));
    }
}

fn task(
    name: &str,
    pipe: &Pipe,
    [vcpu, cause]: [usize; 2],
    [wcet_ns, period_ns]: [u64; 2],
) -> Task {
    Task {
        name: name.to_owned(),
        span: pipe.span.clone(),
        vcpu,
        cause,
        after: None,
        wcet_ns,
        period_ns,
        deadline_ns: period_ns,
    }
}
