//! The requirement of each pipe can be met without breaking other guarantees

use crate::diagnostic::Report;
use crate::pipes::schedule::late;
use crate::pipes::solution::Solution;
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "pipe-unmet",
    "the requirement of each pipe is kept, beside all other pipes, VCPUs and tasks of the cores involved",
    "Budgets and periods are looked for by the heuristic of 003 §3.1.4 and by a search that starts there; what is \
     found is judged by the paper's conditions and by exact response times. What cannot be kept is said with the constraint that fails, \
     and the least delay, loss or throughput with which all that is described holds.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    match solution.outcome() {
        None => {}
        Some(Err(failed)) => {
            let remark = failed.remark.clone();
            report.add(remark.within(RULE.id, failed.flow, &solution.draft.sources));
        }
        Some(Ok(pipes)) => {
            for (task, bound) in late(solution.draft, pipes) {
                let message = format!("beside the pipes task `{}` would be late", task.name);
                let deadline = time_text(task.deadline_ns);
                let here = match bound {
                    Some(bound) => format!("{}, and its deadline is {deadline}", time_text(bound)),
                    None => format!("it does not respond within {deadline}"),
                };
                report.add(
                    RULE.at(&task.span, message)
                        .here(here)
                        .help("give the pipes longer delays, or their functions to another core"),
                );
            }
        }
    }
}
