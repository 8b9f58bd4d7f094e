//! A pipe that is solved is run

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::pipes::Pipe;
use crate::pipes::solution::Solution;

crate::rules::declaration::rule! {
    Warning, "pipe-idle",
    "stages of a pipe are on cores of their rtos partition that its scheduler runs, or in Linux",
    "Stages are run by the component that schedules the first core, by the same program on other cores, and by Linux's \
     agent. A pipe with stages elsewhere is solved, admitted and shown, but never started: a pipe starts only as a \
     whole.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    for pipe in solution.pipes().iter().filter(|pipe| !pipe.is_run()) {
        let message = format!("pipe `{}` is solved, and not run", pipe.name);
        let (here, help) = reason(draft, pipe);
        report.add(RULE.at(&pipe.span, message).here(here).help(help));
    }
}

/// The core without a runtime, and the remedy.
fn reason(draft: &Draft, pipe: &Pipe) -> (String, String) {
    let Some(idle) = pipe.idle() else {
        return (String::new(), String::new());
    };
    let partition = &draft.partitions[idle.partition.0];
    let (function, core) = (&idle.function, idle.core);
    let help = format!("leave the `core` of `{function}` out");
    match partition.scheduler(Some(core as u64)) {
        None => (
            format!(
                "`{function}` is on core {core} of `{}`, and no component schedules its first core",
                partition.name.value
            ),
            help,
        ),
        Some(other) => (
            format!(
                "`{function}` is on core {core}, which `{}` schedules: another program than that of the first core",
                other.path(partition)
            ),
            format!("{help}, or leave that scheduler out: the tool adds one that runs stages"),
        ),
    }
}
