//! No unbounded loop, no recursion, no lock, no allocation, no panic: shown on the executable
//!
//! Compilers add loops (copies), remove some, and hide others behind calls, so the sources are the
//! wrong place to look. This reads the executable that is delivered: follows every way from its
//! entries, finds all loops and recursions, and wants each loop in a small table beside the sources
//! (`kernel/loops.toml`) with its bound and the reason. A lock would be a loop that waits for another
//! core: its line in the table would have to name a bound that it does not have. The halves of an
//! exclusive pair must be such that the architecture guarantees their progress.
//!
//! Taken for granted: a function returns to its caller, and the reasons in the table are true.

mod cycles;
mod decode;
mod forbidden;
mod graph;
mod image;
mod jump;
mod longest;
mod source;
mod table;
#[cfg(test)]
mod tests;

use crate::workspace::Workspace;
use cycles::Loop;
use graph::{Graph, KnownTargets};
use image::Image;
use longest::Longest;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use source::{Place, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use table::{Bounded, Table};

const TABLES: [&str; 2] = ["kernel/loops.toml", "monitor/loops.toml"];
const TARGET: &str = "aarch64-unknown-none-softfloat";
const PROFILE: &str = "bare";
/// Exception vectors and the distance between them, bytes (Arm ARM D1.3).
const VECTORS: u64 = 16;
const VECTOR_BYTES: u64 = 128;
/// Path of the standard library's allocating half in the debug information.
const ALLOCATING: &str = "library/alloc/";

/// Checks every executable that has a table.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut failed = 0;
    for table in TABLES {
        let wrong = check_one(workspace, table).wrap_err(table)?;
        wrong
            .iter()
            .for_each(|finding| println!("{table}: {finding}\n"));
        failed += usize::from(!wrong.is_empty());
    }
    if failed > 0 {
        return Err(miette!(
            help = "bound what is not bounded, then say in the table how",
            "what these tables say is not what the executables are"
        ));
    }
    Ok(())
}

fn check_one(workspace: &Workspace, path: &str) -> Result<Vec<String>> {
    let path = workspace.root.join(path);
    let text = std::fs::read_to_string(&path).into_diagnostic()?;
    let table: Table = toml::from_str(&text).into_diagnostic()?;
    let bytes = std::fs::read(executable(workspace, &table.package)?).into_diagnostic()?;
    let image = Image::read(&bytes)?;
    let source = Source::read(&workspace.root, &bytes)?;
    let code = Code::walk(&image, &table)?;
    let place = |one: &Loop| source.place(&image, &one.instructions);
    let mut wrong = findings(&code, &table, place);
    let allocating = |at: &&u64| source.is_from(**at, ALLOCATING);
    if let Some(at) = code.graph.nodes.keys().find(allocating) {
        wrong.push(format!("{} is the allocator's", code.name(*at)));
    }
    if let Some(longest) = table.longest {
        wrong.extend(boards_below(workspace, longest)?);
    }
    println!("{}: {}", table.package, code.summary());
    Ok(wrong)
}

/// Boards of which `costs.blocking` is less than the longest way.
fn boards_below(workspace: &Workspace, longest: u64) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(workspace.root.join("boards")).into_diagnostic()? {
        let path = entry.into_diagnostic()?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).into_diagnostic()?;
        let board: toml::Table = toml::from_str(&text).into_diagnostic()?;
        let Some(costs) = board.get("costs") else {
            continue;
        };
        let blocking = costs.get("blocking").and_then(toml::Value::as_integer);
        if blocking.is_none_or(|blocking| blocking.unsigned_abs() < longest) {
            let name = path.display();
            wrong.push(format!("`costs.blocking` of {name} is less than {longest}"));
        }
    }
    Ok(wrong)
}

/// Builds the crate as it is delivered.
fn executable(workspace: &Workspace, package: &str) -> Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(&workspace.root)
        .args(["build", "--quiet", "--package", package])
        .args(["--target", TARGET, "--profile", PROFILE])
        // Flags meant for the machine at hand would be wrong for another.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    if !command.status().into_diagnostic()?.success() {
        return Err(miette!("{package} does not build"));
    }
    let target = workspace.metadata.target_directory.as_std_path();
    Ok(target.join(TARGET).join(PROFILE).join(package))
}

