//! The partition has the memory that its components need

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, STACK_DEFAULT};
use crate::pipes::solution::Solution;
use crate::quantity::size_text;
use bulkhead_abi::PAGE_SIZE;

crate::rules::declaration::rule! {
    Error, "component-memory",
    "stacks and memory of components are whole pages that fit into the partition's memory",
    "They are taken from it when the partition starts, after the kernel and the components' images.",
    solved: check
}

/// Most that one stack may have: it shares 2 MiB of addresses with the image.
const LARGEST_STACK: u64 = 256 << 10;

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    for (_, component) in super::all(draft) {
        for (field, most) in [
            (&component.stack, LARGEST_STACK),
            (&component.memory, 1 << 20),
        ] {
            let Some(size) = field.given() else { continue };
            let least = if most == LARGEST_STACK { PAGE_SIZE } else { 0 };
            if !size.value.is_multiple_of(PAGE_SIZE) || !(least..=most).contains(&size.value) {
                let message = format!("{} cannot be given", size_text(size.value));
                let range = format!("whole pages of 4 KiB, at most {}", size_text(most));
                report.add(
                    RULE.at(&size.span, message)
                        .here("no such size")
                        .help(range),
                );
            }
        }
    }
    let numbered = draft.partitions.iter().enumerate();
    for (number, partition) in numbered.filter(|(_, one)| !one.components.is_empty()) {
        let Some(memory) = partition.memory.given() else {
            continue;
        };
        let sizes = partition.components.iter().map(size);
        let shared = partition.shared.iter().filter_map(|one| one.size.value());
        let added = solution.shared_state(number).map(|state| {
            let each = partition.scheduler(Some(0)).map_or(0, size);
            let count = state.added(partition).count() as u64;
            each.saturating_mul(count).saturating_add(state.bytes)
        });
        let sizes = sizes.chain(shared).chain(added);
        let sizes = sizes.fold(0, u64::saturating_add);
        if sizes > memory.value {
            let message = format!(
                "the components of `{}` need {}, images and tables aside",
                partition.name.value,
                size_text(sizes)
            );
            report.add(
                RULE.at(&memory.span, message)
                    .here("less than that")
                    .help("give the partition more memory, or components smaller stacks"),
            );
        }
    }
}

/// Bytes of its stack and its memory, as far as they are known.
fn size(component: &ComponentDraft) -> u64 {
    let declared = [component.stack.or(STACK_DEFAULT), component.memory.or(0)];
    declared.into_iter().flatten().fold(0, u64::saturating_add)
}
