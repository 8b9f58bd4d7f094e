//! Cost of direct TLB maintenance for other partitions

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Trapping;

crate::rules::declaration::rule! {
    Note, "tlbi-direct",
    "a less critical guest does not slow the others by its TLB maintenance",
    "Broadcast TLB maintenance reaches every core and is answered by hardware. Much of it, as when a \
     Linux unmaps memory, has been seen to turn a neighbour's microsecond into twenty. `tlbi = \"trap\"` \
     keeps it on the core of a partition that has one, counted.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in draft
        .partitions
        .iter()
        .filter(|one| super::is_below_another(draft, one))
    {
        let help = if partition.core_count() > 1 {
            "only a partition with one core can confine it, by `tlbi = \"trap\"`"
        } else {
            "`tlbi = \"trap\"` confines it, at a trap for each"
        };
        if partition.tlbi.or(Trapping::Direct) == Some(Trapping::Direct) {
            let message = format!(
                "TLB maintenance of `{}` reaches more critical cores",
                partition.name.value
            );
            report.add(
                RULE.at(&partition.place(&partition.tlbi), message)
                    .here("broadcast")
                    .help(help),
            );
        }
    }
}
