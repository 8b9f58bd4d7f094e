//! A standby stands in for one partition

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "standby-shared",
    "a standby stands in for one partition",
    "It owns the same devices and channel ends as the partition it stands in for; with two of them it \
     would connect what is separate.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let pairs: Vec<_> = super::pairs(draft).collect();
    for (index, (primary, name, _)) in pairs.iter().enumerate() {
        let earlier = pairs[..index]
            .iter()
            .find(|(_, earlier, _)| earlier.value == name.value);
        if let Some((first, place, _)) = earlier {
            report.add(
                RULE.at(
                    &name.span,
                    format!("`{}` stands in for two partitions", name.value),
                )
                .here(format!("for `{}`", primary.name.value))
                .label(&place.span, format!("for `{}`", first.name.value))
                .help("give each a standby of its own"),
            );
        }
    }
}
