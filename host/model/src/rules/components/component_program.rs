//! A C program has the place in its partition that its runtime needs

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, PartitionDraft};
use crate::program::Runtime;
use bulkhead_abi::component::Role;

crate::rules::declaration::rule! {
    Error, "component-program",
    "a C program with threads or OpenMP is the only component of its partition, and boots it; one of pipe functions is a scheduler, \
     or functions of the description name it; any other runs beside a scheduler",
    "`slite.h`, `cmsis_os2.h` and OpenMP schedule all threads of their partition and start no other component, so that nothing beside them would run. \
     A scheduler with `pipe.h` runs the stages of tuned pipes; another component with it executes the functions that name it. Any other program has one thread, which a scheduler runs, \
     and its `memory` is its heap.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let folder = component.image.folder.given();
        let runtime = folder.and_then(|folder| Some((folder, Runtime::of(&draft.path(folder))?)));
        let Some((folder, runtime)) = runtime else {
            continue;
        };
        if let Some((message, help)) = problem(partition, component, runtime) {
            let here = format!("its C files are for `{}`", runtime.header());
            report.add(RULE.at(&folder.span, message).here(here).help(help));
        }
    }
}

/// Problem of a component that is no scheduler and has pipe functions in C, and remedy.
fn functions_problem(
    partition: &PartitionDraft,
    component: &ComponentDraft,
) -> Option<(String, &'static str)> {
    let name = component.path(partition);
    let mut functions = partition.functions.iter();
    let executes = functions.any(|one| one.component.value() == Some(component.name.value.clone()));
    if !executes {
        let message = format!("the pipe functions of `{name}` would not be run");
        let help = "name the component in the functions, `[partition.NAME.function.NAME] component = …`, or write `role = \"scheduler\"`; \
                    one component with `role = \"boot\"` starts it";
        return Some((message, help));
    }
    let message = format!("`{name}` has no heap for its C library");
    let help = "write `memory = \"16 KiB\"`, or as much as it allocates at its start";
    (component.memory.or(0) == Some(0)).then_some((message, help))
}

/// Problem with its place, and remedy.
fn problem(
    partition: &PartitionDraft,
    component: &ComponentDraft,
    runtime: Runtime,
) -> Option<(String, &'static str)> {
    let (name, role) = (component.path(partition), component.role()?);
    if runtime.in_component(role == Role::Scheduler) == Runtime::PipeFunctions {
        return functions_problem(partition, component);
    }
    if runtime == Runtime::Pipes {
        return None;
    }
    if runtime == Runtime::Component {
        let schedules = [Role::Boot, Role::Scheduler].contains(&role);
        let no_heap = component.memory.or(0) == Some(0);
        return if schedules {
            let message = format!("`{name}` has one thread and schedules no others");
            let help = "a program that runs alone includes `slite.h`; leave out the `role` of one beside others";
            Some((message, help))
        } else {
            let message = format!("`{name}` has no heap for its C library");
            let help = "write `memory = \"16 KiB\"`, or as much as it allocates";
            no_heap.then_some((message, help))
        };
    }
    let others = partition.components.len() - 1;
    if others > 0 {
        let message = format!(
            "`{name}` runs alone in a partition, and `{}` has {others} other component{}",
            partition.name.value,
            if others == 1 { "" } else { "s" }
        );
        let help = "give the program a partition of its own, and a channel to the others; a program beside other components \
                    includes neither `slite.h` nor `omp.h`";
        return Some((message, help));
    }
    (role != Role::Boot).then(|| {
        let message = format!("`{name}` would never be started");
        (
            message,
            "write `role = \"boot\"`: it is all that its partition runs",
        )
    })
}
