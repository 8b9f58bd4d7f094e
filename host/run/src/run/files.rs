//! Result files of a run
//!
//! `console-PARTITION.log`, `trace-PARTITION.csv` and `CHANNEL.csv`, for whatever people plot with.

use bulkhead_abi::name_text;
use bulkhead_abi::trace::{Event, EventKind, SCHEMAS};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::RunError;
use crate::watch::Clock;

const TRACE_HEAD: &str = "time_s,ticks,event,name,sequence,a,b\n";

/// The open files.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    open: BTreeMap<String, BufWriter<File>>,
    /// First row of each recorder channel.
    columns: BTreeMap<String, String>,
}

impl Files {
    /// Files in `folder`, made as needed.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.into(),
            open: BTreeMap::new(),
            columns: BTreeMap::new(),
        }
    }

    /// A line of a console.
    pub(crate) fn console_line(&mut self, name: &str, text: &str) -> Result<(), RunError> {
        self.append(&format!("console-{name}.log"), "", format_args!("{text}\n"))
    }

    /// A trace event. Signals show their value in column `a`.
    pub(crate) fn event(
        &mut self,
        partition: &str,
        event: &Event,
        clock: &Clock,
    ) -> Result<(), RunError> {
        let signal = event.kind == EventKind::Signal as u32;
        let a = if signal {
            f64::from_bits(event.a).to_string()
        } else {
            event.a.to_string()
        };
        let line = format_args!(
            "{:.9},{},{},{},{},{a},{}\n",
            clock.ns(event.ticks) as f64 / 1e9,
            event.ticks,
            SCHEMAS
                .get(event.kind as usize)
                .map_or("unknown", |one| one.name),
            csv_text(name_text(&event.name)),
            event.sequence,
            event.b,
        );
        self.append(&format!("trace-{partition}.csv"), TRACE_HEAD, line)
    }

    /// A message of a recorder channel. Text is a row as it is, the first one names the columns
    /// (again after each restart of the writer); anything else becomes hexadecimal.
    pub(crate) fn record(&mut self, channel: &str, body: &[u8]) -> Result<(), RunError> {
        let end = body
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        let row = match std::str::from_utf8(&body[..end]) {
            Ok(text) if !text.contains(char::is_control) => text.to_owned(),
            _ => body.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        let columns = self.columns.entry(channel.into()).or_default();
        if *columns == row {
            return Ok(());
        }
        if columns.is_empty() {
            columns.clone_from(&row);
        }
        self.append(&format!("{channel}.csv"), "", format_args!("{row}\n"))
    }

    /// Writes out what is buffered.
    pub(crate) fn finish(&mut self) -> Result<(), RunError> {
        for (name, file) in &mut self.open {
            file.flush()
                .map_err(RunError::file(self.folder.join(name)))?;
        }
        Ok(())
    }

    fn append(
        &mut self,
        name: &str,
        head: &str,
        line: std::fmt::Arguments<'_>,
    ) -> Result<(), RunError> {
        let path = self.folder.join(name);
        if !self.open.contains_key(name) {
            let mut file = BufWriter::new(File::create(&path).map_err(RunError::file(&path))?);
            file.write_all(head.as_bytes())
                .map_err(RunError::file(&path))?;
            self.open.insert(name.into(), file);
        }
        let file = self.open.get_mut(name);
        file.map_or(Ok(()), |file| file.write_fmt(line))
            .map_err(RunError::file(path))
    }
}

/// A name in a table: what would break the row is left out.
fn csv_text(name: &str) -> String {
    name.chars()
        .filter(|c| !c.is_control() && !",\"".contains(*c))
        .collect()
}
