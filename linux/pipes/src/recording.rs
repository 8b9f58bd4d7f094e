//! Records messages that leave pipes, in the trace and, if the last stage demands it, in files

use crate::plan::{Pipe, Placement};
use crate::stage::Left;
use crate::start::{Around, StartError};
use crate::trace_file::TraceFile;
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_linux::{Error, Trace};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Capacity of the queue of records.
pub(crate) const NOTES: usize = 256;

/// Receives the records of last stages.
pub(crate) struct Leaving {
    left: Receiver<Left>,
    /// Files by pipe and last stage.
    files: BTreeMap<(Arc<str>, usize), TraceFile>,
}

impl Leaving {
    /// Creates the queue. Returns its sending side for last stages, too.
    pub(crate) fn new() -> (SyncSender<Left>, Self) {
        let (sender, left) = sync_channel(NOTES);
        let files = BTreeMap::new();
        (sender, Self { left, files })
    }

    /// Creates the files of a pipe's last stages. A pipe runs without a file that cannot be
    /// created.
    pub(crate) fn keep(&mut self, pipe: &Pipe, around: &Around<'_>) -> Vec<StartError> {
        let mut refused = Vec::new();
        let stages = pipe.stages.iter().enumerate();
        let filed = stages.filter(|(_, one)| one.filed && one.place != Placement::Elsewhere);
        for (place, _) in filed {
            let Some(folder) = around.outward else {
                continue;
            };
            match TraceFile::new(folder, &pipe.name, place) {
                Ok(file) => _ = self.files.insert((pipe.name.as_str().into(), place), file),
                Err(source) => refused.push(StartError::File {
                    pipe: pipe.name.clone(),
                    source,
                }),
            }
        }
        refused
    }

    /// Records messages that left since the last call.
    ///
    /// # Errors
    /// A file of recorded messages cannot be written; it is not tried again.
    pub(crate) fn record(&mut self, trace: &Trace) -> Result<(), Error> {
        let all: Vec<_> = self.left.try_iter().collect();
        for Left {
            message,
            at,
            places,
        } in &all
        {
            let entries = places.heads.iter().zip(&message.entries);
            for (&head, entry) in entries.filter(|(_, entry)| entry.number != 0) {
                trace.write(&Event {
                    ticks: *at,
                    kind: EventKind::Delivered as u32,
                    sequence: entry.number as u32,
                    a: entry.at,
                    b: head as u64 | (places.tail as u64) << 8,
                    name: name_field(&places.pipe),
                });
            }
        }
        self.file(&all)
    }

    fn file(&mut self, all: &[Left]) -> Result<(), Error> {
        let mut failed = None;
        self.files.retain(|(pipe, place), file| {
            let is_tail = |left: &&Left| left.places.pipe == *pipe && left.places.tail == *place;
            let is_tail: Vec<_> = all.iter().filter(is_tail).collect();
            let written = match is_tail.as_slice() {
                [] => Ok(()),
                is_tail => file.write(is_tail),
            };
            let path = || file.path().to_owned();
            written
                .map_err(|source| {
                    failed = Some(Error::File {
                        path: path(),
                        source,
                    })
                })
                .is_ok()
        });
        failed.map_or(Ok(()), Err)
    }
}
