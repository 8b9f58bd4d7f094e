//! A doorbell has one receiver

use crate::diagnostic::Report;
use crate::draft::{Draft, HOST};

crate::rules::declaration::rule! {
    Error, "doorbell-to-many",
    "a channel with a doorbell connects two partitions",
    "A doorbell is one interrupt of one receiver. Readers of a recorder look at it periodically, or get \
     a channel of their own to be rung by.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for channel in &draft.channels {
        let mut partitions = channel.readers().filter(|reader| reader.value != HOST);
        let Some(second) = partitions.nth(1) else {
            continue;
        };
        let bells = [&channel.doorbell, &channel.reply_doorbell];
        for doorbell in bells.into_iter().filter_map(|bell| bell.given()) {
            let message = format!(
                "the doorbell of `{}` has several receivers",
                channel.name.value
            );
            report.add(
                RULE.at(&doorbell.span, message)
                    .here("one interrupt")
                    .label(&second.span, "second reader")
                    .help("leave the doorbell out, or make a channel for each reader"),
            );
        }
    }
}
