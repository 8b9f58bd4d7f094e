//! Only reservations are in bands

use crate::diagnostic::Report;
use crate::draft::{Draft, KindDraft, PartitionDraft, VcpuDraft};

crate::rules::declaration::rule! {
    Error, "band-of-reservation",
    "a reservation has the priority of an EDF band of time partition 0, and a main VCPU of that partition has not",
    "Deadlines order the reservations of a band, and every budget is hard. Therefore the analysis of less important \
     VCPUs knows the longest time that the band takes. A VCPU without a deadline would have no place in it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for vcpu in &partition.vcpus {
            if let Some(problem) = problem(partition, vcpu) {
                let span = vcpu.priority.span().unwrap_or(&vcpu.name.span);
                let mut found = RULE
                    .at(span, format!("VCPU `{}` {problem}", vcpu.name.value))
                    .here("here");
                if let Some(bands) = partition.schedule.bands.given() {
                    found = found.label(&bands.span, "the bands");
                }
                report.add(found.help(
                    "`bands` in `schedule` says which priorities are bands; `kind = \"reservation\"` stands there",
                ));
            }
        }
    }
}

/// Error in the place of a VCPU.
pub(super) fn problem(partition: &PartitionDraft, vcpu: &VcpuDraft) -> Option<String> {
    if !partition.schedule.by_priority()? {
        return None;
    }
    let (priority, number) = (vcpu.priority.value()?, vcpu.time_partition.or(0)?);
    let band = partition
        .schedule
        .bands()
        .any(|band| band.value == priority);
    match vcpu.kind.or(KindDraft::Main)? {
        KindDraft::Reservation if number != 0 => Some(format!(
            "is a reservation in time partition {number}, and bands are of time partition 0"
        )),
        KindDraft::Reservation if !band => Some(format!(
            "is a reservation of priority {priority}, which is no band"
        )),
        KindDraft::Main if band && number == 0 => Some(format!(
            "is no reservation, and priority {priority} is a band"
        )),
        _ => None,
    }
}
