//! A partition as written

use super::section::CoresDraft;
use super::{Field, ImageDraft, PartitionDraft};
use crate::document::At;
use crate::system::{Kind, Span};
use bulkhead_abi::status::{Action, CAUSES, Cause};

impl PartitionDraft {
    /// How many cores it has; 1 where that is not known.
    pub(crate) fn core_count(&self) -> usize {
        match self.cores.given().map(|cores| &cores.value) {
            Some(CoresDraft::Count(count)) => *count as usize,
            Some(CoresDraft::These(list)) => list.len(),
            None => 1,
        }
    }

    /// The cores it names.
    pub(crate) fn listed_cores(&self) -> impl Iterator<Item = &At<u64>> {
        match self.cores.given().map(|cores| &cores.value) {
            Some(CoresDraft::These(list)) => list.iter(),
            _ => [].iter(),
        }
    }

    /// The action that is written for each cause; that of `control` is the caller's choice.
    pub(crate) const fn actions(&self) -> [&Field<Action>; CAUSES] {
        [
            &self.on_violation,
            &self.on_undefined,
            &self.on_hang,
            &self.on_panic,
            &self.on_reset,
            &self.on_off,
            &Field::Absent,
            &self.on_serror,
        ]
    }

    /// Action for a cause, defaults included.
    pub(crate) fn action(&self, cause: Cause) -> Option<Action> {
        self.actions()[cause as usize].or(default_action(self.kind.value()?, cause))
    }

    /// Returns, for each cause, true if the description names its action.
    pub(crate) fn has_policy(&self) -> [bool; CAUSES] {
        self.actions().map(|action| action.given().is_some())
    }

    /// Every action that can happen, and the place where it is written.
    pub(crate) fn written_actions(&self) -> impl Iterator<Item = &At<Action>> {
        let then = self.restart.then.given();
        self.actions()
            .into_iter()
            .filter_map(Field::given)
            .chain(then)
    }

    /// Its images, first and alternate.
    pub(crate) fn images(&self) -> impl Iterator<Item = &At<ImageDraft>> {
        [&self.image, &self.alternate]
            .into_iter()
            .filter_map(Field::given)
    }

    /// Place of a field, or of the partition's name.
    pub(crate) fn place<T>(&self, field: &Field<T>) -> Span {
        field.span().unwrap_or(&self.name.span).clone()
    }
}

impl ImageDraft {
    /// Its image sources, without places.
    pub(crate) fn sources(&self) -> Vec<Option<String>> {
        let sources = [&self.built, &self.file, &self.kernel, &self.initrd];
        sources.map(Field::value).into()
    }
}

/// Default action for a cause.
pub(crate) const fn default_action(kind: Kind, cause: Cause) -> Action {
    match (cause, kind) {
        (Cause::Violation | Cause::Undefined | Cause::SError, Kind::Linux | Kind::Image) => {
            Action::Inject
        }
        (Cause::Off, _) => Action::Halt,
        _ => Action::Restart,
    }
}
