//! A pipe that is solved is run

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::pipes::described::Described;

crate::rules::rule! {
    Warning, "pipe-idle",
    "all stages of a pipe are on the first core of one rtos partition, at endpoints that no VCPU scatters for",
    "Such a pipe is run by the component that schedules the partition. One that spans partitions, cores or Linux is solved and \
     admitted, and shown, and nobody starts it: a pipe starts as a whole or not at all.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    if draft.pipes.is_empty() {
        return;
    }
    let solved = Described::of(draft).and_then(|described| described.solve());
    for pipe in solved.and_then(Result::ok).unwrap_or_default() {
        if pipe.runs_in().is_none() {
            let message = format!("pipe `{}` is solved, and not run", pipe.name);
            report.add(
                RULE.at(&pipe.span, message)
                    .here("its stages are not on one core of one rtos partition, or a VCPU scatters for them")
                    .help("move its functions there"),
            );
        }
    }
}
