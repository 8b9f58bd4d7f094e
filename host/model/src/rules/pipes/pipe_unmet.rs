//! What a pipe requires can be kept, and everything else still is

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::pipes::Pipe;
use crate::pipes::described::Described;
use crate::pipes::scheduled::extend;
use crate::quantity::time_text;
use crate::system::PartitionId;

crate::rules::rule! {
    Error, "pipe-unmet",
    "the requirement of each pipe is kept, beside all other pipes, VCPUs and tasks of the cores involved",
    "Budgets and periods are looked for by the heuristic of 003 §3.1.4 and by a search that starts there; what is \
     found is judged by the paper's conditions and by exact response times. What cannot be kept is said with the constraint that fails, \
     and the least delay, loss or throughput that can be.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    if draft.pipes.is_empty() {
        return;
    }
    let solved = Described::of(draft).and_then(|described| described.solve());
    match solved {
        None => {}
        Some(Err(failed)) => {
            report.add(failed.said.within(&RULE, failed.flow, &draft.sources));
        }
        Some(Ok(pipes)) => {
            for index in 0..draft.partitions.len() {
                late(draft, PartitionId(index), &pipes, report);
            }
        }
    }
}

/// A task that was in time without the pipes.
fn late(draft: &Draft, id: PartitionId, pipes: &[Pipe], report: &mut Report) {
    let Some(mut timing) = draft.timing(&draft.partitions[id.0]) else {
        return;
    };
    let described = timing.tasks.len();
    let bounds = |timing: &crate::timing::Timing| {
        let cores = timing.analyse().into_iter();
        let mut bounds: Vec<_> = cores.flat_map(|core| core.tasks).collect();
        bounds.sort_by_key(|(index, _)| *index);
        bounds
    };
    let before = bounds(&timing);
    extend(&mut timing, pipes, id);
    for ((index, alone), (_, beside)) in before.into_iter().zip(bounds(&timing)).take(described) {
        let task = &timing.tasks[index];
        let fits = |bound: Option<u64>| bound.is_some_and(|bound| bound <= task.deadline_ns);
        if fits(alone) && !fits(beside) {
            let bound = beside.map_or_else(|| "no bound".into(), time_text);
            let message = format!("beside the pipes task `{}` would be late", task.name);
            report.add(
                RULE.at(&task.span, message)
                    .here(format!(
                        "{bound}, and its deadline is {}",
                        time_text(task.deadline_ns)
                    ))
                    .help("give the pipes longer delays, or their functions to another core"),
            );
        }
    }
}
