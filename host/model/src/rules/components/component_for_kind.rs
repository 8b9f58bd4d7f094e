//! A partition is made of components or starts an image

use crate::diagnostic::Report;
use crate::draft::{Draft, Field};
use crate::kinds::Kind;

crate::rules::declaration::rule! {
    Error, "component-for-kind",
    "a partition starts an image, or is made of components if it is an `rtos`",
    "Components run on the kernel, which comes with them; any other image is started as it is.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let name = &partition.name.value;
        let component = partition.components.first();
        match (&partition.image, component, partition.kind.value()) {
            (Field::Absent, None, _) => report.add(
                RULE.at(&partition.name.span, format!("`{name}` has nothing to run"))
                    .here("neither an image nor components")
                    .help("give it an `image`, or `[partition.NAME.component.NAME]` tables"),
            ),
            (Field::Given(image), Some(component), _) => report.add(
                RULE.at(
                    &component.name.span,
                    format!("`{name}` has an image and components"),
                )
                .here("and this")
                .label(&image.span, "this")
                .help("leave one of them out"),
            ),
            (_, Some(component), Some(Kind::Linux | Kind::Image)) => report.add(
                RULE.at(&component.name.span, "this kind of guest has no components")
                    .here("does not go with the kind")
                    .label(&partition.place(&partition.kind), "the kind")
                    .help("write `kind = \"rtos\"`"),
            ),
            _ => {}
        }
    }
}
