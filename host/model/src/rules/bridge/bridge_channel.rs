//! What is bridged is there, and numbers its messages

use super::{known, named};
use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::suggestion::advice;
use bulkhead_abi::guest::ChannelKind;

crate::rules::rule! {
    Error, "bridge-channel",
    "what a bridge exports or imports is a channel of four slots or a ring",
    "Bytes go as they lie there, with the number that the buffer gives them and their age; other kinds number nothing, or have no \
     messages. What a pipe brings is exported by its last stage: `writes = \"bridge\"`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let names: Vec<_> = draft
        .channels
        .iter()
        .map(|one| one.name.value.as_str())
        .collect();
    for (_, bridge) in draft.bridges() {
        for (name, _) in named(bridge).filter(|(name, _)| draft.channel(&name.value).is_none()) {
            let found = RULE.at(&name.span, format!("there is no channel `{}`", name.value));
            report.add(
                found
                    .here("unknown channel")
                    .help(advice(&name.value, "channel", &names)),
            );
        }
        for (name, _, channel) in known(draft, bridge) {
            let numbered = |kind| matches!(kind, ChannelKind::FourSlot | ChannelKind::Ring);
            if let Some(kind) = channel.kind.given().filter(|kind| !numbered(kind.value)) {
                let found = RULE.at(&name.span, format!("`{}` cannot be bridged", name.value));
                let found = found
                    .here("neither four slots nor a ring")
                    .label(&kind.span, "its kind");
                report.add(
                    found.help("`kind = \"four-slot\"` for the newest value, `\"ring\"` for each"),
                );
            }
        }
    }
}
