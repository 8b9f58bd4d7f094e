//! Trapped TLB maintenance stays on one core

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Trapping;

crate::rules::declaration::rule! {
    Error, "tlbi-trap-cores",
    "`tlbi = \"trap\"` is for partitions with one core",
    "The monitor interrupts no core that runs a guest, so that a broadcast of a partition with several \
     cores could reach the others by a broadcast only.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        if partition.tlbi.value() == Some(Trapping::Trap) && partition.core_count() > 1 {
            let message = format!(
                "TLB maintenance of `{}` must reach its {} cores",
                partition.name.value,
                partition.core_count()
            );
            report.add(
                RULE.at(&partition.place(&partition.tlbi), message)
                    .here("would stay on one core")
                    .help("leave `tlbi` out, or give the partition one core"),
            );
        }
    }
}
