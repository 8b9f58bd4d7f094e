//! The bridge to other machines, as written

use super::section::Section;
use crate::document::At;
use crate::draft::field::Field;

/// The bridge of a partition.
#[derive(Clone, Debug)]
pub(crate) struct BridgeDraft {
    /// The word `bridge`.
    pub(crate) name: At<String>,
    pub(crate) host: Field<String>,
    pub(crate) listen: Field<Vec<At<String>>>,
    pub(crate) connect: Field<Vec<At<String>>>,
    pub(crate) export: Field<Vec<At<String>>>,
    pub(crate) domain: Field<u64>,
    pub(crate) publish: Vec<PublishDraft>,
    pub(crate) imports: Vec<ImportDraft>,
}

/// A channel, or an input of first stages, that another machine's values go into.
#[derive(Clone, Debug)]
pub(crate) struct ImportDraft {
    /// The channel, or what functions read as `bridge.NAME`.
    pub(crate) name: At<String>,
    pub(crate) from: Field<String>,
    pub(crate) topic: TopicDraft,
    pub(crate) distance: Field<u64>,
    pub(crate) max_age: Field<u64>,
    pub(crate) fallback: Field<String>,
}

/// A channel, or what a pipe brings, that goes out as a topic of ROS 2.
#[derive(Clone, Debug)]
pub(crate) struct PublishDraft {
    /// The channel or the pipe.
    pub(crate) name: At<String>,
    pub(crate) topic: TopicDraft,
}

/// A topic of ROS 2.
#[derive(Clone, Debug)]
pub(crate) struct TopicDraft {
    pub(crate) name: Field<String>,
    pub(crate) kind: Field<String>,
    pub(crate) fields: Field<Vec<At<String>>>,
}

impl BridgeDraft {
    /// The bridge of a partition's section, if it has one.
    pub(super) fn read(partition: &Section<'_>) -> Field<Self> {
        let section = partition.section("bridge");
        partition.field("bridge", |_| {
            Some(Self {
                name: section.name.clone(),
                host: section.text("host"),
                listen: section.texts("listen"),
                connect: section.texts("connect"),
                export: section.texts("export"),
                domain: section.number("domain"),
                publish: section.all("publish").map(PublishDraft::read).collect(),
                imports: section.all("import").map(ImportDraft::read).collect(),
            })
        })
    }
}

impl ImportDraft {
    fn read(section: Section<'_>) -> Self {
        Self {
            from: section.text("from"),
            topic: TopicDraft::read(&section),
            distance: section.number("distance"),
            max_age: section.number("max_age"),
            fallback: section.text("fallback"),
            name: section.name,
        }
    }
}

impl PublishDraft {
    fn read(section: Section<'_>) -> Self {
        Self {
            topic: TopicDraft::read(&section),
            name: section.name,
        }
    }
}

impl TopicDraft {
    fn read(section: &Section<'_>) -> Self {
        Self {
            name: section.text("topic"),
            kind: section.text("type"),
            fields: section.texts("fields"),
        }
    }
}
