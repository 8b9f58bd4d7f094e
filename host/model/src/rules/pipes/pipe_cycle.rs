//! A message passes a function once

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::pipes::Remark;
use crate::pipes::flow::{flows, parse};

crate::rules::declaration::rule! {
    Error, "pipe-cycle",
    "no stage of a pipe feeds a stage of the same function",
    "Such a function would feed itself, directly or through others: a cycle, in which delays have no bound. Stages side \
     by side may share a function, each with a thread and a budget of its own.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for flow in flows(draft) {
        let Ok(pipeline) = parse(&flow.value) else {
            continue;
        };
        if let Some(stage) = pipeline.fed_by_itself() {
            let message = format!("`{}` would feed itself", stage.name);
            let help =
                "a pipe goes one way; what comes back goes through a device, as another pipe";
            let remark = Remark::stage(stage.span, message, "the same function again", help);
            report.add(remark.within(RULE.id, flow, &draft.sources));
        }
    }
}
