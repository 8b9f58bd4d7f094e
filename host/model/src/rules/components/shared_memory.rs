//! Memory is shared by components that can

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, PartitionDraft, SharedDraft, items};
use crate::source::Span;
use crate::suggestion::advice;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{MAX_SHARED, Role};

crate::rules::declaration::rule! {
    Error, "shared-memory",
    "memory is shared by two or more components of one core, in whole pages, under at most three names",
    "Components that share memory wake each other through their common scheduler. The boot component reaches \
     everything and shares nothing.",
    check
}

/// Bytes under one name, as of a component's own memory.
const MOST: u64 = 1 << 20;

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (number, shared) in partition.shared.iter().enumerate() {
            if let Some((span, problem, help)) = problem(partition, number, shared) {
                let name = &shared.name.value;
                let message = format!("`{}.{name}` {problem}", partition.name.value);
                report.add(RULE.at(span, message).here("not shared so").help(help));
            }
        }
    }
}

fn problem<'d>(
    partition: &'d PartitionDraft,
    number: usize,
    shared: &'d SharedDraft,
) -> Option<(&'d Span, String, String)> {
    if number == MAX_SHARED {
        let problem = "is the first too many".to_owned();
        let help = format!("there is room for {MAX_SHARED}; put several into one");
        return Some((&shared.name.span, problem, help));
    }
    let size = shared.size.given();
    let bad = |size: u64| !size.is_multiple_of(PAGE_SIZE) || !(1..=MOST).contains(&size);
    if let Some(size) = size.filter(|size| bad(size.value)) {
        let help = "whole pages of 4 KiB, at most 1 MiB".to_owned();
        return Some((&size.span, "has no such size".into(), help));
    }
    let mut users: Vec<&ComponentDraft> = Vec::new();
    for name in items(&shared.components) {
        let component = partition.component(&name.value);
        let Some(component) = component.filter(|one| !one.is(Role::Boot)) else {
            let names = partition
                .components
                .iter()
                .filter(|one| !one.is(Role::Boot));
            let names: Vec<_> = names.map(|one| one.name.value.as_str()).collect();
            let problem = format!("is not for `{}`", name.value);
            return Some((
                &name.span,
                problem,
                advice(&name.value, "component", &names),
            ));
        };
        if users.iter().any(|one| one.core() != component.core()) {
            let problem = format!("is shared with `{}`, on another core", name.value);
            let help = "put them on one `core`, or use a channel between two partitions".to_owned();
            return Some((&name.span, problem, help));
        }
        if !users.iter().any(|one| one.name.value == name.value) {
            users.push(component);
        }
    }
    let list = shared.components.given()?;
    (users.len() < 2).then(|| {
        let help = "name two or more; what one component has to itself is its `memory`".to_owned();
        (&list.span, "has only one component".into(), help)
    })
}
