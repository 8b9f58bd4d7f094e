//! Doorbells that a component waits for ring

use crate::diagnostic::Report;
use crate::draft::{ChannelDraft, Draft, items};

crate::rules::declaration::rule! {
    Error, "component-doorbell",
    "a component with a thread waits for doorbells of channels that it holds, towards its partition",
    "The channel's doorbell becomes an interrupt of the component that holds the end. The channel must have a doorbell \
     in this direction.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let path = component.path(partition);
        let ends: Vec<_> = super::ends(draft, partition).collect();
        for name in items(&component.doorbells) {
            let held = items(&component.channels).any(|held| held.value == name.value);
            let channel = ends.iter().find(|end| end.name.value == name.value);
            let writes = |channel: &&&ChannelDraft| {
                let from = channel.from.given();
                from.is_some_and(|from| from.value == partition.name.value)
            };
            let silent = channel.is_some_and(|channel| match writes(&channel) {
                true => channel.reply_doorbell.is_absent(),
                false => channel.doorbell.is_absent(),
            });
            let (problem, help) = match (held, silent, component.has_thread()) {
                (false, ..) => ("does not hold", "name it in `channels`, too"),
                (true, true, _) => (
                    "is not rung by",
                    "give the channel a `doorbell`, or a `reply_doorbell` where this is its writer",
                ),
                (true, false, false) => ("has no thread to wait for", "give it a `priority`"),
                _ => continue,
            };
            let message = format!("`{path}` {problem} `{}`", name.value);
            report.add(
                RULE.at(&name.span, message)
                    .here("would never come")
                    .help(help),
            );
        }
    }
}
