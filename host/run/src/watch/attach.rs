//! One partition's console, from outside the process that runs the machine

use bulkhead_buffers::recorder::stream;
use bulkhead_buffers::{Error, ring};
use bulkhead_plan::manifest::{ConsoleManifest, Manifest, PartitionManifest, Region};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use super::console::recorder_layout;
use crate::error::RunError;
use crate::machine::RunFolder;
use crate::ram::Ram;

/// How long a partition may take to read what is typed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked at whether it did.
const RETRY: Duration = Duration::from_millis(5);
/// Cursor lines of a ring, bytes.
const RING_LINES: u64 = 128;
/// Bytes a message of one byte takes in a ring.
const WORD: u64 = 8;

/// A console that can be read.
#[derive(Debug)]
pub struct Attachment {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Memory(Box<Ram>, Region),
    Log(std::path::PathBuf),
}

/// Reads an attached console.
pub struct AttachedReader<'a> {
    from: From<'a>,
}

enum From<'a> {
    Memory(stream::Reader<'a>),
    Log(Option<File>, &'a std::path::Path),
}

impl Attachment {
    /// Attaches to the console of `partition` in the machine that runs in `folder`.
    ///
    /// # Errors
    /// The system does not run.
    pub fn new(
        manifest: &Manifest,
        partition: &PartitionManifest,
        folder: &RunFolder,
    ) -> Result<Self, RunError> {
        let session = folder.running()?;
        let source = match partition.console {
            None => Source::Log(folder.uart_log()),
            Some(console) => {
                let ranges = &manifest.machine.memory;
                let ram = Ram::of_process(session.pid, session.ram_fd, ranges)?;
                Source::Memory(Box::new(ram), console.output)
            }
        };
        Ok(Self { source })
    }

    /// Begins with the oldest output that is still there.
    ///
    /// # Errors
    /// The manifest does not fit the machine.
    pub fn reader(&self) -> Result<AttachedReader<'_>, RunError> {
        let from = match &self.source {
            Source::Log(path) => From::Log(None, path),
            Source::Memory(ram, region) => {
                let layout = recorder_layout(region.size)?;
                let reader = stream::Reader::attach(ram.view(*region)?, &layout);
                From::Memory(reader.map_err(|_| outside(*region))?)
            }
        };
        Ok(AttachedReader { from })
    }
}

impl AttachedReader<'_> {
    /// Returns new bytes, as they were printed.
    pub fn read(&mut self) -> Vec<u8> {
        let mut buffer = vec![0; 1 << 16];
        let count = match &mut self.from {
            From::Memory(reader) => reader.read(&mut buffer).map_or(0, |read| read.count),
            From::Log(file, path) => {
                if file.is_none() {
                    *file = File::open(path).ok();
                }
                file.as_mut()
                    .map_or(0, |file| file.read(&mut buffer).unwrap_or(0))
            }
        };
        buffer.truncate(count);
        buffer
    }
}

/// Types `text` and a line end into the console of `partition`.
///
/// # Errors
/// The system does not run, or the partition does not take it.
pub fn type_line(
    manifest: &Manifest,
    partition: &PartitionManifest,
    folder: &RunFolder,
    text: &str,
) -> Result<(), RunError> {
    let session = folder.running()?;
    let line = format!("{text}\n");
    match partition.console {
        None => type_into_uart(folder, &partition.name, line.as_bytes()),
        Some(console) => {
            let ranges = &manifest.machine.memory;
            let ram = Ram::of_process(session.pid, session.ram_fd, ranges)?;
            type_into_ring(&ram, console, &partition.name, line.as_bytes())
        }
    }
}

fn type_into_ring(
    ram: &Ram,
    console: ConsoleManifest,
    name: &str,
    line: &[u8],
) -> Result<(), RunError> {
    let region = console.input;
    let capacity = region.size.saturating_sub(RING_LINES) / WORD;
    let no_input = || RunError::NoInput { name: name.into() };
    let layout = ring::Layout::for_messages(1, capacity as usize).map_err(|_| no_input())?;
    let window = ram.writable(region)?;
    let producer = ring::Producer::attach(window.region()?, &layout);
    let mut producer = producer.map_err(|_| no_input())?;
    let deadline = Instant::now() + PATIENCE;
    let mut rest = line;
    while let Some(byte) = rest.first() {
        match producer.try_push(&[*byte]) {
            Ok(()) => rest = &rest[1..],
            Err(Error::Full) if Instant::now() < deadline => std::thread::sleep(RETRY),
            Err(_) => {
                return Err(RunError::InputFull {
                    name: name.into(),
                    rest: rest.len(),
                });
            }
        }
    }
    Ok(())
}

/// The emulator closes the connection once the guest has taken everything.
fn type_into_uart(folder: &RunFolder, name: &str, line: &[u8]) -> Result<(), RunError> {
    let mut stream = folder.connect_uart()?;
    let exchange = |stream: &mut std::os::unix::net::UnixStream| -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(line)?;
        stream.shutdown(Shutdown::Write)?;
        io::copy(stream, &mut io::sink()).map(drop)
    };
    exchange(&mut stream).map_err(|_| RunError::InputFull {
        name: name.into(),
        rest: line.len(),
    })
}

fn outside(region: Region) -> RunError {
    RunError::Outside {
        pa: region.pa,
        size: region.size,
    }
}
