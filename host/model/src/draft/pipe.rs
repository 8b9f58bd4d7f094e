//! Pipes, the functions they are made of and the endpoints between them and devices, as written

use crate::document::At;
use crate::draft::field::Field;
use crate::draft::section::Section;
use crate::registry::choices;
use bulkhead_abi::pipe::OnOverrun;
use bulkhead_tpipe::language::Buffering;

/// A pipe.
#[derive(Clone, Debug)]
pub(crate) struct PipeDraft {
    pub(crate) name: At<String>,
    pub(crate) flow: Field<String>,
    pub(crate) max_age: Field<u64>,
}

/// A pipe function.
#[derive(Clone, Debug)]
pub(crate) struct PipeFunctionDraft {
    pub(crate) name: At<String>,
    pub(crate) core: Field<u64>,
    pub(crate) wcet: Field<u64>,
    pub(crate) inputs: Field<u64>,
    pub(crate) outputs: Field<u64>,
    pub(crate) buffering: Field<Option<Buffering>>,
    pub(crate) reads: Field<String>,
    pub(crate) writes: Field<String>,
    pub(crate) period: Field<u64>,
    pub(crate) on_overrun: Field<OnOverrun>,
    pub(crate) fallback: Field<String>,
}

/// An endpoint of a component, or of a Linux partition.
#[derive(Clone, Debug)]
pub(crate) struct EndpointDraft {
    pub(crate) name: At<String>,
    pub(crate) vcpu: Field<String>,
    pub(crate) wcet: Field<u64>,
    pub(crate) scatter: Field<String>,
    pub(crate) sharers: Field<u64>,
    pub(crate) distance: Field<u64>,
    pub(crate) identifier: Field<u64>,
    /// Of a network card.
    pub(crate) address: Field<String>,
    /// In Linux: the controller, and the longest that its kernel takes.
    pub(crate) device: Field<String>,
    pub(crate) latency: Field<u64>,
}

impl PipeDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        Self {
            flow: section.text("flow"),
            max_age: section.number("max_age"),
            name: section.name,
        }
    }
}

impl PipeFunctionDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        Self {
            core: section.number("core"),
            wcet: section.number("wcet"),
            inputs: section.number("inputs"),
            outputs: section.number("outputs"),
            buffering: section.choice("buffering", choices::BUFFERINGS.values),
            reads: section.text("reads"),
            writes: section.text("writes"),
            period: section.number("period"),
            on_overrun: section.choice("on_overrun", choices::ON_OVERRUN.values),
            fallback: section.text("fallback"),
            name: section.name,
        }
    }

    /// Names of its source and its sink.
    pub(crate) const fn ends(&self) -> [&Field<String>; 2] {
        [&self.reads, &self.writes]
    }
}

impl EndpointDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        Self {
            vcpu: section.text("vcpu"),
            wcet: section.number("wcet"),
            scatter: section.text("scatter"),
            sharers: section.number("sharers"),
            distance: section.number("distance"),
            identifier: section.number("identifier"),
            address: section.text("address"),
            device: section.text("device"),
            latency: section.number("latency"),
            name: section.name,
        }
    }
}
