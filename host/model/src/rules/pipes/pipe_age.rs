//! Ages that raise a fallback

use crate::diagnostic::Report;
use crate::pipes::Pipe;
use crate::pipes::solution::Solution;
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Warning, "pipe-age",
    "the `max_age` of a pipe is longer than its messages are apart",
    "A stage that reads from another partition or core receives the next message within the period of the first stage and the \
     bound. A shorter `max_age` raises the fallback although every stage is in time.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    if draft.pipes.iter().all(|pipe| pipe.max_age.is_absent()) {
        return;
    }
    for (pipe, written) in solution.pipes().iter().zip(&draft.pipes) {
        let distance = longest_distance(pipe);
        let age = written.max_age.given();
        if let Some(age) = age.filter(|age| age.value <= distance && has_fallback(pipe)) {
            let message = format!(
                "`{}` can fall back although every stage is in time",
                pipe.name
            );
            report.add(
                RULE.at(&age.span, message)
                    .here(format!("messages can be {} apart", time_text(distance)))
                    .help("a longer `max_age`, or a shorter delay"),
            );
        }
    }
}

/// Returns whether a stage that reads from another partition or core, or from the bridge, has a fallback.
pub(super) fn has_fallback(pipe: &Pipe) -> bool {
    let mut readers = pipe
        .crossings
        .iter()
        .map(|crossing| &pipe.places[crossing.to]);
    let mut heads = pipe.places.iter().filter(|place| place.import().is_some());
    readers.any(|place| place.fallback.is_some()) || heads.any(|place| place.fallback.is_some())
}

/// Longest time between two messages where each stage is in time, nanoseconds.
fn longest_distance(pipe: &Pipe) -> u64 {
    let paths = pipe.solved.paths.iter();
    let each = paths.map(|path| path.bound_ns + pipe.solved.stages[path.head].period_ns);
    each.max().unwrap_or(0).next_multiple_of(1000)
}
