//! `boards.toml`: boards on which the cases run in addition to their own

use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

const FILE_NAME: &str = "boards.toml";
/// The list of cases that belong to the usual run; all others that fit are long.
const USUAL: &str = "usual";
/// The list of all cases that run on the board; without it, all that fit.
const ONLY: &str = "only";

/// A board of the tests.
#[derive(Debug)]
pub(crate) struct TestBoard {
    /// Its name behind the `@` of a case.
    pub(crate) name: String,
    /// Keys of an expectation that all cases get on that board: `board` and `facts`.
    pub(crate) changes: Table,
    usual: Vec<String>,
    only: Option<Vec<String>>,
}

impl TestBoard {
    /// Returns `true` if the case of that name belongs to the usual run on the board.
    pub(crate) fn is_usual(&self, case: &str) -> bool {
        lists(&self.usual, case)
    }

    /// Returns `true` if the case of that name is to run on the board.
    pub(crate) fn has(&self, case: &str) -> bool {
        let only = self.only.as_ref();
        self.is_usual(case) || only.is_none_or(|names| lists(names, case))
    }
}

/// Returns `true` if a list names the case, or its folder.
fn lists(names: &[String], case: &str) -> bool {
    names.iter().any(|name| {
        case.strip_prefix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Reads the boards of a folder of cases.
pub(crate) fn read(folder: &Path) -> Result<Vec<TestBoard>, String> {
    let file = folder.join(FILE_NAME);
    let wrong = |error: String| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
    let tables: BTreeMap<String, Table> =
        toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let boards = tables.into_iter().map(|(name, mut changes)| {
        let mut names = |key: &str| -> Result<Option<Vec<String>>, String> {
            let list = changes.remove(key).map(Value::try_into).transpose();
            list.map_err(|error| wrong(error.to_string()))
        };
        Ok(TestBoard {
            usual: names(USUAL)?.unwrap_or_default(),
            only: names(ONLY)?,
            name,
            changes,
        })
    });
    boards.collect()
}
