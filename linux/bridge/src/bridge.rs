//! A bridge: one session, a thread for each endpoint
//!
//! All channels are opened before anything is published, so that a bridge is there as a whole or not at all.

use crate::count::{Exported, Imported, say};
use crate::export::Exporter;
use crate::import::Importer;
use crate::{Config, Error, FileChannel, session};
use bulkhead_linux::{Channel, Description, Partition, Role, ticks};
use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use zenoh::Session;
use zenoh::liveliness::LivelinessToken;

/// A peer that is not there yet is worth a word after so long.
const ALONE: Duration = Duration::from_secs(2);
/// Period of checks for peers.
const LOOK: Duration = Duration::from_millis(50);

/// Endpoints that are bridged.
pub struct Bridge {
    session: Session,
    /// By which nodes of ROS 2 know of it.
    _tokens: Vec<LivelinessToken>,
    connect: Vec<String>,
    /// Status sources, each with its last line.
    status_lines: Vec<(Teller, String)>,
}

/// Returns the status line of an endpoint.
type Teller = Box<dyn Fn() -> String>;

impl Bridge {
    /// Opens the channels and the session, and bridges from here on.
    ///
    /// # Errors
    /// A channel is not there or not for this end, a port cannot be had, or Zenoh refuses.
    pub fn start(config: &Config, partition: Option<&Partition>) -> Result<Self, Error> {
        let open = |name: &str, role| open(config, partition, name, role);
        let exports = config
            .exports
            .iter()
            .map(|one| Ok((one, open(&one.channel, Role::Reader)?)));
        let exports: Vec<_> = exports.collect::<Result<_, Error>>()?;
        let imports = config
            .imports
            .iter()
            .map(|one| Ok((one, open(&one.channel, Role::Writer)?)));
        let imports: Vec<_> = imports.collect::<Result<_, Error>>()?;
        let session = session::open(config)?;
        let (mut runs, mut status_lines): (Vec<Box<dyn FnOnce() + Send>>, Vec<_>) =
            Default::default();
        for (import, channel) in imports {
            let counts = Arc::new(Imported::default());
            let importer = Importer::new(&session, import, channel, Arc::clone(&counts))?;
            runs.push(Box::new(|| importer.run()));
            status_lines.push((
                teller(
                    format!("import {} into {}", import.endpoint, import.channel),
                    counts,
                ),
                String::new(),
            ));
        }
        let start = number_of_start();
        for (export, channel) in exports {
            let counts = Arc::new(Exported::default());
            let exporter = Exporter::new(&session, export, channel, start, Arc::clone(&counts))?;
            runs.push(Box::new(|| exporter.run()));
            status_lines.push((
                teller(
                    format!("export {} as {}", export.channel, export.endpoint),
                    counts,
                ),
                String::new(),
            ));
        }
        let tokens = session::declare(&session, config)?;
        for run in runs {
            thread::spawn(run);
        }
        Ok(Self {
            session,
            _tokens: tokens,
            connect: config.connect.clone(),
            status_lines,
        })
    }

    /// Prints the peers, and every changed status once per period. Never returns.
    pub fn run(mut self, period: Duration) -> ! {
        self.tell();
        let (began, mut reported) = (Instant::now(), Instant::now());
        let mut connected = 0;
        let mut alone = !self.connect.is_empty();
        loop {
            thread::sleep(LOOK.min(period));
            let others = session::others(&self.session);
            if others != connected {
                say(format_args!("{others} others are connected"));
                (connected, alone) = (others, false);
            }
            if alone && began.elapsed() > ALONE {
                alone = false;
                let places = self.connect.join(", ");
                say(format_args!(
                    "nobody answers at {places}; it is tried again until somebody does"
                ));
            }
            if reported.elapsed() >= period {
                reported += period;
                self.tell();
            }
        }
    }

    fn tell(&mut self) {
        for (teller, last) in &mut self.status_lines {
            let line = teller();
            if line != *last {
                say(format_args!("{line}"));
                *last = line;
            }
        }
    }
}

fn teller<C: Display + 'static>(name: String, counts: Arc<C>) -> Teller {
    Box::new(move || format!("{name}: {counts}"))
}

/// A number that no other start has: chance, and the machine's counter, which goes on where chance does not.
fn number_of_start() -> u64 {
    RandomState::new().hash_one(ticks())
}

fn open(
    config: &Config,
    partition: Option<&Partition>,
    name: &str,
    role: Role,
) -> Result<Channel, Error> {
    if let Some(file) = config.channels.iter().find(|one| one.name == name) {
        return Ok(Channel::over_file(&file.file, description_of(file, role))?);
    }
    let none = || bulkhead_linux::Error::NoChannel(name.to_owned());
    Ok(partition.ok_or_else(none)?.channel(name)?)
}

fn description_of(file: &FileChannel, role: Role) -> Description {
    Description {
        name: file.name.clone(),
        peer: String::new(),
        standby: None,
        kind: file.kind,
        role,
        message_bytes: file.bytes,
        messages: file.messages,
        read_only: false,
    }
}
