//! The board of a case: one of the checkout, perhaps with changed facts

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use toml::{Table, Value};

/// The board of a case that names none.
const USUAL: &str = "qemu-virt";

/// Writes a board file with these facts changed, by dotted path. Returns the value for
/// `system.board`.
pub(crate) fn with_facts(
    root: &Path,
    out: &Path,
    board: Option<&str>,
    facts: &BTreeMap<String, Value>,
) -> Result<String, String> {
    let name = board.unwrap_or(USUAL);
    let text = std::fs::read_to_string(root.join(format!("boards/{name}.toml"))).map_err(plain)?;
    let mut table: Table = toml::from_str(&text).map_err(plain)?;
    for (path, value) in facts {
        set(&mut table, path, value.clone())?;
    }
    std::fs::create_dir_all(out).map_err(plain)?;
    let file = out.join("board.toml");
    std::fs::write(&file, toml::to_string(&table).map_err(plain)?).map_err(plain)?;
    Ok(file.display().to_string())
}

fn set(table: &mut Table, path: &str, value: Value) -> Result<(), String> {
    let Some((first, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return Ok(());
    };
    let below = table.get_mut(first).and_then(Value::as_table_mut);
    set(
        below.ok_or(format!("the board has no `{first}`"))?,
        rest,
        value,
    )
}

fn plain(error: impl Display) -> String {
    error.to_string()
}
