//! The crates named are programs of the workspace

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::suggestion::advice;
use crate::workspace::members;

crate::rules::declaration::rule! {
    Error, "unknown-crate",
    "the crates named are programs of this workspace",
    "Crates are built from the checkout, so that one command makes everything. Something built elsewhere \
     is named as `file`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(members) = members(&draft.root) else {
        return;
    };
    let programs = members.iter().filter(|member| member.program);
    let programs: Vec<_> = programs.map(|member| member.name.as_str()).collect();
    for (_, image) in super::images(draft) {
        let named = image.value.built.given();
        if let Some(name) = named.filter(|name| !programs.contains(&name.value.as_str())) {
            let message = match members.iter().any(|member| member.name == name.value) {
                true => format!("`{}` is a library and cannot be started", name.value),
                false => format!("there is no crate `{}` in the workspace", name.value),
            };
            let found = RULE
                .at(&name.span, message)
                .here("not a program of the workspace");
            report.add(found.help(advice(&name.value, "program", &programs)));
        }
    }
}