/// All that an executable can do.
struct Code<'i> {
    image: &'i Image,
    graph: Graph,
    after_boot: BTreeSet<u64>,
    /// Entry points after boot.
    entries: Vec<u64>,
    loops: Vec<Loop>,
}

impl<'i> Code<'i> {
    fn walk(image: &'i Image, table: &Table) -> Result<Self> {
        let symbols = |names: &[String]| -> Result<Vec<u64>> {
            names.iter().map(|name| image.symbol(name)).collect()
        };
        let vectors = image.symbol(&table.vectors)?;
        let mut after = symbols(&table.after_boot)?;
        after.extend((0..VECTORS).map(|number| vectors + VECTOR_BYTES * number));
        let entries = [symbols(&table.boot)?, after.clone()].concat();
        let graph = walk_told(image, &entries, table)?;
        Ok(Self {
            image,
            after_boot: graph.reachable(&after),
            entries: after,
            loops: cycles::loops(&graph),
            graph,
        })
    }

    fn name(&self, at: u64) -> String {
        format!("{} ({at:#x})", self.image.function(at))
    }

    fn summary(&self) -> String {
        let retries = self
            .loops
            .iter()
            .filter(|one| one.retries(&self.graph))
            .count();
        let after = self
            .loops
            .iter()
            .filter(|one| self.after_boot.contains(&one.header))
            .count();
        format!(
            "{} instructions reached, {} of them after boot; {} loops, {after} after boot; {retries} retry an exclusive pair",
            self.graph.nodes.len(),
            self.graph
                .nodes
                .keys()
                .filter(|at| self.after_boot.contains(at))
                .count(),
            self.loops.len(),
        )
    }
}

/// Walks again with what the table says of jumps that were lost.
fn walk_told(image: &Image, entries: &[u64], table: &Table) -> Result<Graph> {
    let mut targets = KnownTargets::new();
    loop {
        let graph = graph::walk(image, entries, &targets);
        let before = targets.len();
        for &at in &graph.lost {
            let about = |jump: &&table::Jump| jump.function == image.function(at);
            if let Some(jump) = table.jumps.iter().find(about) {
                let target = |name: &String| place(image, at, name);
                targets.insert(at, jump.to.iter().map(target).collect::<Result<_>>()?);
            }
        }
        if targets.len() == before {
            return Ok(graph);
        }
    }
}

/// `next`, a symbol, or `SYMBOL-N`: so many instructions before it.
fn place(image: &Image, at: u64, name: &str) -> Result<u64> {
    let (symbol, before) = match name
        .rsplit_once('-')
        .map(|(name, n)| (name, n.parse::<u64>()))
    {
        Some((symbol, Ok(before))) => (symbol, before),
        _ => (name, 0),
    };
    if symbol == "next" {
        return Ok(at + 4);
    }
    Ok(image.symbol(symbol)? - 4 * before)
}

/// All that is wrong.
fn findings(code: &Code<'_>, table: &Table, place: impl Fn(&Loop) -> Place) -> Vec<String> {
    let mut wrong = forbidden::forbidden(code);
    wrong.extend(lost(code, table));
    let places: BTreeMap<u64, Place> = code
        .loops
        .iter()
        .map(|one| (one.header, place(one)))
        .collect();
    for one in &code.loops {
        wrong.extend(about_loop(code, table, one, &places[&one.header]));
    }
    let unreasoned = table
        .loops
        .iter()
        .filter(|entry| entry.bound.is_empty() || entry.why.is_empty());
    wrong.extend(unreasoned.map(|entry| format!("bound or reason is missing: {}", entry.name())));
    wrong.extend(length(code, table, &places));
    let stale = |entry: &&Bounded| {
        let about = |one: &Loop| entry.is_about(&places[&one.header], one.retries(&code.graph));
        !code.loops.iter().any(about)
    };
    let stale = table.loops.iter().filter(stale);
    wrong.extend(stale.map(|entry| format!("there is no such loop any more: {}", entry.name())));
    wrong
}

/// Functions with the longest ways that are shown.
const SHOWN: usize = 20;
/// An exclusive pair counts as often. Contention adds the pair once for each success of another core; from Armv8.1 on
/// there are single instructions.
const RETRIES: u64 = 1;

