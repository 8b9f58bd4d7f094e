//! A bridged channel exists, and numbers its messages

use super::{bridged_channels, named};
use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::Draft;
use crate::suggestion::advice;
use bulkhead_abi::guest::ChannelKind;

crate::rules::declaration::rule! {
    Error, "bridge-channel",
    "what a bridge exports or imports is a channel of four slots or a ring; or a function reads the import",
    "Bytes go as they lie there, with the number that the buffer gives them and their age; other kinds number nothing, or have no \
     messages. What a pipe brings is exported by its last stage, `writes = \"bridge\"`, and what a pipe takes in a first stage \
     reads, `reads = \"bridge.NAME\"`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let names: Vec<_> = draft
        .channels
        .iter()
        .map(|one| one.name.value.as_str())
        .collect();
    for (partition, bridge) in draft.bridges() {
        let is_read = |name: &At<String>| {
            let mut read = partition.imports_read();
            read.any(|(_, import)| import.name.value == name.value)
        };
        let unknown = named(bridge).filter(|(name, goes_out)| {
            draft.channel(&name.value).is_none() && (*goes_out || !is_read(name))
        });
        for (name, goes_out) in unknown {
            let found = RULE.at(&name.span, format!("there is no channel `{}`", name.value));
            let advice_text = advice(&name.value, "channel", &names);
            report.add(match goes_out {
                true => found.here("unknown channel").help(advice_text),
                false => found.here("no channel, and nothing that a function reads").help(format!(
                    "{advice_text}; or let a pipe begin there: a function of `{}` with `reads = \"bridge.{}\"`",
                    partition.name.value, name.value
                )),
            });
        }
        for (name, _, channel) in bridged_channels(draft, bridge) {
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
