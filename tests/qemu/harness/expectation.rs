//! `expect.toml`: settings and expected results of cases

use crate::boards::{self, TestBoard};
use crate::bound::Bound;
use crate::events::ExpectedEvent;
use crate::pattern::Pattern;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

const FILE_NAME: &str = "expect.toml";
/// Table of cases, which add to the keys above it.
const CASES: &str = "case";
/// Table of boards on which a case has other expectations, or cannot run.
const BOARDS: &str = "on";
/// Key with the reason for which a case cannot run on a board.
const IMPOSSIBLE: &str = "impossible";
/// Keys of the description that are left out.
const DROP: &str = "drop";
/// Facts of the case's own board: it says nothing about another.
const OWN_BOARD: [&str; 2] = ["board", "facts"];
/// Placeholder for the name of the case in texts.
const PLACE_OF_NAME: &str = "{case}";

/// One test.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// `FOLDER` or `FOLDER/CASE`.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// Settings and expected results.
    pub(crate) expectation: Expectation,
    /// The board of `boards.toml` on which it runs, if it is not its own.
    pub(crate) on: Option<String>,
    /// Why it cannot run there.
    pub(crate) impossible: Option<String>,
}

/// Settings and expected results of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Expectation {
    /// The property that the case shows, in one line.
    pub(crate) what: String,
    /// True if the case belongs to the long tests.
    #[serde(default)]
    pub(crate) long: bool,
    /// True if the case is a row of `bulkhead bench attack`.
    #[serde(default)]
    pub(crate) attack: bool,
    /// A system of the checkout; without it and `bench`, the folder's own `system.toml`.
    pub(crate) system: Option<PathBuf>,
    /// An experiment of which all guarantees must hold.
    pub(crate) bench: Option<String>,
    /// Seconds of virtual time.
    #[serde(rename = "for", default = "usual_length")]
    pub(crate) seconds: f64,
    /// Seconds of the host after which the run ends if the machine's clock stands still.
    pub(crate) gives_up_after: Option<u64>,
    /// Number of runs, which must have equal digests.
    #[serde(default = "once")]
    pub(crate) runs: usize,
    /// A board in place of the description's.
    pub(crate) board: Option<String>,
    /// Changed facts of the board, by dotted path.
    #[serde(default)]
    pub(crate) facts: BTreeMap<String, Value>,
    /// Changes of the description, as for `--set`.
    #[serde(default)]
    pub(crate) set: BTreeMap<String, String>,
    /// Keys of the description that are left out, by dotted paths; `*` stands for each name.
    #[serde(default)]
    pub(crate) drop: Vec<String>,
    /// Argument words, by partition.
    #[serde(default)]
    pub(crate) arguments: BTreeMap<String, String>,
    /// Guests that are compiled before.
    #[serde(default)]
    pub(crate) guest: BTreeMap<String, Guest>,
    /// The part of the boot image in which a bit is flipped.
    pub(crate) damage: Option<Damage>,
    /// The boot part must refuse to start, with this message.
    pub(crate) refused: Option<Pattern>,
    /// Messages from the host.
    pub(crate) host: Option<FromHost>,
    /// A Zenoh program on the host.
    pub(crate) desk: Option<Desk>,
    /// Lines that are entered on consoles.
    #[serde(default, rename = "type")]
    pub(crate) entered: Vec<EnteredLine>,
    /// The verdict: one pattern for each broken guarantee, none for PASS; without the key, any verdict is allowed.
    pub(crate) broken: Option<Vec<Pattern>>,
    /// Allowed values of figures, by name.
    #[serde(default)]
    pub(crate) figures: BTreeMap<String, Bound>,
    /// Expected events: in this order, or by their number.
    #[serde(default, rename = "event")]
    pub(crate) events: Vec<ExpectedEvent>,
    /// Expected lines of consoles, by partition; `boot` is the boot part's.
    #[serde(default)]
    pub(crate) console: BTreeMap<String, Console>,
}

