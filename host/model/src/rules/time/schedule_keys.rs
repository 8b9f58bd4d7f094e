//! Keys that belong to an order of VCPUs

use crate::diagnostic::Report;
use crate::draft::{Draft, KindDraft, PartitionDraft, VcpuDraft};
use crate::source::Span;
use crate::timing::Order;

crate::rules::declaration::rule! {
    Error, "schedule-keys",
    "under `order = \"fixed-priority\"` main VCPUs and reservations have a priority; bands, reservations, slots, turns, \
     priorities and time partitions are of that order alone",
    "By rate and by deadline the order of VCPUs follows from their budgets: a priority beside it would be \
     a second truth.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(by_priority) = partition.schedule.by_priority() else {
            continue;
        };
        if by_priority {
            partition
                .vcpus
                .iter()
                .for_each(|vcpu| complete(vcpu, report));
        } else {
            for (span, what) in of_priorities(partition) {
                let order = match partition.schedule.order.value() {
                    Some(Order::EarliestDeadline) => "earliest-deadline",
                    _ => "rate-monotonic",
                };
                report.add(
                    RULE.at(span, format!("{what}, and the order is `{order}`"))
                        .here("would order nothing")
                        .help("`order = \"fixed-priority\"` in `[partition.NAME.schedule]`, or leave it out"),
                );
            }
        }
    }
}

/// A priority where one is needed, none where one is inherited.
fn complete(vcpu: &VcpuDraft, report: &mut Report) {
    let name = &vcpu.name.value;
    let io = vcpu.is(KindDraft::Io);
    if vcpu.priority.is_absent() && !io {
        report.add(
            RULE.at(&vcpu.name.span, format!("VCPU `{name}` has no `priority`"))
                .here("incomplete")
                .help("`priority = 4`, 0 the most important, as `order = \"fixed-priority\"` says"),
        );
    }
    for field in [&vcpu.priority, &vcpu.time_partition] {
        if let Some(given) = field.given().filter(|_| io) {
            report.add(
                RULE.at(
                    &given.span,
                    format!("VCPU `{name}` runs at the importance of the VCPU that waits for it"),
                )
                .here("of main VCPUs")
                .help("an I/O VCPU has neither a priority nor a time partition of its own"),
            );
        }
    }
}

/// Keys that have a meaning only with priorities.
fn of_priorities(partition: &PartitionDraft) -> Vec<(&Span, String)> {
    let schedule = &partition.schedule;
    let mut found = Vec::new();
    let keys = [
        (schedule.bands.span(), "there are EDF bands"),
        (schedule.quantum.span(), "there are turns"),
        (schedule.frame.span(), "there is a frame"),
    ];
    found.extend(
        keys.into_iter()
            .filter_map(|(span, what)| Some((span?, what.to_owned()))),
    );
    for slot in &partition.slots {
        found.push((&slot.name.span, format!("`{}` is a slot", slot.name.value)));
    }
    for vcpu in &partition.vcpus {
        let name = &vcpu.name.value;
        if vcpu.kind.value() == Some(KindDraft::Reservation) {
            found.push((&vcpu.name.span, format!("VCPU `{name}` is a reservation")));
        }
        let keys = [
            (vcpu.priority.span(), "priority"),
            (vcpu.time_partition.span(), "time partition"),
        ];
        let given = keys
            .into_iter()
            .filter_map(|(span, what)| Some((span?, what)));
        found.extend(given.map(|(span, what)| (span, format!("VCPU `{name}` has a {what}"))));
    }
    found
}
