//! The partition that this Linux runs in

use crate::attributes;
use crate::channel::{Channel, Description};
use crate::error::Error;
use crate::link::{Link, Peer};
use crate::map::Mapping;
use crate::trace::Trace;
use bulkhead_abi::status::{STATUS_SIZE, Status};
use std::fs::File;
use std::path::{Path, PathBuf};
use zerocopy::FromBytes;

/// Name of the other end of a channel that the host tool reads.
const HOST: &str = "host";

/// A tty of another partition's console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Console {
    /// The partition.
    pub partition: String,
    /// The device file.
    pub tty: PathBuf,
}

/// Requests of a privileged partition about another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Restart from the pristine image.
    Restart,
    /// Stop and stay stopped.
    Halt,
}

/// The partition, as the kernel module shows it.
pub struct Partition {
    root: PathBuf,
    name: String,
    argument: String,
}

impl Partition {
    /// The partition of this Linux.
    ///
    /// # Errors
    /// [`Error::NoPartition`] where the module is not loaded or found no partition.
    pub fn open() -> Result<Self, Error> {
        Self::at(Path::new("/"))
    }

    /// Opens the partition below another root, for tests.
    pub(crate) fn at(root: &Path) -> Result<Self, Error> {
        let node = root.join("sys/devices/platform/bulkhead");
        if !node.join("up").exists() {
            return Err(Error::NoPartition(node));
        }
        let of_build = attributes::text(&node, "argument")?;
        let of_boot = attributes::text(&root.join("proc"), "cmdline")?;
        Ok(Self {
            root: root.to_owned(),
            name: attributes::text(&node, "name")?,
            argument: arguments(&of_build, &of_boot),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of the argument word `key=value`, the first one; `""` for a bare `key`.
    #[must_use]
    pub fn argument(&self, key: &str) -> Option<&str> {
        self.argument.split_ascii_whitespace().find_map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            (name == key).then_some(value)
        })
    }

    /// Returns the packed pipes with stages in this partition (`bulkhead_abi::pipe`); `None` if it
    /// runs none.
    #[must_use]
    pub fn pipes(&self) -> Option<Vec<u8>> {
        std::fs::read(self.root.join("proc/device-tree/bulkhead/bulkhead,pipes")).ok()
    }

    /// Returns the description of endpoints beyond this machine, as lines for the bridge; `None` if
    /// there are none.
    #[must_use]
    pub fn bridge(&self) -> Option<String> {
        let text = attributes::text(
            &self.root.join("proc/device-tree/bulkhead"),
            "bulkhead,bridge",
        );
        Some(text.ok()?.trim_end_matches('\0').to_owned())
    }

    /// Tells the monitor that the partition is up: its boot ends here, its link rises. Once.
    ///
    /// # Errors
    /// The partition was announced before, or the monitor lacks the call.
    pub fn announce(&self) -> Result<(), Error> {
        attributes::write(&self.root.join("sys/devices/platform/bulkhead"), "up", "1")
    }

    /// The partition's channels, by name.
    ///
    /// # Errors
    /// The module's files cannot be read.
    pub fn channels(&self) -> Result<Vec<Description>, Error> {
        self.names("channel")?
            .iter()
            .map(|name| Description::read(name, &self.class("channel", name)))
            .collect()
    }

    /// Opens the channel `name`.
    ///
    /// # Errors
    /// There is none, another program has it, or the monitor refuses to map it.
    pub fn channel(&self, name: &str) -> Result<Channel, Error> {
        let folder = self.class("channel", name);
        if !folder.exists() {
            return Err(Error::NoChannel(name.to_owned()));
        }
        Channel::open(name, &folder, &self.root.join("dev/bulkhead").join(name))
    }

    /// The links that this partition sees: its own and those of its peers.
    ///
    /// # Errors
    /// The module's files cannot be opened.
    pub fn links(&self) -> Result<Vec<Link>, Error> {
        self.names("link")?
            .iter()
            .map(|name| self.link(name))
            .collect()
    }

    /// The link of the partition `name`.
    ///
    /// # Errors
    /// The partition is no peer of this one, or the module's file cannot be opened.
    pub fn link(&self, name: &str) -> Result<Link, Error> {
        Link::open(name, &self.root.join("dev/bulkhead-link").join(name))
    }

    /// Returns the holder of the other end of a channel; `None` for the host, which has no link.
    ///
    /// # Errors
    /// The module's files cannot be opened.
    pub fn peer(&self, channel: &Description) -> Result<Option<Peer>, Error> {
        if channel.peer == HOST {
            return Ok(None);
        }
        let standby = channel.standby.as_ref().map(|name| self.link(name));
        Ok(Some(Peer::new(
            self.link(&channel.peer)?,
            standby.transpose()?,
        )))
    }

    /// The monitors' counters and fault logs that this partition may read, by name of the
    /// partition.
    ///
    /// # Errors
    /// The module's files cannot be read.
    pub fn statuses(&self) -> Result<Vec<(String, Status)>, Error> {
        self.names("status")?
            .into_iter()
            .map(|name| Ok((name.clone(), self.status(&name)?)))
            .collect()
    }

    /// The counters and the fault log of the partition `name`, copied while its monitor may write.
    ///
    /// # Errors
    /// This partition may not read them.
    pub fn status(&self, name: &str) -> Result<Status, Error> {
        let path = self.root.join("dev/bulkhead-status").join(name);
        let file = File::open(&path).map_err(Error::file(&path))?;
        let bytes = Mapping::new(&path, &file, STATUS_SIZE as usize, false)?.copy();
        let (status, _) = Status::read_from_prefix(&bytes).map_err(|_| Error::Unexpected {
            path,
            text: "too little memory".into(),
        })?;
        Ok(status)
    }

    /// Asks the monitors to do something to the partition `name`; for privileged partitions.
    ///
    /// # Errors
    /// This partition is not privileged.
    pub fn control(&self, name: &str, control: Control) -> Result<(), Error> {
        let word = match control {
            Control::Restart => "restart",
            Control::Halt => "halt",
        };
        attributes::write(&self.class("status", name), "control", word)
    }

    /// The ttys of other partitions' consoles, by name of the partition.
    ///
    /// # Errors
    /// The module's files cannot be read.
    pub fn consoles(&self) -> Result<Vec<Console>, Error> {
        let folder = self.root.join("sys/class/tty");
        let mut consoles = Vec::new();
        for name in entries(&folder, "ttyBH")? {
            let tty = format!("ttyBH{name}");
            let partition = attributes::text(&folder.join(&tty), "partition")?;
            consoles.push(Console {
                partition,
                tty: self.root.join("dev").join(tty),
            });
        }
        consoles.sort_by(|one, other| one.partition.cmp(&other.partition));
        Ok(consoles)
    }

    /// The partition's trace; one that keeps nothing where the description has none.
    ///
    /// # Errors
    /// Another program writes it.
    pub fn trace(&self) -> Result<Trace, Error> {
        let folder = self.class("trace", &self.name);
        if !folder.exists() {
            return Ok(Trace::off());
        }
        let bytes = attributes::value(&folder, "size")?;
        Trace::open(
            &self.root.join("dev/bulkhead-trace").join(&self.name),
            bytes,
        )
    }

    fn class(&self, kind: &str, name: &str) -> PathBuf {
        self.root
            .join("sys/class/misc")
            .join(format!("bulkhead-{kind}-{name}"))
    }

    fn names(&self, kind: &str) -> Result<Vec<String>, Error> {
        entries(
            &self.root.join("sys/class/misc"),
            &format!("bulkhead-{kind}-"),
        )
    }
}

/// Argument words of the build, then those that the kernel's command line has as `bulkhead.WORD`.
fn arguments(of_build: &str, of_boot: &str) -> String {
    let words = of_boot.split_ascii_whitespace();
    let ours: Vec<_> = words
        .filter_map(|word| word.strip_prefix("bulkhead."))
        .collect();
    format!("{of_build} {}", ours.join(" "))
}

/// Returns the rest of each entry's name behind `prefix`, sorted.
fn entries(folder: &Path, prefix: &str) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::file(folder))? {
        let name = entry.map_err(Error::file(folder))?.file_name();
        names.extend(
            name.to_str()
                .and_then(|name| name.strip_prefix(prefix))
                .map(str::to_owned),
        );
    }
    names.sort();
    Ok(names)
}
