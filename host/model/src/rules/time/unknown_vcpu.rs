//! The VCPUs that tasks name are there

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::suggestion::nearest;

crate::rules::declaration::rule! {
    Error, "unknown-vcpu",
    "the VCPUs that a task names are described in its partition",
    "A task is paid by a VCPU of its own partition.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let named = partition
            .tasks
            .iter()
            .flat_map(|task| [&task.vcpu, &task.cause]);
        for name in named.filter_map(|field| field.given()) {
            if partition.vcpu(&name.value).is_some() {
                continue;
            }
            let names: Vec<_> = partition
                .vcpus
                .iter()
                .map(|vcpu| vcpu.name.value.as_str())
                .collect();
            let help = match nearest(&name.value, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => "describe it: `[partition.NAME.vcpu.NAME]`".into(),
                None => format!("its VCPUs are {}", names.join(", ")),
            };
            let message = format!("`{}` has no VCPU `{}`", partition.name.value, name.value);
            report.add(RULE.at(&name.span, message).here("no such VCPU").help(help));
        }
    }
}
