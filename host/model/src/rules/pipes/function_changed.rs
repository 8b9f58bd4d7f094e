//! Measured functions have the sources that run

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, PipeFunctionDraft};
use crate::kinds::{Folder, Program};
use crate::{measured_wcet, profile};

crate::rules::declaration::rule! {
    Warning, "function-changed",
    "the sources of measured pipe functions are those that were measured",
    "A time that was measured of something else says nothing.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, function, measured) in measured_wcet::functions(draft) {
        let (Some(measured), Some(program)) = (measured, program(draft, partition, function))
        else {
            continue;
        };
        let now = profile::digest(&draft.root, &program);
        if now.is_some_and(|now| now != measured.digest) {
            let message = format!(
                "`{}.{}` was measured before the functions of {} were changed",
                partition.name.value,
                function.name.value,
                program_text(&program)
            );
            report.add(
                RULE.at(&function.name.span, message)
                    .here("measured of other sources")
                    .help("run `bulkhead profile` again"),
            );
        }
    }
}

/// The program with a function of the partition: that of the function's component, or of the scheduler on the first core.
fn program(
    draft: &Draft,
    partition: &PartitionDraft,
    function: &PipeFunctionDraft,
) -> Option<Program> {
    let Some(name) = function.component.given() else {
        return partition.scheduler(Some(0))?.program(draft);
    };
    let mut components = partition.components.iter();
    let component = components.find(|one| one.name.value == name.value);
    component?.program(draft)
}

fn program_text(program: &Program) -> String {
    match program {
        Program::Crate(name) => format!("`{name}`"),
        Program::File(path) | Program::Folder(Folder { path, .. }) => {
            format!("`{}`", path.display())
        }
    }
}
