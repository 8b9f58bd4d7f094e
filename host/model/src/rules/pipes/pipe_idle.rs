//! A pipe that is solved is run

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::pipes::described::Described;

crate::rules::rule! {
    Warning, "pipe-idle",
    "stages of a pipe are on the first core of their rtos partition, or in Linux",
    "Such stages are run by the component that schedules the partition, and by Linux's agent. A pipe with others is solved and \
     admitted, and shown, and nobody starts it: a pipe starts as a whole or not at all.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    if draft.pipes.is_empty() {
        return;
    }
    let solved = Described::of(draft).and_then(|described| described.solve());
    for pipe in solved.and_then(Result::ok).unwrap_or_default() {
        if !pipe.is_run() {
            let message = format!("pipe `{}` is solved, and not run", pipe.name);
            report.add(
                RULE.at(&pipe.span, message)
                    .here("a stage is on another core of an rtos partition than the first")
                    .help("leave the `core` of its function out"),
            );
        }
    }
}
