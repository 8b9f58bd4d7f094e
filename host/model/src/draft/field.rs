//! A value of the description that may be missing

use crate::document::At;
use crate::source::Span;

/// A value that may be missing.
#[derive(Clone, Debug)]
pub(crate) enum Field<T> {
    /// Not written.
    Absent,
    /// Written wrongly, and reported.
    Broken,
    /// Written.
    Given(At<T>),
}

impl<T> Field<T> {
    /// The value and its place, if it is known.
    pub(crate) fn given(&self) -> Option<&At<T>> {
        match self {
            Self::Given(at) => Some(at),
            _ => None,
        }
    }

    /// Returns whether it is not written.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Its place, if it is known.
    pub(crate) fn span(&self) -> Option<&Span> {
        self.given().map(|at| &at.span)
    }
}

impl<T: Clone> Field<T> {
    /// The value; `default` where it is not written, nothing where it is broken.
    pub(crate) fn or(&self, default: T) -> Option<T> {
        match self {
            Self::Given(at) => Some(at.value.clone()),
            Self::Absent => Some(default),
            Self::Broken => None,
        }
    }

    /// The value, where it is known.
    pub(crate) fn value(&self) -> Option<T> {
        self.given().map(|at| at.value.clone())
    }
}