impl Expectation {
    /// Seconds of virtual time of all runs; an experiment counts as long.
    pub(crate) fn length(&self) -> f64 {
        match self.bench {
            Some(_) => f64::INFINITY,
            None => self.seconds * self.runs as f64,
        }
    }
}

/// A guest that is compiled; the name of the table is that of its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guest {
    /// Sources, relative to the folder.
    pub(crate) sources: Vec<String>,
    /// Folders of headers, relative to the folder.
    #[serde(default)]
    pub(crate) include: Vec<String>,
    /// Macros that are defined.
    #[serde(default)]
    pub(crate) define: Vec<String>,
    /// Form of the file.
    pub(crate) form: Form,
}

/// Form of a guest's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// The linker's output.
    Elf,
    /// The bytes from the load address on.
    Flat,
}

/// A part of the boot image that is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Damage {
    /// The magic number in front of the configuration.
    Magic,
    /// The middle of the configuration.
    Configuration,
    /// The finished translation tables.
    Tables,
    /// The last byte: a guest's image.
    Image,
}

/// A line that is entered once another line has appeared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnteredLine {
    /// The line that has to appear before.
    pub(crate) after: Pattern,
    /// The partition with the console.
    pub(crate) partition: String,
    /// The entered text.
    pub(crate) text: String,
}

/// Messages from the host to a UDP port of a device, each sent once. The run uses the host's clock,
/// and ends once all are sent and enough are answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FromHost {
    /// The device.
    pub(crate) device: String,
    /// Its port.
    pub(crate) port: u16,
    /// Number of messages.
    pub(crate) messages: usize,
    /// Interval of the messages, milliseconds of the host.
    pub(crate) every_ms: u64,
    /// Minimum number of answers.
    pub(crate) answers: usize,
}

/// A bridge on the host, connected to a TCP port of a device. The run uses the host's clock, and
/// ends once the bridge has printed all expected lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Desk {
    /// The device.
    pub(crate) device: String,
    /// Its port.
    pub(crate) port: u16,
    /// Its buffers, in its folder.
    pub(crate) files: Vec<String>,
    /// Further lines of its configuration.
    pub(crate) lines: Vec<String>,
    /// Lines that it must print in this order, with other lines between.
    pub(crate) says: Vec<Pattern>,
}

/// Expected lines of a console.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Console {
    /// Lines in this order, with other lines between.
    pub(crate) order: Vec<Pattern>,
    /// Lines that must not appear.
    pub(crate) never: Vec<Pattern>,
    /// Properties of all lines of a kind, of which there is at least one.
    pub(crate) each: Vec<Each>,
}

/// Each line with `of` also has `has`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Each {
    pub(crate) of: Pattern,
    pub(crate) has: Pattern,
}

const fn usual_length() -> f64 {
    3.0
}

const fn once() -> usize {
    1
}

/// All cases of all folders in `folder`.
pub(crate) fn discover(folder: &Path) -> Result<Vec<Case>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.join(FILE_NAME).is_file());
    folders.sort();
    let boards = boards::read(folder)?;
    let mut cases = Vec::new();
    for folder in folders {
        cases.extend(cases_of(&folder, &boards)?);
    }
    Ok(cases)
}

fn cases_of(folder: &Path, boards: &[TestBoard]) -> Result<Vec<Case>, String> {
    let file = folder.join(FILE_NAME);
    let wrong = |error: String| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
    let mut common: Table = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let stem = folder.file_name().unwrap_or_default().to_string_lossy();
    let variants: BTreeMap<String, Table> = match common.remove(CASES) {
        Some(cases) => cases.try_into().map_err(|error| wrong(error.to_string()))?,
        None => BTreeMap::from([(String::new(), Table::new())]),
    };
    let mut cases = Vec::new();
    for (name, variant) in variants {
        let name = match name.as_str() {
            "" => stem.to_string(),
            variant => format!("{stem}/{variant}"),
        };
        let found = on_boards(&name, folder, merged(common.clone(), variant), boards);
        cases.extend(found.map_err(|error| wrong(format!("{name}: {error}")))?);
    }
    Ok(cases)
}

