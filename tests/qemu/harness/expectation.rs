//! `expect.toml`: what is tested and what must come of it

use crate::boards::{self, TestBoard};
use crate::bound::Bound;
use crate::pattern::Pattern;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

const FILE_NAME: &str = "expect.toml";
/// The table of cases that add to what stands above it.
const CASES: &str = "case";
/// The table of boards on which a case expects something else, or cannot run.
const BOARDS: &str = "on";
/// Reason why a case cannot run on a board.
const IMPOSSIBLE: &str = "impossible";
/// Keys of the description that are left out.
const DROP: &str = "drop";
/// Facts of the case's own board: it says nothing about another.
const OWN_BOARD: [&str; 2] = ["board", "facts"];
/// Stands for the name of the case in its texts.
const PLACE_OF_NAME: &str = "{case}";

/// One test.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// `FOLDER` or `FOLDER/CASE`.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// What is expected.
    pub(crate) expectation: Expectation,
    /// The board of `boards.toml` on which it runs, if it is not its own.
    pub(crate) on: Option<String>,
    /// Why it cannot run there.
    pub(crate) impossible: Option<String>,
}

/// What is tested, and what must come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Expectation {
    /// For whoever reads a failure.
    pub(crate) what: String,
    /// Whether it belongs to the long tests.
    #[serde(default)]
    pub(crate) long: bool,
    /// The case is a row of `bulkhead bench attack`.
    #[serde(default)]
    pub(crate) attack: bool,
    /// A system of the checkout, or the experiment `bench`; else the folder's own `system.toml`.
    pub(crate) system: Option<PathBuf>,
    /// An experiment whose promise must hold.
    pub(crate) bench: Option<String>,
    /// Seconds of virtual time.
    #[serde(rename = "for", default = "usual_length")]
    pub(crate) seconds: f64,
    /// The run is given up once the machine's clock has stood still for so many seconds of the host's.
    pub(crate) gives_up_after: Option<u64>,
    /// Runs, whose digests must be equal.
    #[serde(default = "once")]
    pub(crate) runs: usize,
    /// Another board than the description's.
    pub(crate) board: Option<String>,
    /// Facts of the board that are changed, by the dotted paths of their keys.
    #[serde(default)]
    pub(crate) facts: BTreeMap<String, Value>,
    /// Changes of the description, as after `--set`.
    #[serde(default)]
    pub(crate) set: BTreeMap<String, String>,
    /// Keys of the description that are left out, by dotted paths; `*` stands for each name.
    #[serde(default)]
    pub(crate) drop: Vec<String>,
    /// Argument words, by partition.
    #[serde(default)]
    pub(crate) arguments: BTreeMap<String, String>,
    /// Guests that are compiled first.
    #[serde(default)]
    pub(crate) guest: BTreeMap<String, Guest>,
    /// A bit of the boot image that is turned over.
    pub(crate) damage: Option<Damage>,
    /// Nothing starts, and this is said.
    pub(crate) refused: Option<Pattern>,
    /// Messages from the host.
    pub(crate) host: Option<FromHost>,
    /// A Zenoh program on the host.
    pub(crate) desk: Option<Desk>,
    /// Lines that are typed.
    #[serde(default, rename = "type")]
    pub(crate) typed: Vec<Typed>,
    /// What figures may be, by their names.
    #[serde(default)]
    pub(crate) figures: BTreeMap<String, Bound>,
    /// What consoles say, by partition; `boot` is the boot part's.
    #[serde(default)]
    pub(crate) console: BTreeMap<String, Console>,
}

impl Expectation {
    /// Seconds of virtual time over all runs; what an experiment takes is unknown, and long.
    pub(crate) fn length(&self) -> f64 {
        match self.bench {
            Some(_) => f64::INFINITY,
            None => self.seconds * self.runs as f64,
        }
    }
}

/// A guest that is compiled: its file's name is the table's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guest {
    /// Sources, in the folder.
    pub(crate) sources: Vec<String>,
    /// Form of the file.
    pub(crate) form: Form,
}

/// Form of a guest's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// As the linker makes it.
    Elf,
    /// Its bytes from the load address on.
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

/// A line that is typed once another line was seen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typed {
    /// The line that is waited for.
    pub(crate) after: Pattern,
    /// On whose console, and into whose the text goes.
    pub(crate) partition: String,
    /// What is typed.
    pub(crate) text: String,
}

/// Messages to a UDP port of a device, by way of one of the host, each sent once. The run is by the host's clock, and
/// over once all were sent and enough answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FromHost {
    /// The device.
    pub(crate) device: String,
    /// Its port.
    pub(crate) port: u16,
    /// How many.
    pub(crate) messages: usize,
    /// From one to the next, milliseconds of the host.
    pub(crate) every_ms: u64,
    /// How many of them must be answered.
    pub(crate) answers: usize,
}

/// A bridge on the host that connects to a TCP port of a device, by way of one of the host. The run is by the host's clock, and over once it
/// has said all that is awaited.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Desk {
    /// The device.
    pub(crate) device: String,
    /// Its port.
    pub(crate) port: u16,
    /// Its buffers, in its folder.
    pub(crate) files: Vec<String>,
    /// What it is told besides.
    pub(crate) lines: Vec<String>,
    /// What it says, in this order, other lines between.
    pub(crate) says: Vec<Pattern>,
}

/// What a console says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Console {
    /// Lines that come in this order, others between them.
    pub(crate) order: Vec<Pattern>,
    /// Lines that never come.
    pub(crate) never: Vec<Pattern>,
    /// What all lines of a sort have; there is at least one.
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
    for (name, own) in variants {
        let name = match name.as_str() {
            "" => stem.to_string(),
            own => format!("{stem}/{own}"),
        };
        let found = on_boards(&name, folder, merged(common.clone(), own), boards);
        cases.extend(found.map_err(|error| wrong(format!("{name}: {error}")))?);
    }
    Ok(cases)
}

/// A case on its own board, and on all others that it can run on.
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
        let mut own = special.remove(&board.name).unwrap_or_default();
        let reason = match own.remove(IMPOSSIBLE) {
            Some(Value::String(reason)) if !reason.trim().is_empty() => Some(reason),
            Some(_) => return Err(format!("`on.{}.{IMPOSSIBLE}` gives no reason", board.name)),
            None => has_own_board.then(|| "it is about facts of its own board".to_owned()),
        };
        let there = match reason {
            Some(_) => table.clone(),
            None => merged(merged(table.clone(), board.changes.clone()), own),
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
    let own = name.rsplit('/').next().unwrap_or(name);
    let own = own.split('@').next().unwrap_or(own);
    table
        .iter_mut()
        .for_each(|(_, value)| insert_name(value, own));
    drop_missing(&mut table);
    Ok(Case {
        name: name.to_owned(),
        folder: folder.to_path_buf(),
        expectation: table.try_into().map_err(|error| error.to_string())?,
        on: None,
        impossible: None,
    })
}

/// Drops figures and consoles of partitions and channels that are left out: nothing is expected of them.
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
    if let Some(Value::Table(consoles)) = table.get_mut("console") {
        consoles.retain(|name, _| !is_name(name));
    }
}

/// Texts say `{case}` for the name of the case.
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

/// Tables are merged, everything else is replaced.
fn merged(mut common: Table, own: Table) -> Table {
    for (key, value) in own {
        let value = match (common.remove(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => Value::Table(merged(below, above)),
            (_, value) => value,
        };
        common.insert(key, value);
    }
    common
}
