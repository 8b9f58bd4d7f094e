//! The VCPUs of a core fit on it

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::time_text;
use crate::timing::VcpuKind;

crate::rules::rule! {
    Error, "vcpu-overload",
    "every main VCPU of a core gets its C in every T",
    "Exact response times under rate-monotonic priorities, with what I/O VCPUs take at most. The VCPU \
     named is the first, the most important first, whose budget does not fit into its period.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, timing) in super::sound(draft) {
        for core in timing.analyse() {
            let Some(&(first, _)) = core.mains.iter().find(|(_, response)| response.is_none())
            else {
                continue;
            };
            let vcpu = &timing.vcpus[first];
            let VcpuKind::Main {
                capacity_ns,
                period_ns,
            } = vcpu.kind
            else {
                continue;
            };
            let message = format!(
                "VCPU `{}` does not get its {} in every {} on core {} of `{}`",
                vcpu.name,
                time_text(capacity_ns),
                time_text(period_ns),
                core.core,
                partition.name.value
            );
            let demand = format!(
                "the core's VCPUs demand {:.2} %, {:.2} % always fits; give C away, or move a VCPU to another core",
                core.demand.percent(),
                core.rate_monotonic.percent()
            );
            report.add(
                RULE.at(&vcpu.span, message)
                    .here("the first that does not fit")
                    .help(demand),
            );
        }
    }
}
