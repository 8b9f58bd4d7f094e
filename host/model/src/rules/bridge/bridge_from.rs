//! An import has a valid address on the other machine

use crate::bridge::is_part;
use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "bridge-from",
    "what a bridge imports comes from an endpoint of another machine, `HOST:PARTITION:SPACE:ENDPOINT`",
    "That machine's description is not known here; its tool derives the names of what goes out, and `bulkhead check` there lists \
     them. Within this machine a channel is shorter.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, bridge) in draft.bridges() {
        for import in &bridge.imports {
            let name = &import.name;
            if let (Some(from), Some(topic)) = (import.from.given(), import.topic.topic.given()) {
                let message = format!("`{}` comes from two places", name.value);
                let found = RULE.at(&topic.span, message).here("a topic");
                let found = found.label(&from.span, "an endpoint");
                report.add(found.help("leave one of them out"));
            }
            if import.from.is_absent() && import.topic.topic.is_absent() {
                let message = format!("the source of `{}` is missing", name.value);
                let found = RULE
                    .at(&name.span, message)
                    .here("neither `from` nor `topic`");
                report.add(found.help(
                    "add `from = \"HOST:PARTITION:SPACE:ENDPOINT\"`, or `topic` and `type` of what ROS 2 nodes publish",
                ));
            }
        }
        for from in bridge
            .imports
            .iter()
            .filter_map(|import| import.from.given())
        {
            let parts: Vec<_> = from.value.split(':').collect();
            let problem = match parts.as_slice() {
                parts if parts.len() != 4 => Some(format!("{} parts", parts.len())),
                parts if !parts.iter().all(|part| is_part(part)) => {
                    Some("a part is not of letters, digits, `-`, `.` and `_`".into())
                }
                [host, ..] if bridge.host.value().is_some_and(|name| name == *host) => {
                    Some("this machine".into())
                }
                _ => None,
            };
            if let Some(here) = problem {
                let message = format!("`{}` is no endpoint of another machine", from.value);
                let help = "for example `dock:planner:main:goal`";
                report.add(RULE.at(&from.span, message).here(here).help(help));
            }
        }
    }
}
