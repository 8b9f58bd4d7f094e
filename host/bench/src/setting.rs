//! Systems that experiments run: loaded, changed, built, run

use bulkhead_model::Overrides;
use bulkhead_model::system::System;
use bulkhead_plan::manifest::Manifest;
use bulkhead_run::report::Report;
use bulkhead_run::{RunOptions, run};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::error::BenchError;

/// Folders of experiments.
#[derive(Clone, Debug)]
pub struct Context {
    /// The checkout.
    pub root: PathBuf,
    /// Their output folder.
    pub out: PathBuf,
    /// Run the long versions.
    pub long: bool,
    /// The board of experiments that take one, instead of that of their descriptions.
    pub board: Option<String>,
    /// Say nothing of progress.
    pub quiet: bool,
}

/// The system that shows a board which names none.
const SHOWCASE: &str = "systems/drive";

/// A system ready to run.
#[derive(Debug)]
pub(crate) struct Setting {
    /// As it is described.
    pub(crate) system: System,
    /// As it was built.
    pub(crate) manifest: Manifest,
    /// Folder.
    pub(crate) out: PathBuf,
}

impl Context {
    /// A line about an experiment that goes on for long.
    pub(crate) fn progress(&self, line: &str) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }

    /// Builds the system of the folder `system` (below the checkout), as `name`, with `changes` of
    /// its description (`key=value`) and `arguments` of its partitions (name, words).
    pub(crate) fn build(
        &self,
        name: &str,
        system: &str,
        changes: &[&str],
        arguments: &[(&str, &str)],
    ) -> Result<Setting, BenchError> {
        self.build_on(&[], name, system, changes, arguments)
    }

    /// Builds on a kernel that is compiled with these features.
    pub(crate) fn build_on(
        &self,
        kernel_features: &[&str],
        name: &str,
        system: &str,
        changes: &[&str],
        arguments: &[(&str, &str)],
    ) -> Result<Setting, BenchError> {
        let system = self.load(system, changes)?;
        let out = self.out.join(name);
        let argument = |(name, words): &(&str, &str)| ((*name).to_owned(), (*words).to_owned());
        let options = bulkhead_image::BuildOptions {
            root: self.root.clone(),
            out_dir: out.clone(),
            arguments: arguments.iter().map(argument).collect(),
            kernel_features: kernel_features.iter().map(ToString::to_string).collect(),
            quiet: true,
        };
        let built = bulkhead_image::build(&system, &options)
            .map_err(|error| BenchError::Build(Box::new(error)))?;
        Ok(Setting {
            system,
            manifest: built.manifest,
            out,
        })
    }

    /// The system that shows the board, below the checkout.
    pub(crate) fn showcase(&self) -> String {
        let named = self.board.iter().find_map(|board| {
            let file = self.root.join(format!("boards/{board}.toml"));
            let text = std::fs::read_to_string(file).ok()?;
            let table: toml::Table = text.parse().ok()?;
            Some(table.get("showcase")?.as_str()?.to_owned())
        });
        named.unwrap_or_else(|| SHOWCASE.into())
    }

    /// Reads and checks a system below the checkout.
    pub(crate) fn load(&self, system: &str, changes: &[&str]) -> Result<System, BenchError> {
        let board = self
            .board
            .iter()
            .map(|board| format!("system.board={board:?}"));
        let overrides = Overrides {
            set: changes
                .iter()
                .map(ToString::to_string)
                .chain(board)
                .collect(),
            ..Overrides::default()
        };
        bulkhead_model::load(&self.root.join(system), &self.root, &overrides)
            .map(|(system, _)| system)
            .map_err(|findings| BenchError::Refused { findings })
    }
}

impl Setting {
    /// Runs it for `for_ns` of its own time.
    pub(crate) fn run(&self, options: &RunOptions) -> Result<Report, BenchError> {
        let never = AtomicBool::new(false);
        Ok(run(&self.manifest, &self.out, options, &mut (), &never)?)
    }

    /// Options for `seconds` of virtual time.
    pub(crate) fn virtual_seconds(&self, seconds: u64) -> RunOptions {
        RunOptions {
            for_ns: Some(seconds * 1_000_000_000),
            timing: bulkhead_run::machine::Timing::DEFAULT,
            ..RunOptions::of_manifest(&self.manifest)
        }
    }

    /// Folder of its results.
    pub(crate) fn run_folder(&self) -> PathBuf {
        self.out.join("run")
    }

    /// Lines of a console in its last run.
    pub(crate) fn console(&self, partition: &str) -> Result<Vec<String>, BenchError> {
        let path = self.run_folder().join(format!("console-{partition}.log"));
        read_lines(&path)
    }
}

fn read_lines(path: &Path) -> Result<Vec<String>, BenchError> {
    let bytes = std::fs::read(path).map_err(BenchError::file(path))?;
    Ok(String::from_utf8_lossy(&bytes)
        .lines()
        .map(str::to_owned)
        .collect())
}
