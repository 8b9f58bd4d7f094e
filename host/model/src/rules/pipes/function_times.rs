//! WCET, period and core of a pipe function make sense

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::quantity::LONGEST_NS;
use crate::source::Span;

crate::rules::declaration::rule! {
    Error, "function-times",
    "WCET and period of a pipe function are more than 0 and at most a day, and its core is one of its partition",
    "A budget is a multiple of the WCET: one of nothing would let no job end.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (span, message) in problems(partition) {
            report
                .add(RULE.at(&span, message).help(
                    "0 < WCET, period ≤ 24 h; cores are counted from 0 within the partition",
                ));
        }
    }
}

/// Place and problem.
pub(super) fn problems(partition: &PartitionDraft) -> impl Iterator<Item = (Span, String)> {
    let cores = partition.core_count().max(1) as u64;
    partition.functions.iter().flat_map(move |function| {
        let name = &function.name.value;
        let times = [("WCET", &function.wcet), ("period", &function.period)];
        let wrong = times.into_iter().filter_map(move |(what, field)| {
            let given = field.given()?;
            let fits = (1..=LONGEST_NS).contains(&given.value);
            (!fits).then(|| {
                let found = crate::quantity::time_text(given.value);
                (
                    given.span.clone(),
                    format!("a {what} of `{name}` of {found} cannot be"),
                )
            })
        });
        let core = function.core.given().filter(|core| core.value >= cores);
        let core = core.map(|core| {
            let message = format!("`{name}` is on core {}, of {cores}", core.value);
            (core.span.clone(), message)
        });
        wrong.chain(core)
    })
}
