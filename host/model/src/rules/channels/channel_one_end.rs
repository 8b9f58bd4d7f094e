//! A channel has two ends

use crate::diagnostic::Report;
use crate::draft::{ChannelDraft, Draft};

crate::rules::declaration::rule! {
    Error, "channel-one-end",
    "a channel has a writer (`from`) and at least one reader (`to`)",
    "A channel without a writer or without a reader transfers no data.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for channel in &draft.channels {
        if channel.from.is_absent() {
            tell(channel, "writer", "from", report);
        }
        let nobody = channel.to.given().is_some_and(|to| to.value.is_empty());
        if channel.to.is_absent() || nobody {
            tell(channel, "reader", "to", report);
        }
    }
}

fn tell(channel: &ChannelDraft, who: &str, key: &str, report: &mut Report) {
    report.add(
        RULE.at(
            &channel.name.span,
            format!("channel `{}` has no {who}", channel.name.value),
        )
        .here(format!("without `{key}`"))
        .help(format!("add `{key} = \"NAME\"`, the name of a partition")),
    );
}