/// Compares the longest way from an exception back with the limit in the table, if it has one.
fn length(code: &Code<'_>, table: &Table, places: &BTreeMap<u64, Place>) -> Vec<String> {
    let Some(limit) = table.longest else {
        return vec![];
    };
    let mut wrong = Vec::new();
    let mut times = BTreeMap::new();
    let after_boot = |one: &&Loop| code.after_boot.contains(&one.header);
    for one in code.loops.iter().filter(after_boot) {
        let retries = one.retries(&code.graph);
        let about = |entry: &&Bounded| entry.is_about(&places[&one.header], retries);
        let entry = table.loops.iter().find(about);
        match entry
            .and_then(|entry| entry.times)
            .or(retries.then_some(RETRIES))
        {
            Some(number) => _ = times.insert(one.header, number),
            None => wrong.push(format!("`times` is missing: {}", code.name(one.header))),
        }
    }
    let called: BTreeSet<u64> = code
        .graph
        .nodes
        .values()
        .flat_map(|node| node.calls.clone())
        .collect();
    let starts = |at: &u64| {
        let function = code.image.function(*at);
        table
            .starting
            .iter()
            .any(|name| function.rsplit("::").next() == Some(name))
    };
    let starting: Vec<u64> = called.into_iter().filter(starts).collect();
    if starting.len() != table.starting.len() {
        wrong.push(format!("not all of {:?} is called once", table.starting));
    }
    let mut longest = Longest::new(&code.graph, times, &starting);
    let ways = code.entries.iter().map(|&at| longest.from(at));
    let length = ways.max().unwrap_or_default();
    println!(
        "{}: the longest way has {length} instructions, in it",
        table.package
    );
    for (length, at) in longest.functions().iter().take(SHOWN) {
        println!("{length:6} {}", code.name(*at));
    }
    // Neither more, nor so much less that the limit says nothing.
    if length > limit || length < limit - limit / 10 {
        wrong.push(format!(
            "the longest way has {length} instructions, and `longest` says {limit}"
        ));
    }
    wrong
}

fn about_loop(code: &Code<'_>, table: &Table, one: &Loop, place: &Place) -> Option<String> {
    let retries = one.retries(&code.graph);
    let boot = !code.after_boot.contains(&one.header);
    let name = code.name(one.header);
    let mut entries = table
        .loops
        .iter()
        .filter(|entry| entry.is_about(place, retries));
    let Some(entry) = entries.next() else {
        return Some(format!(
            "no bound is known of a loop in {name}\n{}",
            line_for(place, boot, retries)
        ));
    };
    if entry.boot && !boot {
        return Some(format!("{name} runs after boot, too: {}", entry.name()));
    }
    (retries && !one.progress_is_guaranteed(&code.graph)).then(|| {
        format!("in {name} more stands between load- and store-exclusive than registers: nothing guarantees that it ends")
    })
}

/// Returns the missing line of the table.
fn line_for(place: &Place, boot: bool, retries: bool) -> String {
    let mut lines = vec!["[[loop]]".to_owned()];
    lines.extend(place.file.as_ref().map(|file| format!("file = {file:?}")));
    lines.push(format!("function = {:?}", place.function));
    lines.extend(place.lines.first().map(|line| format!("source = {line:?}")));
    lines.extend(boot.then(|| "boot = true".to_owned()));
    lines.extend(retries.then(|| "retry = true".to_owned()));
    lines.push("bound = \"\"\nwhy = \"\"".to_owned());
    lines.join("\n")
}

/// Returns jumps with unknown targets, and lines of the table without such a jump.
fn lost(code: &Code<'_>, table: &Table) -> Vec<String> {
    let mut wrong = Vec::new();
    let functions: BTreeSet<&str> = code
        .graph
        .lost
        .iter()
        .map(|&at| code.image.function(at))
        .collect();
    wrong.extend(
        functions.iter().map(|function| {
            format!("a jump through a register goes nobody knows where: {function}")
        }),
    );
    for jump in &table.jumps {
        let targets = |at: &u64| {
            let word = code.graph.nodes[at].word;
            let is_indirect = matches!(
                decode::flow(word, *at),
                decode::Flow::JumpTo(_) | decode::Flow::CallTo(_)
            );
            is_indirect && code.image.function(*at) == jump.function
        };
        if !code.graph.nodes.keys().any(targets) {
            wrong.push(format!(
                "there is no such jump any more: {} ({})",
                jump.function, jump.why
            ));
        }
    }
    wrong
}
