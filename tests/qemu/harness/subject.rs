//! One test: build the system, run it, compare

use crate::desk::Beside;
use crate::expectation::{Case, Damage, Expectation};
use crate::guest;
use crate::outside::{Messages, Outside};
use crate::play::{Lines, Player};
use crate::{board, checks};
use bulkhead_abi::boot::{BootHeader, IMAGE_HEADER_SIZE};
use bulkhead_abi::config::{CONFIG_MAGIC, Config, ImageCheck};
use bulkhead_image::{BOOT_IMAGE, BuildOptions};
use bulkhead_model::render::{Style, render};
use bulkhead_model::system::System;
use bulkhead_model::{Diagnostic, Overrides, Severity};
use bulkhead_plan::manifest::Manifest;
use bulkhead_run::machine::{RunFolder, Timing};
use bulkhead_run::report::Report;
use bulkhead_run::{RunError, RunOptions};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use toml::{Table, Value};
use zerocopy::FromBytes;

/// Folder in which tests are built and run, relative to the root of the checkout.
const OUT: &str = "out/tests";
/// Names the tested checkout if it is not the one around this program.
const ROOT_VARIABLE: &str = "BULKHEAD_ROOT";

/// Builds and runs a case; the error lists all differences.
pub(crate) fn examine(case: &Case) -> Result<(), String> {
    let expected = &case.expectation;
    let root = root()?;
    let out = root.join(OUT).join(&case.name);
    let trouble = match &expected.bench {
        Some(id) => broken_guarantees(expected, &root, &out, id)?,
        None => behaviour(case, &root, &out)?,
    };
    if trouble.is_empty() {
        return Ok(());
    }
    let folder = out.join("run");
    Err(format!(
        "{}\n- {}\n(results in {})",
        expected.what,
        trouble.join("\n- "),
        folder.display()
    ))
}

/// Folder in which a case is built and run.
pub(crate) fn folder(case: &Case) -> Result<PathBuf, String> {
    Ok(root()?.join(OUT).join(&case.name))
}

