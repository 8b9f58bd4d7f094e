//! A component of a partition as written

use super::{ComponentDraft, Field};
use crate::document::At;
use crate::source::Span;
use bulkhead_abi::component::{Part, Role};

/// Names of the parts of a partition that one component can own, in the order of [`Part`].
pub(crate) const PART_NAMES: [&str; Part::ALL.len()] = [
    "console",
    "trace",
    "heartbeat",
    "monitor",
    "interrupts",
    "admission",
];

/// Bytes of a stack where the description is silent.
pub(crate) const STACK_DEFAULT: u64 = 16 << 10;

impl ComponentDraft {
    /// Place of a field, or of the component's name.
    pub(crate) fn place<T>(&self, field: &Field<T>) -> Span {
        field.span().unwrap_or(&self.name.span).clone()
    }

    /// Its role; `None` if the field is broken.
    pub(crate) fn role(&self) -> Option<Role> {
        self.role.or(Role::Application)
    }

    /// Returns whether it is for that.
    pub(crate) fn is(&self, role: Role) -> bool {
        self.role() == Some(role)
    }

    /// Returns whether it has a thread; yes where what gives it one is broken.
    pub(crate) fn has_thread(&self) -> bool {
        !self.priority.is_absent() || !self.tasks.is_absent()
    }

    /// Names of its tasks.
    pub(crate) fn task_names(&self) -> impl Iterator<Item = &String> {
        let tasks = self.tasks.given().into_iter();
        tasks.flat_map(|tasks| tasks.value.iter().map(|task| &task.value))
    }

    /// Rank of its core in the partition; nothing where that is broken.
    pub(crate) fn core(&self) -> Option<u64> {
        self.core.or(0)
    }

    /// Returns whether it is the same program as another one.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let program =
            |one: &Self| [&one.image.built, &one.image.file, &one.image.folder].map(Field::value);
        let lists = |one: &Self| {
            [&one.image.sources, &one.image.include, &one.image.define].map(|list| {
                items(list)
                    .map(|item| item.value.clone())
                    .collect::<Vec<_>>()
            })
        };
        program(self) == program(other) && lists(self) == lists(other)
    }

    /// Returns whether threads of all cores may be in it.
    pub(crate) fn everywhere(&self) -> bool {
        self.every_core.value() == Some(true)
    }

    /// Returns whether threads of a core can invoke it; yes where the core is broken.
    pub(crate) fn serves(&self, core: Option<u64>) -> bool {
        self.everywhere() || core.is_none() || self.core().is_none() || self.core() == core
    }

    /// The parts it owns, as far as they are known, and where that is written.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Part, &Span)> {
        items(&self.owns).filter_map(|item| Some((part(&item.value)?, &item.span)))
    }
}

/// The part of that name.
pub(crate) fn part(name: &str) -> Option<Part> {
    let named = PART_NAMES.iter().position(|part| *part == name)?;
    Part::ALL.get(named).copied()
}

/// The items of a list that may be missing.
pub(crate) fn items<T>(list: &Field<Vec<At<T>>>) -> impl Iterator<Item = &At<T>> {
    list.given().into_iter().flat_map(|list| &list.value)
}
