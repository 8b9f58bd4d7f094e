//! A `max_age` raises a fallback

use crate::diagnostic::Report;
use crate::pipes::solution::Solution;
use crate::rules::pipes::pipe_age::has_fallback;

crate::rules::declaration::rule! {
    Error, "pipe-fallback",
    "a stage of a pipe with `max_age` has a `fallback`",
    "The age of messages is looked at by stages that read from another partition or core, or begin at the bridge. Where none of them has \
     a fallback, `max_age` has no effect.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    if draft.pipes.iter().all(|pipe| pipe.max_age.is_absent()) {
        return;
    }
    for (pipe, written) in solution.pipes().iter().zip(&draft.pipes) {
        if let Some(age) = written.max_age.given().filter(|_| !has_fallback(pipe)) {
            let message = format!("the `max_age` of `{}` has no effect", pipe.name);
            report.add(
                RULE.at(&age.span, message)
                    .here("no stage that reads from another partition or core, or from the bridge, has a fallback")
                    .help("give the function of such a stage one, `fallback = \"neutral\"`, and describe that"),
            );
        }
    }
}
