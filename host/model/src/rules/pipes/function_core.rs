//! Stages in Linux are on one core

use crate::diagnostic::Report;
use crate::draft::{Draft, PipeFunctionDraft};
use crate::kinds::Kind;

crate::rules::declaration::rule! {
    Error, "function-core",
    "the pipe functions of a Linux partition are on one of its cores",
    "SCHED_DEADLINE admits a thread that keeps to a core only where that core is a root domain by itself. The cores that `isolcpus=` takes \
     from Linux are one such domain together, and so are those that it leaves.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        if partition.kind.value() != Some(Kind::Linux) {
            continue;
        }
        let usual = partition.core_count().saturating_sub(1) as u64;
        let mut functions = partition.functions.iter();
        let core = |one: &PipeFunctionDraft| one.core.or(usual);
        let Some(first) = functions.next() else {
            continue;
        };
        let expected = core(first);
        if let Some(other) = functions.find(|one| core(one) != expected) {
            let message = format!(
                "`{}` and `{}` are on different cores of `{}`",
                first.name.value, other.name.value, partition.name.value
            );
            report.add(
                RULE.at(&other.name.span, message)
                    .here("another core than the first function's")
                    .help("give them one core; `core` may be left out, and is Linux's last"),
            );
        }
    }
}
