//! Every task meets its deadline

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::time_text;
use crate::timing::Task;

crate::rules::declaration::rule! {
    Error, "task-late",
    "every task on a VCPU meets its deadline",
    "The bound on its response: that of its VCPU where one budget is enough for all that can wait there, \
     else as many periods as budgets are needed, and the response of the last. `check --explain` shows the computation.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, timing) in super::sound(draft) {
        for core in timing.analyse().into_iter().filter(super::within_core) {
            let late = |&&(index, bound): &&(usize, Option<u64>)| {
                bound.is_none_or(|bound| bound > timing.tasks[index].deadline_ns)
            };
            if let Some(&(index, bound)) = core.tasks.iter().find(late) {
                let task = &timing.tasks[index];
                report.add(
                    RULE.at(&task.span, message(task, bound))
                        .here("the first that can be late")
                        .help(format!(
                            "give VCPU `{}` a larger C or a shorter T, or the task a VCPU of its own",
                            timing.vcpus[task.vcpu].name
                        )),
                );
            }
        }
    }
}

fn message(task: &Task, bound: Option<u64>) -> String {
    let (name, deadline) = (&task.name, time_text(task.deadline_ns));
    match bound {
        Some(bound) => format!(
            "task `{name}` can respond {} late: within {}, and its deadline is {deadline}",
            time_text(bound - task.deadline_ns),
            time_text(bound)
        ),
        None => {
            format!("task `{name}` has no bound within its period, and its deadline is {deadline}")
        }
    }
}
