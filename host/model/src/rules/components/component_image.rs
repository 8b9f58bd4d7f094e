//! A component has one program

use crate::diagnostic::Report;
use crate::draft::{Draft, Field};
use crate::suggestion::advice;
use crate::workspace::members;

crate::rules::declaration::rule! {
    Error, "component-image",
    "a component's image is a program of the workspace, or a folder or an ELF file that is there",
    "A crate is built from the checkout; a program of your own is named by its `folder`, something built \
     elsewhere as `file`, both relative to the description.",
    check
}

const HELP: &str = "for example `image = { crate = \"bulkhead-console\" }`";

fn check(draft: &Draft, report: &mut Report) {
    let members = members(&draft.root);
    let programs = members.iter().flatten().filter(|member| member.program);
    let programs: Vec<_> = programs.map(|member| member.name.as_str()).collect();
    for (partition, component) in super::all(draft) {
        let sources = [
            &component.image.built,
            &component.image.file,
            &component.image.folder,
        ];
        let given: Vec<_> = sources.into_iter().filter_map(Field::span).collect();
        match (given.as_slice(), &component.image.built) {
            ([], _) => report.add(
                RULE.at(
                    &component.name.span,
                    format!("component `{}` has no image", component.path(partition)),
                )
                .here("nothing to run")
                .help(HELP),
            ),
            ([one, other, ..], _) => report.add(
                RULE.at(other, "a component's image is one program")
                    .here("and this")
                    .label(one, "this")
                    .help("leave one of them out"),
            ),
            (_, Field::Given(name))
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
            _ => {}
        }
        let file = component
            .image
            .file
            .given()
            .filter(|file| !draft.path(file).is_file());
        let folder = component.image.folder.given();
        let folder = folder.filter(|folder| !draft.path(folder).is_dir());
        for (missing, what) in [(file, "file"), (folder, "folder")] {
            if let Some(name) = missing {
                let message = format!("the {what} `{}` is not there", name.value);
                report.add(
                    RULE.at(&name.span, message)
                        .here("nothing to read")
                        .help("relative names start from the folder of the description"),
                );
            }
        }
    }
}
