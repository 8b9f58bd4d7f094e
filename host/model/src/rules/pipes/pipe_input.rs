//! Inputs and outputs are connected

use crate::diagnostic::Report;
use crate::pipes::Remark;
use crate::pipes::catalogue::Catalogue;
use crate::pipes::flow::{flows, parse};
use crate::pipes::solution::Solution;
use bulkhead_abi::pipe::EndpointKind;
use bulkhead_tpipe::language::SOURCE;

crate::rules::declaration::rule! {
    Error, "pipe-input",
    "each stage of a pipe has something to read, and no more inputs and outputs than its function handles",
    "A pipeline begins and ends at devices: a function that `reads` something is a first stage, and one that `writes` something a last one. \
     A function's WCET covers the inputs and outputs that it declares, and no more.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    super::report_misfits(solution, &RULE, report);
    let draft = solution.draft;
    let Some(catalogue) = solution.catalogue() else {
        return;
    };
    for flow in flows(draft) {
        // Functions that do not fit otherwise are reported already.
        if catalogue.misfit(&flow.value).is_none() {
            for remark in inside(catalogue, &flow.value) {
                report.add(remark.within(RULE.id, flow, &draft.sources));
            }
        }
    }
}

/// Stages in the middle of a flow with functions that only its ends can have.
fn inside(catalogue: &Catalogue<'_>, flow: &str) -> Vec<Remark> {
    let Ok(pipeline) = parse(flow) else {
        return Vec::new();
    };
    let stages = pipeline.stages().iter();
    let found = stages.filter_map(|stage| {
        let place = catalogue.place(stage.name)?;
        let [_, kind] = place.endpoints();
        let sink = place.sink.as_deref();
        let sink = sink.filter(|_| kind != EndpointKind::Null);
        let is_tail = stage.to == pipeline.sink();
        let (does, what, place) = match (place.source.as_deref(), sink) {
            (Some(source), _) if stage.from != SOURCE => ("reads", source, "first"),
            (_, Some(sink)) if !is_tail => ("writes", sink, "last"),
            _ => return None,
        };
        Some(Remark::stage(
            stage.span,
            format!("`{}` does not fit here", stage.name),
            &format!("this function {does} `{what}` and can only be a {place} stage"),
            "describe another function without it, with the same code under another name in the program",
        ))
    });
    found.collect()
}
