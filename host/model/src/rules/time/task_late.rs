//! Every task meets its deadline

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::{time_text, time_text_down};
use crate::timing::{PriorityTask, PriorityThread, Timing, Unbounded};

crate::rules::declaration::rule! {
    Error, "task-late",
    "every task meets its deadline",
    "The bound on its response: that of its VCPU where one budget is enough for all that can wait there, \
     else as many periods as budgets are needed, and the response of the last. `check --explain` shows the computation. That of a task \
     at a priority counts all VCPUs of its core and all threads that are as important.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, timing) in super::sound(draft) {
        for core in timing.analyse().into_iter().filter(super::within_core) {
            let late =
                |&&(index, bound): &&(usize, Option<u64>)| timing.tasks[index].is_late(bound);
            if let Some(&(index, bound)) = core.tasks.iter().find(late) {
                let task = &timing.tasks[index];
                let found = RULE
                    .at(&task.span, message(&task.name, task.deadline_ns, bound))
                    .here("the first that can be late");
                report.add(found.help(help(&timing, index)));
            }
        }
        for (thread, bound) in timing.threads.iter().zip(timing.priority_bounds()) {
            if let Some((task, message)) = late_at_priority(thread, bound) {
                let found = RULE.at(&task.span, message).here("can be late");
                report.add(found.help(format!(
                    "give `{}` a smaller `priority`, or threads that are as important longer periods",
                    thread.component
                )));
            }
        }
    }
}

/// Returns the task of a thread at a priority that can be late, with the message.
fn late_at_priority(
    thread: &PriorityThread,
    bound: Result<u64, Unbounded>,
) -> Option<(&PriorityTask, String)> {
    let task = thread.task.as_ref()?;
    let bound = match bound {
        // `check` names the thread that is as important, and a run judges the deadline.
        Err(Unbounded::Beside(_) | Unbounded::NoTask) => return None,
        Err(Unbounded::NotWithinPeriod) => None,
        Ok(bound) if bound <= task.deadline_ns => return None,
        Ok(bound) => Some(bound),
    };
    Some((task, message(&task.name, task.deadline_ns, bound)))
}

/// Returns which times fit, if one budget would be enough but for the time that the runtime takes of it.
fn help(timing: &Timing, index: usize) -> String {
    let task = &timing.tasks[index];
    let vcpu = &timing.vcpus[task.vcpu];
    let others = timing.tasks.iter().filter(|other| other.vcpu == task.vcpu);
    let work: u64 = others.clone().map(|other| other.wcet_ns).sum();
    let taken = timing.overhead.job.saturating_mul(others.count() as u64);
    let capacity = vcpu.budget().map_or(0, |budget| budget.capacity);
    if !(work <= capacity && work + taken > capacity) {
        return format!(
            "give VCPU `{}` a larger C or a shorter T, or the task a VCPU of its own",
            vcpu.name
        );
    }
    let fits = task.wcet_ns.saturating_sub(work + taken - capacity);
    let smaller = match fits {
        0 => String::new(),
        fits => format!(", or the task a `wcet` of at most {}", time_text_down(fits)),
    };
    format!(
        "the runtime takes {} of each job (`[costs]` of the board): give VCPU `{}` a C of at least {}{smaller}",
        time_text(timing.overhead.job),
        vcpu.name,
        time_text(work + taken)
    )
}

fn message(name: &str, deadline_ns: u64, bound: Option<u64>) -> String {
    let deadline = time_text(deadline_ns);
    match bound {
        Some(bound) => format!(
            "task `{name}` can respond {} late: within {}, and its deadline is {deadline}",
            time_text(bound - deadline_ns),
            time_text(bound)
        ),
        None => {
            format!("task `{name}` has no bound within its period, and its deadline is {deadline}")
        }
    }
}
