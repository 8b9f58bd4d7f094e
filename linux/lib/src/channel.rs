//! Channels: their description, their memory, their doorbells

use crate::attributes;
use crate::error::Error;
use crate::map::Mapping;
use bulkhead_buffers::{Region, View};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

pub use bulkhead_abi::guest::{ChannelKind as Kind, Role};

/// One end of a channel, as the system description has it.
#[derive(Clone, Debug)]
pub struct Description {
    /// Name of the channel.
    pub name: String,
    /// Name of the partition at the other end.
    pub peer: String,
    /// The partition that takes over from the peer, if it has one.
    pub standby: Option<String>,
    /// Kind of its buffer.
    pub kind: Kind,
    /// Which end this partition holds.
    pub role: Role,
    /// Bytes of a message (of the slot, for a mailbox).
    pub message_bytes: usize,
    /// Messages the buffer holds.
    pub messages: usize,
    /// This end may only read the memory.
    pub read_only: bool,
}

impl Description {
    pub(crate) fn read(name: &str, folder: &Path) -> Result<Self, Error> {
        Ok(Self {
            name: name.to_owned(),
            peer: attributes::text(folder, "peer")?,
            standby: Some(attributes::text(folder, "standby")?).filter(|name| !name.is_empty()),
            kind: kind(folder)?,
            role: role(folder)?,
            message_bytes: attributes::value(folder, "message_size")?,
            messages: attributes::value(folder, "messages")?,
            read_only: attributes::value::<u8>(folder, "read_only")? != 0,
        })
    }
}

fn kind(folder: &Path) -> Result<Kind, Error> {
    let text = attributes::text(folder, "kind")?;
    match text.as_str() {
        "four-slot" => Ok(Kind::FourSlot),
        "ring" => Ok(Kind::Ring),
        "mailbox" => Ok(Kind::Mailbox),
        "recorder" => Ok(Kind::Recorder),
        "memory" => Ok(Kind::Memory),
        _ => Err(Error::Unexpected {
            path: folder.join("kind"),
            text,
        }),
    }
}

fn role(folder: &Path) -> Result<Role, Error> {
    let text = attributes::text(folder, "role")?;
    match text.as_str() {
        "writer" => Ok(Role::Writer),
        "reader" => Ok(Role::Reader),
        _ => Err(Error::Unexpected {
            path: folder.join("role"),
            text,
        }),
    }
}

/// An open channel. The module lets one program at a time have it, unless it is read-only.
pub struct Channel {
    description: Description,
    path: PathBuf,
    file: File,
    mapping: Mapping,
    /// A file of the module, and not an ordinary one: it has doorbells.
    of_module: bool,
}

impl Channel {
    /// Opens a buffer in an ordinary file, between programs of one Linux. The file has the buffer's
    /// size and is all zeros at first.
    ///
    /// # Errors
    /// The file cannot be opened or mapped.
    pub fn over_file(path: &Path, description: Description) -> Result<Self, Error> {
        let writable = !description.read_only;
        let file = File::options().read(true).write(writable).open(path);
        let file = file.map_err(Error::file(path))?;
        let bytes = file.metadata().map_err(Error::file(path))?.len();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(Self {
            mapping: Mapping::new(path, &file, bytes, writable)?,
            path: path.to_owned(),
            description,
            file,
            of_module: false,
        })
    }

    /// Creates such a file with the given number of zero bytes.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create_file(path: &Path, bytes: usize, description: Description) -> Result<Self, Error> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let file = File::create(path).map_err(Error::file(path))?;
        let sized = file.set_len(bytes as u64);
        sized.map_err(Error::file(path))?;
        Self::over_file(path, description)
    }

    pub(crate) fn open(name: &str, folder: &Path, path: &Path) -> Result<Self, Error> {
        let description = Description::read(name, folder)?;
        let writable = !description.read_only;
        let file = File::options()
            .read(true)
            .write(writable)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(path)
            .map_err(Error::file(path))?;
        // Only now: a channel on demand has no size before it is open.
        let bytes = attributes::value(folder, "size")?;
        let mapping = Mapping::new(path, &file, bytes, writable)?;
        Ok(Self {
            description,
            path: path.to_owned(),
            file,
            mapping,
            of_module: true,
        })
    }

    /// How it is described.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Its memory, for buffers of one's own.
    ///
    /// # Errors
    /// This end may only read it.
    pub fn region(&self) -> Result<Region<'static>, Error> {
        let channel = || self.description.name.clone();
        match self.mapping.region() {
            Some(region) => region.map_err(|source| Error::Attach {
                channel: channel(),
                source,
            }),
            None => Err(Error::WrongEnd {
                channel: channel(),
                role: "reader",
            }),
        }
    }

    /// Its memory, to read.
    ///
    /// # Errors
    /// Never for memory that the module mapped.
    pub fn view(&self) -> Result<View<'static>, Error> {
        let channel = self.description.name.clone();
        self.mapping
            .view()
            .map_err(|source| Error::Attach { channel, source })
    }

    /// A copy of its memory, word by word, while the other end may write.
    #[must_use]
    pub fn copy(&self) -> Vec<u8> {
        self.mapping.copy()
    }

    /// Rings the peer: an entry to the monitor, within the rate limit of the description.
    ///
    /// # Errors
    /// The description gives this end no doorbell.
    pub fn ring(&self) -> Result<(), Error> {
        if !self.of_module {
            let none = std::io::Error::from(ErrorKind::Unsupported);
            return Err(Error::file(&self.path)(none));
        }
        (&self.file)
            .write_all(&[1])
            .map_err(Error::file(&self.path))
    }

    /// Waits at most `timeout` milliseconds for the peer's doorbell; gives the rings since the last
    /// call.
    ///
    /// # Errors
    /// The module's device cannot be read.
    pub fn wait(&self, timeout: u16) -> Result<u64, Error> {
        if !self.of_module {
            sleep(Duration::from_millis(timeout.into()));
            return Ok(0);
        }
        let mut fds = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(timeout)).map_err(Error::errno(&self.path))?;
        self.rings()
    }

    /// Rings of the peer since the last call, without waiting.
    ///
    /// # Errors
    /// The module's device cannot be read.
    pub fn rings(&self) -> Result<u64, Error> {
        if !self.of_module {
            return Ok(0);
        }
        let mut count = [0; 8];
        match (&self.file).read_exact(&mut count) {
            Ok(()) => Ok(u64::from_ne_bytes(count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(Error::file(&self.path)(error)),
        }
    }
}

impl AsFd for Channel {
    /// Readable when [`Channel::rings`] would not be 0.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
