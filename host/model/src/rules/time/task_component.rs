//! Tasks that no component executes

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft};

crate::rules::declaration::rule! {
    Error, "task-component",
    "a task on a core that schedules components is one of a component",
    "Neither `bulkhead-scheduler` nor the runtime of pipes executes a task itself: each task is a thread of the component that names \
     it in `tasks`.",
    check
}

/// The program that schedules components.
const SCHEDULER: &str = "bulkhead-scheduler";

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let is_scheduled = |core: Option<u64>| {
            let scheduler = partition.scheduler(core);
            let runs_pipes =
                !partition.functions.is_empty() && partition.runs_stages(core.unwrap_or(0));
            scheduler.is_some_and(|one| {
                runs_pipes || one.image.built.value().as_deref() == Some(SCHEDULER)
            })
        };
        let executed = |name: &String| {
            let names = partition.components.iter();
            let mut names = names.flat_map(ComponentDraft::task_names);
            names.any(|task| task == name)
        };
        for task in &partition.tasks {
            let vcpu = task.vcpu.value().and_then(|name| partition.vcpu(&name));
            let core = vcpu.and_then(|vcpu| vcpu.core.or(0));
            if core.is_some() && is_scheduled(core) && !executed(&task.name.value) {
                let (name, partition) = (&task.name, &partition.name.value);
                let message = format!(
                    "no component executes the task `{partition}.{}`",
                    name.value
                );
                report.add(RULE.at(&name.span, message).help(format!(
                    "write `tasks = [\"{}\"]` in `[partition.{partition}.component.NAME]`",
                    name.value
                )));
            }
        }
    }
}
