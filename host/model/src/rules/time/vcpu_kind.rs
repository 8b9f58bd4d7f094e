//! VCPUs and tasks are of rtos partitions

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Kind;

crate::rules::declaration::rule! {
    Error, "vcpu-kind",
    "VCPUs and tasks are of rtos partitions",
    "Other guests schedule their cores themselves, and no component of Bulkhead would enforce a \
     budget there.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let names = partition.vcpus.iter().map(|vcpu| &vcpu.name);
        let first = names
            .chain(partition.tasks.iter().map(|task| &task.name))
            .next();
        let other = partition
            .kind
            .given()
            .filter(|kind| kind.value != Kind::Rtos);
        if let (Some(first), Some(kind)) = (first, other) {
            let message = format!("`{}` has no scheduler of ours", partition.name.value);
            report.add(
                RULE.at(&first.span, message)
                    .here("would not be enforced")
                    .label(&kind.span, "not `\"rtos\"`")
                    .help("leave VCPUs and tasks out, or make it an rtos partition"),
            );
        }
    }
}