fn root() -> Result<PathBuf, String> {
    if let Some(root) = std::env::var_os(ROOT_VARIABLE) {
        return Ok(root.into());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.map(Path::to_path_buf)
        .ok_or_else(|| "there is no checkout around the tests".into())
}

/// Rules that a board with fewer cores or devices breaks.
const TOO_SMALL: [&str; 4] = [
    "device-kind",
    "heartbeat-unwatched",
    "too-many-cores",
    "unknown-device",
];

/// Why a case does not fit its board, as the rules report it. Any other error shows when the case runs.
pub(crate) fn misfit(case: &Case) -> Option<String> {
    let expected = &case.expectation;
    if let Some(id) = &expected.bench {
        let benches = bulkhead_bench::all();
        let bench = benches.iter().find(|bench| bench.id() == id)?;
        return (!bench.takes_board()).then(|| "the experiment is about its own board".into());
    }
    let root = root().ok()?;
    let out = root.join(OUT).join(&case.name);
    let findings = description(case, &root, &out, None).ok()?.err()?;
    let errors = findings
        .iter()
        .filter(|one| one.severity == Severity::Error);
    let mut reasons = errors.filter(|one| TOO_SMALL.contains(&one.id));
    reasons
        .next()
        .map(|one| format!("{}: {}", one.id, one.message))
}

/// Rows of an experiment with a broken guarantee.
fn broken_guarantees(
    expected: &Expectation,
    root: &Path,
    out: &Path,
    id: &str,
) -> Result<Vec<String>, String> {
    let bench = bulkhead_bench::all()
        .into_iter()
        .find(|bench| bench.id() == id);
    let bench = bench.ok_or_else(|| format!("there is no experiment {id}"))?;
    let long = std::env::var_os("BULKHEAD_LONG").is_some();
    let context = bulkhead_bench::Context {
        root: root.into(),
        out: out.into(),
        long,
        board: board_of(expected, root, out)?,
        quiet: true,
    };
    let report = bench.run(&context).map_err(text)?;
    Ok(report
        .rows
        .iter()
        .filter(|row| !row.ok)
        .map(|row| format!("{row:?}"))
        .collect())
}

fn behaviour(case: &Case, root: &Path, out: &Path) -> Result<Vec<String>, String> {
    let expected = &case.expectation;
    let mut outside = outside(case, root, out)?;
    let manifest = build(case, root, out, outside.as_deref())?;
    if let Some(damage) = expected.damage {
        turn_over(damage, &out.join(BOOT_IMAGE))?;
    }
    if let Some(pattern) = &expected.refused {
        return match run(case, &manifest, out, None) {
            Err(RunError::BootFailed { message }) if pattern.is_in(&message) => Ok(Vec::new()),
            Err(error) => Ok(vec![format!("`{pattern}` was not printed: {error}")]),
            Ok(_) => Ok(vec!["it was not refused".into()]),
        };
    }
    let mut trouble = Vec::new();
    let mut digests = BTreeSet::new();
    for _ in 0..expected.runs {
        let (report, (lines, untyped)) =
            run(case, &manifest, out, outside.as_mut()).map_err(text)?;
        trouble.extend(untyped);
        trouble.extend(checks::differences(expected, &report, &lines));
        digests.insert(report.digest);
    }
    if expected.runs > 1 && (digests.len() > 1 || digests.contains(&None)) {
        trouble.push(format!(
            "{} runs have the digests {digests:?}",
            expected.runs
        ));
    }
    Ok(trouble)
}

/// The program on the host, if the case has one.
fn outside(case: &Case, root: &Path, out: &Path) -> Result<Option<Box<dyn Outside>>, String> {
    let Expectation { host, desk, .. } = &case.expectation;
    Ok(match (host, desk) {
        (Some(expected), _) => Some(Box::new(Messages::new(expected).map_err(text)?)),
        (_, Some(expected)) => Some(Box::new(Beside::new(expected, root, out)?)),
        _ => None,
    })
}

fn build(
    case: &Case,
    root: &Path,
    out: &Path,
    outside: Option<&dyn Outside>,
) -> Result<Manifest, String> {
    let system = load(case, root, out, outside)?;
    let options = BuildOptions {
        root: root.into(),
        out_dir: out.into(),
        arguments: case.expectation.arguments.clone(),
        quiet: true,
        ..BuildOptions::default()
    };
    let built = bulkhead_image::build(&system, &options);
    built.map(|built| built.manifest).map_err(|error| {
        let detail = error.detail.unwrap_or(error.help);
        format!("{}: {detail}", error.message)
    })
}

/// Copies a folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => std::fs::copy(entry.path(), target).map(drop)?,
        }
    }
    Ok(())
}

fn load(
    case: &Case,
    root: &Path,
    out: &Path,
    outside: Option<&dyn Outside>,
) -> Result<System, String> {
    description(case, root, out, outside)?.map_err(|findings| render(&findings, Style::default()))
}

/// The system of a case, or what rules find. The folder of the case is copied whole, beside its compiled guests.
fn description(
    case: &Case,
    root: &Path,
    out: &Path,
    outside: Option<&dyn Outside>,
) -> Result<Result<System, Vec<Diagnostic>>, String> {
    let expected = &case.expectation;
    let description = match &expected.system {
        Some(system) if expected.drop.is_empty() && expected.guest.is_empty() => root.join(system),
        system => {
            let original = match system {
                Some(system) => root.join(system),
                None => case.folder.clone(),
            };
            let folder = out.join("source");
            // Files of an earlier run may no longer be in the case's folder.
            let _absent = std::fs::remove_dir_all(&folder);
            copy_folder(&original, &folder).map_err(text)?;
            let copy = folder.join("system.toml");
            reduce(&original.join("system.toml"), &expected.drop, &copy)?;
            for (file, guest) in &expected.guest {
                guest::compile(guest, &case.folder, &folder.join(file))?;
            }
            folder.join("system.toml")
        }
    };
    let set = expected
        .set
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    let forward = outside.map(Outside::change);
    let board = board_of(expected, root, out)?;
    let board = board.map(|board| format!("system.board={board:?}"));
    let overrides = Overrides {
        set: set.chain(forward).chain(board).collect(),
        ..Overrides::default()
    };
    let loaded = bulkhead_model::load(&description, root, &overrides);
    Ok(loaded.map(|(system, _remarks)| system))
}

