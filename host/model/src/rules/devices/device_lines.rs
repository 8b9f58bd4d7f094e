//! Functions of two partitions do not share an interrupt line

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::guest::MAX_FUNCTIONS;

crate::rules::declaration::rule! {
    Error, "device-lines",
    "no more partitions own PCIe functions than the host bridge has interrupt lines, and none too many",
    "A line belongs to one partition: a function that keeps it raised would starve the other owner's. \
     Functions of one partition share its lines where there are not enough.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(pcie) = draft.board.as_ref().and_then(|board| board.pcie.as_ref()) else {
        return;
    };
    let lines = pcie.lines.len();
    let owners = draft
        .partitions
        .iter()
        .filter(|partition| draft.functions(partition).next().is_some());
    for (number, partition) in owners.enumerate() {
        let name = &partition.name.value;
        if let Some((first, _)) = draft
            .functions(partition)
            .next()
            .filter(|_| number >= lines)
        {
            let message = format!("no interrupt line is left for `{}`", first.value);
            report.add(
                RULE.at(&first.span, message)
                    .here(format!("{lines} partitions before `{name}` own functions"))
                    .help("give its functions to one of them, and serve it over a channel"),
            );
        }
        if let Some((first, _)) = draft.functions(partition).nth(MAX_FUNCTIONS) {
            let message = format!("`{name}` owns more than {MAX_FUNCTIONS} functions");
            report.add(
                RULE.at(&first.span, message)
                    .here("one too many")
                    .help("give it to another partition"),
            );
        }
    }
}
