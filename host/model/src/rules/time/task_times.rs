//! 0 < WCET ≤ deadline ≤ period

use crate::diagnostic::Report;
use crate::draft::{Draft, TaskDraft};
use crate::quantity::LONGEST_NS;
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "task-times",
    "a task computes for more than 0, at most its deadline, which is at most its period, at most a day",
    "A job that needs longer than its deadline is always late, and one that may last beyond the next \
     release piles up.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for task in draft
        .partitions
        .iter()
        .flat_map(|partition| &partition.tasks)
    {
        if let Some(problem) = problem(task) {
            let message = format!("task `{}`: {problem}", task.name.value);
            report.add(
                RULE.at(&task.name.span, message)
                    .here("its times contradict each other")
                    .help("choose 0 < wcet ≤ deadline ≤ period ≤ 24 h"),
            );
        }
    }
}

/// Error in its times, if they are present.
pub(super) fn problem(task: &TaskDraft) -> Option<String> {
    let (wcet, period) = (task.wcet.value()?, task.period.value()?);
    let deadline = task.deadline.or(period)?;
    let more = |what: &str, a, than: &str, b| {
        Some(format!(
            "{what} of {} exceeds its {than} of {}",
            time_text(a),
            time_text(b)
        ))
    };
    match () {
        () if period == 0 => Some("its period is 0".into()),
        () if wcet == 0 => Some("its execution time is 0".into()),
        () if wcet > deadline => more("an execution time", wcet, "deadline", deadline),
        () if deadline > period => more("a deadline", deadline, "period", period),
        () if period > LONGEST_NS => Some("its period is more than a day".into()),
        () => None,
    }
}
