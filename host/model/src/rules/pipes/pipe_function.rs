//! The functions of a pipe exist

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::pipes::Remark;
use crate::pipes::flow::{flows, parse};
use crate::pipes::solution::Solution;
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "pipe-function",
    "every function that a pipe names is described",
    "Functions are described in their partitions, with what they take and what they need. A name that several partitions use is written with its partition's before it.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    match solution.catalogue() {
        Some(_) => super::report_misfits(solution, &RULE, report),
        None => report_unknown(solution.draft, report),
    }
}

/// Reports functions that no partition has, where something else about functions keeps flows from
/// being read whole.
fn report_unknown(draft: &Draft, report: &mut Report) {
    let functions = draft.partitions.iter().flat_map(|partition| {
        let names = partition.functions.iter().map(|one| &one.name.value);
        names.map(|name| (&partition.name.value, name))
    });
    let whole: Vec<_> = functions
        .clone()
        .map(|(owner, name)| format!("{owner}.{name}"))
        .collect();
    let short: Vec<_> = functions.map(|(_, name)| name.as_str()).collect();
    for flow in flows(draft) {
        let Ok(pipeline) = parse(&flow.value) else {
            continue;
        };
        let is_known = |name: &str| short.contains(&name) || whole.iter().any(|one| one == name);
        for stage in pipeline
            .stages()
            .iter()
            .filter(|stage| !is_known(stage.name))
        {
            let remark = Remark::stage(
                stage.span,
                format!("there is no function `{}`", stage.name),
                "not described",
                &advice(stage.name, "function", &short),
            );
            report.add(remark.within(RULE.id, flow, &draft.sources));
        }
    }
}
