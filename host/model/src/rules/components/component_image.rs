//! A component has one program

use crate::diagnostic::Report;
use crate::draft::{Draft, Field};
use crate::suggestion::advice;
use crate::workspace::members;

crate::rules::rule! {
    Error, "component-image",
    "a component's image is a program of the workspace or an ELF file that is there",
    "A crate is built from the checkout; something built elsewhere is named as `file`, relative to the \
     description.",
    check
}

const HELP: &str = "for example `image = { crate = \"bulkhead-console\" }`";

fn check(draft: &Draft, report: &mut Report) {
    let members = members(&draft.root);
    let programs = members.iter().flatten().filter(|member| member.program);
    let programs: Vec<_> = programs.map(|member| member.name.as_str()).collect();
    for (partition, component) in super::all(draft) {
        match (&component.built, &component.file) {
            (Field::Absent, Field::Absent) => report.add(
                RULE.at(
                    &component.name.span,
                    format!("component `{}` has no image", component.path(partition)),
                )
                .here("nothing to run")
                .help(HELP),
            ),
            (Field::Given(built), Field::Given(file)) => report.add(
                RULE.at(
                    &file.span,
                    "a component's image is a crate or a file".to_owned(),
                )
                .here("and this")
                .label(&built.span, "this")
                .help("leave one of them out"),
            ),
            (Field::Given(name), _)
                if members.is_some() && !programs.contains(&name.value.as_str()) =>
            {
                report.add(
                    RULE.at(
                        &name.span,
                        format!("there is no program `{}` in the workspace", name.value),
                    )
                    .here("nothing to build")
                    .help(advice(&name.value, "program", &programs)),
                );
            }
            (_, Field::Given(file)) if !draft.path(file).is_file() => report.add(
                RULE.at(
                    &file.span,
                    format!("the file `{}` is not there", file.value),
                )
                .here("nothing to read")
                .help("relative names start from the folder of the description"),
            ),
            _ => {}
        }
    }
}
