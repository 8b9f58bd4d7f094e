//! Flows as they are written, and the names in them

use crate::document::At;
use crate::draft::Draft;
use bulkhead_abi::pipe::EndpointKind;
use bulkhead_tpipe::language::{Pipeline, SyntaxError};

/// Most stages of a pipe, with the VCPUs of all cores.
pub(crate) const ROOM: usize = 64;

/// The address space of stages in Linux.
pub(crate) const AGENT: &str = "agent";
/// Prefix of the name of an import that a function reads.
pub(crate) const IMPORT: &str = "bridge.";

/// Kind of the endpoint that a function names: a built-in one by its word, else a device's. `which`: 0 for the source, 1 for the sink.
pub(crate) fn endpoint_kind(which: usize, name: &str) -> EndpointKind {
    let mut built_in = EndpointKind::BUILT_IN[which].iter();
    let found = built_in.find(|kind| kind.word() == name);
    found.copied().unwrap_or(EndpointKind::Device)
}

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
