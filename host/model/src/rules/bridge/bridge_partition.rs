//! Only Linux goes beyond the machine

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::kinds::Kind;
use crate::resolve::AGENT;

crate::rules::declaration::rule! {
    Error, "bridge-partition",
    "a partition with a `bridge` runs Linux with the tool's initial file system",
    "The bridge is a Linux program, which the tool builds and puts there; the agent starts it, behind the stages of pipes.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, bridge) in draft.bridges() {
        if let Some((here, help)) = problem(partition) {
            let name = &partition.name.value;
            let message = format!("`{name}` cannot have a bridge");
            report.add(RULE.at(&bridge.name.span, message).here(here).help(help));
        }
    }
}

/// Reason for which a partition cannot have a bridge, and the remedy.
fn problem(partition: &PartitionDraft) -> Option<(&'static str, &'static str)> {
    if partition.kind.value()? != Kind::Linux {
        let help = "give the bridge to a Linux partition, and let that have the channel";
        return Some(("not a Linux partition", help));
    }
    let image = partition.image.value()?;
    let program = image
        .initrd
        .given()
        .is_some_and(|initrd| initrd.value != AGENT);
    program.then_some((
        "its initial file system is its own",
        "write `initrd = \"agent\"`",
    ))
}
