//! WCETs of the functions of a description, from its profile

use crate::document::At;
use crate::draft::{Draft, Field, PartitionDraft, PipeFunctionDraft};
use crate::profile::{MARGIN, Measured, Named, read, with_margin};

/// Assumed time of a function that was not measured yet, nanoseconds.
const UNMEASURED_NS: u64 = 100_000;

/// Reads the profile and gives functions without a WCET the measured one; with `provisional`, functions
/// without either get an assumed one, so that they can be measured.
pub(crate) fn apply(draft: &mut Draft, provisional: bool) {
    let named = match draft.system.profile.given() {
        None => Named::None,
        Some(name) => read(&draft.path(name)).map_or_else(Named::Unread, Named::Read),
    };
    let margin = draft.system.margin.or(MARGIN).unwrap_or(MARGIN);
    for partition in &mut draft.partitions {
        for function in &mut partition.functions {
            let measured = named.measured(&partition.name.value, &function.name.value);
            let wcet = match measured {
                Some(measured) => Some(with_margin(measured.wcmt_ns, margin)),
                None => provisional.then_some(UNMEASURED_NS),
            };
            if let (true, Some(value)) = (function.wcet.is_absent(), wcet) {
                let span = function.name.span.clone();
                function.wcet = Field::Given(At { value, span });
            }
        }
    }
    draft.measured = named;
}

/// All functions with their measured times.
pub(crate) fn functions(
    draft: &Draft,
) -> impl Iterator<Item = (&PartitionDraft, &PipeFunctionDraft, Option<&Measured>)> {
    draft.partitions.iter().flat_map(move |partition| {
        partition.functions.iter().map(move |function| {
            let measured = draft
                .measured
                .measured(&partition.name.value, &function.name.value);
            (partition, function, measured)
        })
    })
}
