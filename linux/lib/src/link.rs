//! State of a partition

use crate::error::Error;
use crate::map::Mapping;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::status::{LINK_MAGIC, LinkPage, LinkState};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::Read;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The link page of this partition or of a peer.
pub struct Link {
    partition: String,
    path: PathBuf,
    file: File,
    page: Mapping,
}

impl Link {
    pub(crate) fn open(partition: &str, path: &Path) -> Result<Self, Error> {
        let file = File::options()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(path)
            .map_err(Error::file(path))?;
        Ok(Self {
            partition: partition.to_owned(),
            path: path.to_owned(),
            page: Mapping::new(path, &file, PAGE_SIZE as usize, false)?,
            file,
        })
    }

    /// Name of the partition.
    #[must_use]
    pub fn partition(&self) -> &str {
        &self.partition
    }

    /// How it stands now; state and epoch belong together.
    #[must_use]
    pub fn state(&self) -> LinkState {
        if self.page.word(offset_of!(LinkPage, magic)) != LINK_MAGIC {
            return LinkState::NEVER;
        }
        LinkState::of_word(self.page.word(offset_of!(LinkPage, state)))
    }

    /// Takes note of a change since the last call; tells whether there was one. Never waits.
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

/// Holder of the other end of a channel: the partition of the description or, after a failover, its
/// standby.
pub struct Peer {
    link: Link,
    standby: Option<Link>,
}

impl Peer {
    pub(crate) const fn new(link: Link, standby: Option<Link>) -> Self {
        Self { link, standby }
    }

    /// How the one that runs stands now; the epoch counts the starts of both.
    #[must_use]
    pub fn state(&self) -> LinkState {
        let standby = self.standby.as_ref().map_or(LinkState::NEVER, Link::state);
        self.link.state().or_standby(standby)
    }

    /// Waits at most `timeout` milliseconds for a change since the last call; tells whether there
    /// was one.
    ///
    /// # Errors
    /// The module's device cannot be read.
    pub fn wait(&mut self, timeout: u16) -> Result<bool, Error> {
        let links = || std::iter::once(&self.link).chain(&self.standby);
        let mut fds: Vec<_> = links()
            .map(|link| PollFd::new(link.as_fd(), PollFlags::POLLIN))
            .collect();
        poll(&mut fds, PollTimeout::from(timeout)).map_err(Error::errno(&self.link.path))?;
        let mut changed = self.link.changed()?;
        if let Some(standby) = &mut self.standby {
            changed |= standby.changed()?;
        }
        Ok(changed)
    }
}
