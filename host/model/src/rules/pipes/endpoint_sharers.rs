//! As many use an endpoint as it says

use crate::diagnostic::Report;
use crate::pipes::endpoints::endpoints;
use crate::pipes::solution::Solution;

crate::rules::declaration::rule! {
    Error, "endpoint-sharers",
    "an endpoint has an I/O VCPU where it says how many share it, and no more stages of described pipes use it",
    "Each message may have to wait for one of every other stage there; bounds are computed with as many as `sharers` says, so that \
     pipes that are typed later change nothing about them.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    let used = solution.catalogue().map(|catalogue| catalogue.uses());
    for partition in &solution.draft.partitions {
        for (path, endpoint) in endpoints(partition) {
            let Some(most) = endpoint.sharers.given() else {
                continue;
            };
            if endpoint.vcpu.is_absent() {
                let message = format!("`{path}` says how many share it, and has no I/O VCPU");
                let help = "give it a `vcpu`, whose time they share, or leave `sharers` out";
                report.add(RULE.at(&most.span, message).help(help));
                continue;
            }
            let mut used = used.iter().flatten();
            let here = used.find(|(span, _)| *span == endpoint.name.span);
            let count = here.map_or(0, |(_, count)| *count);
            if count > most.value {
                let message = format!("{count} stages of pipes use `{path}`");
                let here = format!("at most {} may", most.value);
                let help = format!("`sharers = {count}`, and more where pipes are typed");
                report.add(RULE.at(&most.span, message).here(here).help(help));
            }
        }
    }
}
