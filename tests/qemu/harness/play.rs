//! Enters lines on consoles while a system runs, and stores the output

use crate::expectation::EnteredLine;
use crate::outside::Outside;
use bulkhead_plan::manifest::Manifest;
use bulkhead_run::Observer;
use bulkhead_run::machine::RunFolder;
use bulkhead_run::report::Live;
use bulkhead_run::watch::{stamp_ns, type_line};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Output by console.
pub(crate) type Lines = BTreeMap<String, Vec<String>>;

/// An observer that enters lines.
pub(crate) struct Player<'m> {
    manifest: &'m Manifest,
    folder: RunFolder,
    pending: VecDeque<&'m EnteredLine>,
    due: Vec<&'m EnteredLine>,
    /// Output up to the cut.
    pub(crate) lines: Lines,
    /// Time of the cut in nanoseconds. Lines with a later stamp, and all lines behind them, are
    /// ignored, because it depends on the host how far the machine runs on until it is stopped.
    cut_ns: u64,
    /// Consoles with output behind the cut.
    past: BTreeSet<String>,
    /// Errors in entering lines.
    pub(crate) failures: Vec<String>,
    /// Lines on their way through the emulated UART, which may be slow while the machine continues.
    typing: Vec<JoinHandle<Option<String>>>,
    outside: Option<&'m mut Box<dyn Outside>>,
    /// Flag that ends the run.
    over: &'m AtomicBool,
}

impl<'m> Player<'m> {
    pub(crate) fn new(
        manifest: &'m Manifest,
        folder: RunFolder,
        entered: &'m [EnteredLine],
        cut_ns: u64,
        outside: Option<&'m mut Box<dyn Outside>>,
        over: &'m AtomicBool,
    ) -> Self {
        Self {
            manifest,
            folder,
            pending: entered.iter().collect(),
            due: Vec::new(),
            lines: Lines::new(),
            cut_ns,
            past: BTreeSet::new(),
            failures: Vec::new(),
            typing: Vec::new(),
            outside,
            over,
        }
    }

    /// Returns the output, and the lines that could not be entered.
    pub(crate) fn finish(mut self) -> (Lines, Vec<String>) {
        let typing = self.typing.drain(..);
        let failed = typing.filter_map(|line| line.join().ok().flatten());
        self.failures.extend(failed);
        let waiting = self.pending.iter().map(|entered| {
            let after = &entered.after;
            format!("`{}` was not typed: `{after}` never came", entered.text)
        });
        let unanswered = self.outside.as_ref().and_then(|outside| outside.failure());
        let failures = self.failures.iter().cloned();
        let failures = failures.chain(waiting).chain(unanswered).collect();
        (self.lines, failures)
    }

    fn type_due(&mut self) {
        for entered in self.due.drain(..) {
            let mut all = self.manifest.partitions.iter();
            let Some(partition) = all.find(|p| p.name == entered.partition) else {
                let failure = format!("there is no partition `{}`", entered.partition);
                self.failures.push(failure);
                continue;
            };
            if partition.console.is_some() {
                let result = type_line(self.manifest, partition, &self.folder, &entered.text);
                self.failures
                    .extend(result.err().map(|error| error.to_string()));
                continue;
            }
            let (manifest, partition) = (self.manifest.clone(), partition.clone());
            let (folder, text) = (self.folder.clone(), entered.text.clone());
            self.typing.push(std::thread::spawn(move || {
                let result = type_line(&manifest, &partition, &folder, &text);
                result.err().map(|error| error.to_string())
            }));
        }
    }
}

impl Observer for Player<'_> {
    fn line(&mut self, name: &str, text: &str) {
        if stamp_ns(text).is_some_and(|ns| ns > self.cut_ns) {
            self.past.insert(name.into());
        }
        if !self.past.contains(name) {
            self.lines.entry(name.into()).or_default().push(text.into());
        }
        let awaited = self.pending.front();
        if awaited.is_some_and(|entered| entered.partition == name && entered.after.is_in(text)) {
            self.due.extend(self.pending.pop_front());
        }
    }

    fn live(&mut self, _: &Live) {
        self.type_due();
        if let Some(outside) = &mut self.outside {
            self.over.store(outside.look(), Ordering::Relaxed);
        }
    }

    fn notice(&mut self, _: &str) {}
}
