//! Flows as they are written, and the names in them

use crate::document::At;
use crate::draft::Draft;
use bulkhead_tpipe::language::{Pipeline, SyntaxError};

/// Most stages of a pipe, with the VCPUs of all cores.
pub(crate) const ROOM: usize = 64;

/// The address space of stages in Linux.
pub(crate) const AGENT: &str = "agent";
/// Endpoint of last stages with values that leave the machine.
pub(crate) const SINK: &str = "bridge";
/// Prefix of the name of an import that a function reads.
pub(crate) const IMPORT: &str = "bridge.";
/// Sources and sinks that are no devices.
pub(crate) const BUILT_IN: [&[&str]; 2] = [&["timer"], &["trace", "null", SINK]];

/// The flow in the language's terms.
pub(crate) fn parse(flow: &str) -> Result<Pipeline<'_, ROOM>, SyntaxError> {
    Pipeline::parse(flow)
}

/// The flows of the pipes that can be read.
pub(crate) fn flows(draft: &Draft) -> impl Iterator<Item = &At<String>> {
    draft.pipes.iter().filter_map(|pipe| pipe.flow.given())
}

/// A name without the partition's before it.
pub(crate) fn local_name<'n>(partition: &str, written: &'n str) -> &'n str {
    let rest = written
        .strip_prefix(partition)
        .and_then(|rest| rest.strip_prefix('.'));
    rest.filter(|rest| rest.contains('.')).unwrap_or(written)
}

/// The import that the name of a function's source stands for, if it is one.
pub(crate) fn import(source: &str) -> Option<&str> {
    source.strip_prefix(IMPORT)
}
