//! `boards.toml`: boards on which the cases run in addition to their own

use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

const FILE_NAME: &str = "boards.toml";
/// Key with the cases that run on a board; without it all possible ones do.
const ONLY: &str = "only";

/// A board of the tests.
#[derive(Debug)]
pub(crate) struct TestBoard {
    /// Its name behind the `@` of a case.
    pub(crate) name: String,
    /// Keys of an expectation that all cases get on that board: `board` and `facts`.
    pub(crate) changes: Table,
    only: Option<Vec<String>>,
}

impl TestBoard {
    /// Returns `true` if the case of that name is meant to run on the board.
    pub(crate) fn takes(&self, case: &str) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| {
            only.iter().any(|name| {
                case.strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        })
    }
}

/// Reads the boards of a folder of cases.
pub(crate) fn read(folder: &Path) -> Result<Vec<TestBoard>, String> {
    let file = folder.join(FILE_NAME);
    let wrong = |error: String| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
    let tables: BTreeMap<String, Table> =
        toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let boards = tables.into_iter().map(|(name, mut changes)| {
        let only = changes.remove(ONLY).map(Value::try_into).transpose();
        Ok(TestBoard {
            only: only.map_err(|error| wrong(error.to_string()))?,
            name,
            changes,
        })
    });
    boards.collect()
}