/// Returns a case on its own board, and on all others on which it can run.
fn on_boards(
    name: &str,
    folder: &Path,
    mut table: Table,
    boards: &[TestBoard],
) -> Result<Vec<Case>, String> {
    let mut special: BTreeMap<String, Table> = match table.remove(BOARDS) {
        Some(special) => special
            .try_into()
            .map_err(|_| "`on` is not a table of tables")?,
        None => BTreeMap::new(),
    };
    let mut cases = vec![case(name, folder, table.clone())?];
    let has_own_board = OWN_BOARD.iter().any(|key| table.contains_key(*key));
    for board in boards {
        let mut changes = special.remove(&board.name).unwrap_or_default();
        if !board.has(name) {
            continue;
        }
        let reason = match changes.remove(IMPOSSIBLE) {
            Some(Value::String(reason)) if !reason.trim().is_empty() => Some(reason),
            Some(_) => return Err(format!("`on.{}.{IMPOSSIBLE}` gives no reason", board.name)),
            None => has_own_board.then(|| "it is about facts of its own board".to_owned()),
        };
        let there = match reason {
            Some(_) => table.clone(),
            None => merged(merged(table.clone(), board.changes.clone()), changes),
        };
        let mut case = case(&format!("{name}@{}", board.name), folder, there)?;
        case.expectation.long |= !board.is_usual(name);
        case.on = Some(board.name.clone());
        case.impossible = reason;
        cases.push(case);
    }
    match special.keys().next() {
        Some(unknown) => Err(format!("there is no board `{unknown}` in boards.toml")),
        None => Ok(cases),
    }
}

fn case(name: &str, folder: &Path, mut table: Table) -> Result<Case, String> {
    let short = name.rsplit('/').next().unwrap_or(name);
    let short = short.split('@').next().unwrap_or(short);
    table
        .iter_mut()
        .for_each(|(_, value)| insert_name(value, short));
    drop_missing(&mut table);
    Ok(Case {
        name: name.to_owned(),
        folder: folder.to_path_buf(),
        expectation: table.try_into().map_err(|error| error.to_string())?,
        on: None,
        impossible: None,
    })
}

/// Drops figures, events and consoles of partitions and channels that are left out: nothing is expected of them.
fn drop_missing(table: &mut Table) {
    let Some(Value::Array(paths)) = table.get(DROP).cloned() else {
        return;
    };
    let whole = paths
        .iter()
        .filter_map(|path| path.as_str()?.split_once('.'));
    let (kinds, names): (Vec<_>, Vec<_>) = whole.partition(|(_, name)| *name == "*");
    let is_kind = |part: &str| kinds.iter().any(|(kind, _)| *kind == part);
    let is_name = |part: &str| names.iter().any(|(_, name)| *name == part);
    if let Some(Value::Table(figures)) = table.get_mut("figures") {
        figures.retain(|name, _| {
            let is_one_of_all = name.split('.').next().is_some_and(is_kind);
            !is_one_of_all && !name.split('.').any(is_name)
        });
    }
    if let Some(Value::Array(events)) = table.get_mut("event") {
        let partition = |event: &Value| event.get("partition")?.as_str().map(is_name);
        events.retain(|event| partition(event) != Some(true));
    }
    if let Some(Value::Table(consoles)) = table.get_mut("console") {
        consoles.retain(|name, _| !is_name(name));
    }
}

/// Replaces `{case}` in texts by the name of the case.
fn insert_name(value: &mut Value, name: &str) {
    match value {
        Value::String(text) => *text = text.replace(PLACE_OF_NAME, name),
        Value::Array(items) => items.iter_mut().for_each(|item| insert_name(item, name)),
        Value::Table(table) => table
            .iter_mut()
            .for_each(|(_, item)| insert_name(item, name)),
        _ => {}
    }
}

/// Merges two tables; other values of `changes` replace those of `common`.
fn merged(mut common: Table, changes: Table) -> Table {
    for (key, value) in changes {
        let value = match (common.remove(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => Value::Table(merged(below, above)),
            (_, value) => value,
        };
        common.insert(key, value);
    }
    common
}
