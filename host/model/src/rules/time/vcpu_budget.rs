//! 0 < C ≤ T

use crate::diagnostic::Report;
use crate::draft::{Draft, VcpuDraft};
use crate::quantity::LONGEST_NS;
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "vcpu-budget",
    "the budget of a main VCPU or a reservation is more than 0 and at most its period, and the period at most a day",
    "A VCPU gives its tasks C in every T. It cannot give more time than passes, and one that gives \
     none runs nothing.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for vcpu in draft
        .partitions
        .iter()
        .flat_map(|partition| &partition.vcpus)
    {
        let (Some(problem), Some(capacity), Some(period)) =
            (problem(vcpu), vcpu.capacity.given(), vcpu.period.given())
        else {
            continue;
        };
        let message = format!("VCPU `{}`: {problem}", vcpu.name.value);
        report.add(
            RULE.at(&capacity.span, message)
                .here("this budget")
                .label(&period.span, "in this period")
                .help("choose 0 < C ≤ T, T at most 24 h"),
        );
    }
}

/// Error in C and T, if both are present.
pub(super) fn problem(vcpu: &VcpuDraft) -> Option<String> {
    let (capacity, period) = (vcpu.capacity.value()?, vcpu.period.value()?);
    if period == 0 {
        Some("its period is 0".into())
    } else if capacity == 0 {
        Some("its budget is 0".into())
    } else if capacity > period {
        let excess = time_text(capacity - period);
        let (capacity, period) = (time_text(capacity), time_text(period));
        Some(format!(
            "a budget of {capacity} does not fit into a period of {period}: {excess} too much"
        ))
    } else if period > LONGEST_NS {
        Some("its period is more than a day".into())
    } else {
        None
    }
}
