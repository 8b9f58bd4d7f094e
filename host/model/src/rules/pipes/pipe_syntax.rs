//! A flow is one of the pipeline language

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::pipes::flow::{flows, parse};
use crate::pipes::syntax_error;

crate::rules::declaration::rule! {
    Error, "pipe-syntax",
    "the flow of a pipe is a text of the pipeline language",
    "`[*] (A | B), C | D | E, F [ throughput or loss, delay ]`: the comma binds tighter than the bar, so that the \
     outputs of B and C feed D. `*` makes all buffers lossless; otherwise they are four-slot.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for flow in flows(draft) {
        if let Err(error) = parse(&flow.value) {
            let remark = syntax_error(&flow.value, &error);
            report.add(remark.within(RULE.id, flow, &draft.sources));
        }
    }
}
