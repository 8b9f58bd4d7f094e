//! Messages have a sensible size

use crate::diagnostic::Report;
use crate::draft::{ChannelDraft, Draft, MessageSizes};
use crate::quantity::size_text;

crate::rules::declaration::rule! {
    Error, "message-size",
    "a message is a multiple of 8 bytes, more than none and less than 16 MiB",
    "Buffers are accessed in words of 8 bytes, so that a peer that writes at the same time can spoil \
     content only. Plain memory is whole pages and at most 16 MiB.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    draft
        .channels
        .iter()
        .for_each(|channel| check_one(channel, report));
}

fn check_one(channel: &ChannelDraft, report: &mut Report) {
    let (Some(kind), Some(size)) = (channel.kind.value(), channel.message.given()) else {
        return;
    };
    let (unit, largest) = MessageSizes::of(kind).bounds();
    if !MessageSizes::of(kind).admit(size.value) {
        let message = format!("channel `{}` cannot have such messages", channel.name.value);
        let next = size
            .value
            .min(largest)
            .next_multiple_of(unit)
            .clamp(unit, largest);
        report.add(
            RULE.at(&size.span, message)
                .here(size_text(size.value))
                .help(format!(
                    "a multiple of {unit} up to {largest}, for example {next}"
                )),
        );
    }
}
