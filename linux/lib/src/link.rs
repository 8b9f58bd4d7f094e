//! Whether a partition is up

use crate::{Error, attributes};
use bulkhead_abi::status::State;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// State of a partition, and how often it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Down, starting or up.
    pub state: State,
    /// Number of starts; a peer that restarted has a new one.
    pub epoch: u32,
}

/// The link page of this partition or of a peer.
pub struct Link {
    partition: String,
    folder: PathBuf,
    path: PathBuf,
    file: File,
}

impl Link {
    pub(crate) fn open(partition: &str, folder: PathBuf, path: &Path) -> Result<Self, Error> {
        let file = File::options()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(path)
            .map_err(Error::file(path))?;
        Ok(Self {
            partition: partition.to_owned(),
            folder,
            path: path.to_owned(),
            file,
        })
    }

    /// Name of the partition.
    #[must_use]
    pub fn partition(&self) -> &str {
        &self.partition
    }

    /// How it stands now.
    ///
    /// # Errors
    /// The module's files cannot be read.
    pub fn state(&self) -> Result<LinkState, Error> {
        let text = attributes::text(&self.folder, "state")?;
        let state = match text.as_str() {
            "down" => State::Down,
            "starting" => State::Starting,
            "up" => State::Up,
            _ => {
                return Err(Error::Unexpected {
                    path: self.folder.join("state"),
                    text,
                });
            }
        };
        Ok(LinkState {
            state,
            epoch: attributes::value(&self.folder, "epoch")?,
        })
    }

    /// Waits at most `timeout` milliseconds for a change since the last call; tells whether there was one.
    ///
    /// # Errors
    /// The module's device cannot be read.
    pub fn wait(&mut self, timeout: u16) -> Result<bool, Error> {
        let mut fds = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(timeout)).map_err(Error::errno(&self.path))?;
        self.changed()
    }

    /// Takes note of a change, without waiting.
    ///
    /// # Errors
    /// The module's device cannot be read.
    pub fn changed(&mut self) -> Result<bool, Error> {
        let mut count = [0; 8];
        match self.file.read(&mut count) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(Error::file(&self.path)(error)),
        }
    }
}

impl AsFd for Link {
    /// Readable when [`Link::changed`] would be true.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
