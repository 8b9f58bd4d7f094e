//! A channel goes out once

use crate::diagnostic::Report;
use crate::draft::{Draft, items};

crate::rules::declaration::rule! {
    Error, "bridge-twice",
    "a bridge exports a channel once",
    "An end of a channel has one holder, and an endpoint one source: two would take each other's messages.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, bridge) in draft.bridges() {
        let topics = bridge.publish.iter().map(|publish| &publish.name);
        let names: Vec<_> = items(&bridge.export).chain(topics).collect();
        for (index, name) in names.iter().enumerate() {
            let before = names[..index].iter().find(|one| one.value == name.value);
            if let Some(first) = before {
                let found = RULE.at(&name.span, format!("`{}` is exported twice", name.value));
                let found = found.here("again").label(&first.span, "first here");
                report.add(found.help("name it once; any number of others can subscribe to it"));
            }
        }
    }
}
