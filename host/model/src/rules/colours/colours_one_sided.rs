//! Colours help where all have some

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};

crate::rules::declaration::rule! {
    Warning, "colours-one-sided",
    "either all partitions are coloured or none",
    "A partition without colours uses all of the cache, the parts of the coloured ones included: they \
     lose cache by their confinement and are still disturbed.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let coloured = |one: &&PartitionDraft| !one.colours.is_absent();
    let Some(first) = draft.partitions.iter().find(coloured) else {
        return;
    };
    for partition in draft.partitions.iter().filter(|one| !coloured(one)) {
        let name = &partition.name.value;
        report.add(
            RULE.at(
                &partition.name.span,
                format!("`{name}` uses the colours of all others"),
            )
            .here("not coloured")
            .label(
                &first.place(&first.colours),
                format!("`{}` is", first.name.value),
            )
            .help("give it the colours that are left, or no partition colours at all"),
        );
    }
}
