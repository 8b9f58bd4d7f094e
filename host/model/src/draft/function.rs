//! A PCIe function as written

use crate::document::At;
use crate::draft::field::Field;
use crate::draft::section::Section;

/// A function that is plugged in.
#[derive(Clone, Debug)]
pub(crate) struct FunctionDraft {
    pub(crate) name: At<String>,
    pub(crate) kind: Field<String>,
    pub(crate) bus: Field<String>,
    pub(crate) forward: Field<Vec<At<u64>>>,
    pub(crate) forward_tcp: Field<Vec<At<u64>>>,
}

impl FunctionDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        Self {
            kind: section.text("kind"),
            bus: section.text("bus"),
            forward: section.numbers("forward"),
            forward_tcp: section.numbers("forward_tcp"),
            name: section.name,
        }
    }
}
