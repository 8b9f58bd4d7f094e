//! Only what the architecture reports can be injected

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::status::{Action, Cause};

crate::rules::declaration::rule! {
    Error, "inject-impossible",
    "`\"inject\"` goes with violations, undefined instructions and system errors only",
    "Those are faults that the architecture can report to a guest. A guest that hangs, has panicked or \
     went off cannot be told.",
    check
}

const CAUSES: &[(Cause, &str)] = &[
    (Cause::Hang, "a hang"),
    (Cause::Panic, "a panic"),
    (Cause::Reset, "a reset"),
    (Cause::Off, "going off"),
];

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (cause, what) in CAUSES {
            let action = partition.actions()[*cause as usize].given();
            if let Some(action) = action.filter(|action| action.value == Action::Inject) {
                report.add(
                    RULE.at(
                        &action.span,
                        format!("{what} cannot be injected into the guest"),
                    )
                    .here("not for this cause")
                    .help("one of \"restart\", \"alternate\", \"failover\", \"halt\""),
                );
            }
        }
    }
}
