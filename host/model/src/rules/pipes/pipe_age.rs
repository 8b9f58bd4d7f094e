//! Ages that raise a fallback

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::pipes::Pipe;
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Warning, "pipe-age",
    "the `max_age` of a pipe is longer than its messages are apart, and a stage has a `fallback` for it",
    "Who reads what another partition or core writes hears of the next message within the first stage's period and the bound. Where no stage \
     that reads so, or begins at the bridge, has a fallback, nothing is raised.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    if draft.pipes.iter().all(|pipe| pipe.max_age.is_absent()) {
        return;
    }
    for (pipe, written) in draft.solved().iter().zip(&draft.pipes) {
        let Some(age) = written.max_age.given() else {
            continue;
        };
        let found = |message: String, here: String, help: &str| {
            RULE.at(&age.span, message).here(here).help(help.to_owned())
        };
        let apart = apart(pipe);
        if !has_fallback(pipe) {
            report.add(found(
                format!(
                    "nothing is raised by the age of what `{}` carries",
                    pipe.name
                ),
                "no stage that reads another partition's or core's, or the bridge, has a fallback"
                    .into(),
                "give its function one, `fallback = \"neutral\"`, and describe that",
            ));
        } else if age.value <= apart {
            report.add(found(
                format!(
                    "`{}` can fall back although everybody is in time",
                    pipe.name
                ),
                format!("messages can be {} apart", time_text(apart)),
                "a longer `max_age`, or a shorter delay",
            ));
        }
    }
}

fn has_fallback(pipe: &Pipe) -> bool {
    let mut readers = pipe
        .crossings
        .iter()
        .map(|crossing| &pipe.places[crossing.to]);
    let mut heads = pipe.places.iter().filter(|place| place.import().is_some());
    readers.any(|place| place.fallback.is_some()) || heads.any(|place| place.fallback.is_some())
}

/// Longest time between two messages where each stage is in time, nanoseconds.
fn apart(pipe: &Pipe) -> u64 {
    let paths = pipe.solved.paths.iter();
    let each = paths.map(|path| path.bound_ns + pipe.solved.stages[path.head].period_ns);
    each.max().unwrap_or(0).next_multiple_of(1000)
}
