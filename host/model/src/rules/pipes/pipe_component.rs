//! Each core with stages has a component that runs them, and that one what it needs

use crate::diagnostic::{Diagnostic, Report};
use crate::draft::{PartitionDraft, items};
use crate::pipes::shared_state::SharedState;
use crate::pipes::solution::Solution;
use crate::quantity::size_text;
use bulkhead_abi::component::MAX_SHARED;
use bulkhead_abi::kernel::MAX_COMPONENTS;

crate::rules::declaration::rule! {
    Error, "pipe-component",
    "where stages are on several cores of an rtos partition, or can be typed there, there is room for a component on each, and what it needs is there",
    "The tool adds to each further core the program that schedules the first. It needs what that one needs, of components that serve every core; \
     all of them share a piece of memory, with the buffers between cores.",
    solved: check
}

/// Bytes that components share under one name, at most.
const MOST: u64 = 1 << 20;

fn check(solution: &Solution<'_>, report: &mut Report) {
    for (number, partition) in solution.draft.partitions.iter().enumerate() {
        let Some(state) = solution.shared_state(number) else {
            continue;
        };
        needs(partition, &state, report);
        if let Some((message, help)) = room(partition, &state) {
            report.add(here(partition, &state, message).help(help));
        }
    }
}

/// At the function that brings stages to another core.
fn here(partition: &PartitionDraft, state: &SharedState, message: String) -> Diagnostic {
    let mut functions = partition.functions.iter();
    let other = functions.find(|one| {
        let core = one.core.or(0).unwrap_or(0) as usize;
        core != 0 && state.cores.contains(&core)
    });
    let span = other.map_or(&partition.name.span, |one| &one.name.span);
    RULE.at(span, message)
        .here("its stages are, or may be typed, on another core than the first")
}

/// Resources that an added component needs and that its core lacks.
fn needs(partition: &PartitionDraft, state: &SharedState, report: &mut Report) {
    let first = partition.scheduler(Some(0));
    let (Some(first), Some(core)) = (first, state.added(partition).next()) else {
        return;
    };
    for need in items(&first.needs) {
        let mut providers = partition.components.iter();
        let provider =
            providers.find(|one| items(&one.provides).any(|name| name.value == need.value));
        let Some(provider) = provider.filter(|one| !one.everywhere()) else {
            continue;
        };
        let message = format!(
            "stages on core {core} need `{}` of `{}`, which is on one core",
            need.value,
            provider.path(partition)
        );
        report.add(
            here(partition, state, message)
                .label(&provider.name.span, "provided here")
                .help(format!(
                    "write `every_core = true` at `{}`, if it can be in several places at once, as `bulkhead-console` can",
                    provider.name.value
                )),
        );
    }
}

/// Resources without room.
fn room(partition: &PartitionDraft, state: &SharedState) -> Option<(String, &'static str)> {
    let name = &partition.name.value;
    let components = partition.components.len() + state.added(partition).count();
    if components > MAX_COMPONENTS {
        let message = format!(
            "with those that run stages on its cores `{name}` would have {components} components, of at most {MAX_COMPONENTS}"
        );
        return Some((
            message,
            "put some of them state, or functions on fewer cores",
        ));
    }
    if partition.shared.len() >= MAX_SHARED {
        let message = format!(
            "what stages on several cores share is the first too many in `{name}`: there is room for {MAX_SHARED}"
        );
        return Some((message, "put what its components share into fewer pieces"));
    }
    (state.bytes > MOST).then(|| {
        let message = format!(
            "the buffers between cores of `{name}` would make what its components share more than {}",
            size_text(MOST)
        );
        (message, "shorter delays need shorter buffers; or put the stages on one core")
    })
}