/// The board that a case has instead of its description's.
fn board_of(expected: &Expectation, root: &Path, out: &Path) -> Result<Option<String>, String> {
    let board = expected.board.as_deref();
    if expected.facts.is_empty() {
        return Ok(board.map(str::to_owned));
    }
    board::with_facts(root, out, board, &expected.facts).map(Some)
}

/// Copies a description, without some of its keys.
fn reduce(original: &Path, drop: &[String], copy: &Path) -> Result<(), String> {
    let mut content = std::fs::read_to_string(original).map_err(text)?;
    if !drop.is_empty() {
        let mut table: Table = toml::from_str(&content).map_err(text)?;
        for path in drop {
            remove(&mut table, path);
        }
        content = toml::to_string(&table).map_err(text)?;
    }
    std::fs::write(copy, content).map_err(text)
}

fn remove(table: &mut Table, path: &str) {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(first, rest)| (first, Some(rest)));
    let names: Vec<String> = match first {
        "*" => table.keys().cloned().collect(),
        name => vec![name.to_owned()],
    };
    for name in names {
        match (rest, table.get_mut(&name)) {
            (None, _) => drop(table.remove(&name)),
            (Some(rest), Some(Value::Table(below))) => remove(below, rest),
            _ => {}
        }
    }
}

/// Flips one bit of the boot image.
fn turn_over(damage: Damage, image: &Path) -> Result<(), String> {
    let mut bytes = std::fs::read(image).map_err(text)?;
    let place = place_of(damage, &bytes).ok_or("the boot image has no configuration")?;
    bytes[place] ^= 1;
    std::fs::write(image, bytes).map_err(text)
}

/// Offset of the damage in the boot image.
fn place_of(damage: Damage, bytes: &[u8]) -> Option<usize> {
    let magic = CONFIG_MAGIC.to_le_bytes();
    let at = bytes.windows(8).step_by(8).position(|word| word == magic)? * 8;
    let (config, _) = Config::read_from_prefix(&bytes[at..]).ok()?;
    let (header, _) = BootHeader::read_from_prefix(&bytes[IMAGE_HEADER_SIZE..]).ok()?;
    // Images may lie below the configuration.
    let offset = |pa: u64| (pa + at as u64 - header.config_pa) as usize;
    Some(match damage {
        Damage::Magic => at,
        Damage::Configuration => at + config.size as usize / 2,
        Damage::Tables => offset(config.tables_pa + config.tables_size / 2),
        Damage::Image => {
            let images = &bytes[at + config.images.offset as usize..];
            let (image, _) = ImageCheck::read_from_prefix(images).ok()?;
            offset(image.pa + image.size / 2)
        }
    })
}

/// Each run begins with new memory.
fn run(
    case: &Case,
    manifest: &Manifest,
    out: &Path,
    outside: Option<&mut Box<dyn Outside>>,
) -> Result<(Report, (Lines, Vec<String>)), RunError> {
    let expected = &case.expectation;
    let usual = RunOptions::of_manifest(manifest);
    let patience = expected.gives_up_after.map(Duration::from_secs);
    let for_ns = (expected.seconds * 1e9) as u64;
    let (timing, cut_ns) = match outside {
        None => (Timing::DEFAULT, for_ns),
        Some(_) => (Timing::Real, u64::MAX),
    };
    let options = RunOptions {
        timing,
        for_ns: Some(for_ns),
        patience: patience.unwrap_or(usual.patience),
        ..usual
    };
    let folder = RunFolder::new(out, &manifest.name);
    let over = AtomicBool::new(false);
    let mut player = Player::new(manifest, folder, &expected.entered, cut_ns, outside, &over);
    let report = bulkhead_run::run(manifest, out, &options, &mut player, &over)?;
    Ok((report, player.finish()))
}

fn text(error: impl Display) -> String {
    error.to_string()
}
