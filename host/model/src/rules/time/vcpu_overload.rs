//! The VCPUs of a core fit on it

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "vcpu-overload",
    "every main VCPU and every reservation of a core gets its C in every T",
    "The test computes exact response times under rate-monotonic priorities, including the most time that I/O VCPUs \
     take. By deadline it computes the demand of all VCPUs; under given priorities, response times in the slots of the \
     VCPU's time partition. The message names the most important VCPU with a budget that does not fit into its period, \
     and the time by which its C is too long.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, timing) in super::sound(draft) {
        for core in timing.analyse() {
            let Some((first, lacks)) = core.misfit else {
                continue;
            };
            let vcpu = &timing.vcpus[first];
            let Some(budget) = vcpu.budget() else {
                continue;
            };
            let message = format!(
                "VCPU `{}` does not get its {} in every {} on core {} of `{}`: it lacks {}",
                vcpu.name,
                time_text(budget.capacity),
                time_text(budget.period),
                core.core,
                partition.name.value,
                // Sums of fractions are rounded up.
                time_text(lacks.next_multiple_of(1_000))
            );
            let fits = core
                .always_fits
                .map(|fits| format!(", {:.2} % always fits", fits.percent()));
            let demand = format!(
                "the core's VCPUs demand {:.2} %{}; give C away, or move a VCPU to another core",
                core.demand.percent(),
                fits.unwrap_or_default()
            );
            report.add(
                RULE.at(&vcpu.span, message)
                    .here("the first that does not fit")
                    .help(demand),
            );
        }
    }
}
