//! The run folder: results, and the process that runs the system
//!
//! `out/SYSTEM/run/`. The process that runs the system holds a lock on it until it ends; the session file
//! names the machine's memory for other processes.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::command::{UART_LOG, UART_SOCKET};
use crate::error::RunError;
use crate::figures::Kind;

const LOCK: &str = "lock";
const SESSION: &str = "session.json";

/// Process that runs the system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// Process id of the tool.
    pub pid: u32,
    /// Its descriptor of the machine's memory.
    pub ram_fd: i32,
    /// Kind of the run's times.
    pub kind: Kind,
}

/// The run folder of a system.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    system: String,
}

impl RunFolder {
    /// Returns the folder of `system` below its output folder `out`.
    #[must_use]
    pub fn new(out: &Path, system: &str) -> Self {
        Self {
            path: out.join("run"),
            system: system.into(),
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The UART's log.
    #[must_use]
    pub fn uart_log(&self) -> PathBuf {
        self.file(UART_LOG)
    }

    /// Takes the folder for a run and clears what the last one left; the lock lasts as long as the
    /// returned file.
    ///
    /// # Errors
    /// [`RunError::AlreadyRunning`], or the folder cannot be made.
    pub fn take(&self) -> Result<File, RunError> {
        std::fs::create_dir_all(&self.path).map_err(RunError::file(&self.path))?;
        let lock = self.lock()?.ok_or_else(|| RunError::AlreadyRunning {
            system: self.system.clone(),
            pid: self.session().map_or(0, |session| session.pid),
        })?;
        for entry in std::fs::read_dir(&self.path)
            .map_err(RunError::file(&self.path))?
            .flatten()
        {
            if entry.file_name() != LOCK {
                std::fs::remove_file(entry.path()).map_err(RunError::file(entry.path()))?;
            }
        }
        Ok(lock)
    }

    /// Tells others where the machine's memory is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn announce(&self, session: &Session) -> Result<(), RunError> {
        let path = self.file(SESSION);
        let text = serde_json::to_string(session).unwrap_or_default();
        std::fs::write(&path, text).map_err(RunError::file(path))
    }

    /// Returns the process that runs the system now.
    ///
    /// # Errors
    /// [`RunError::NotRunning`].
    pub fn running(&self) -> Result<Session, RunError> {
        let free = !self.path.join(LOCK).exists() || self.lock()?.is_some();
        let session = if free { None } else { self.session() };
        session.ok_or_else(|| RunError::NotRunning {
            system: self.system.clone(),
        })
    }

    /// Connects to the machine's UART.
    ///
    /// # Errors
    /// The machine is gone.
    pub fn connect_uart(&self) -> Result<UnixStream, RunError> {
        // Through the open folder, because the whole path may be too long for a socket's address.
        let folder = File::open(&self.path).map_err(RunError::file(&self.path))?;
        let path = format!("/proc/self/fd/{}/{UART_SOCKET}", folder.as_raw_fd());
        UnixStream::connect(path).map_err(RunError::file(self.file(UART_SOCKET)))
    }

    fn lock(&self) -> Result<Option<File>, RunError> {
        let path = self.file(LOCK);
        let open = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = open.map_err(RunError::file(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(RunError::File { path, source }),
        }
    }

    fn session(&self) -> Option<Session> {
        serde_json::from_str(&std::fs::read_to_string(self.file(SESSION)).ok()?).ok()
    }
}
