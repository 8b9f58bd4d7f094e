//! A partition made of ordinary files, for tests on the host

use crate::{LinkState, Partition};
use bulkhead_abi::status::LINK_MAGIC;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Writes the files of one partition and its channels.
pub(crate) struct Fake {
    folder: tempfile::TempDir,
}

impl Fake {
    pub(crate) fn new(argument: &str) -> Self {
        let fake = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let node = "sys/devices/platform/bulkhead";
        fake.write(&format!("{node}/name"), "linux\n");
        fake.write(&format!("{node}/argument"), &format!("{argument}\n"));
        fake.write(&format!("{node}/up"), "0\n");
        fake.write("proc/cmdline", "console=ttyAMA0 bulkhead.profile=eudc\n");
        fake.write("sys/class/misc/other/name", "");
        fake
    }

    /// Makes a channel of `pages` pages of memory, which both ends of a test share.
    pub(crate) fn channel(&self, name: &str, kind: &str, role: &str, shape: [usize; 3]) -> &Self {
        let [message_size, messages, pages] = shape;
        let folder = format!("sys/class/misc/bulkhead-channel-{name}");
        let attribute = |key: &str, value: &str| {
            self.write(&format!("{folder}/{key}"), &format!("{value}\n"));
        };
        attribute("kind", kind);
        attribute("role", role);
        attribute("peer", "control");
        attribute("standby", "reserve");
        attribute("message_size", &message_size.to_string());
        attribute("messages", &messages.to_string());
        attribute("read_only", "0");
        attribute("size", &(pages * 4096).to_string());
        let path = self.path(&format!("dev/bulkhead/{name}"));
        if !path.exists() {
            self.write(&format!("dev/bulkhead/{name}"), &"\0".repeat(pages * 4096));
        }
        self
    }

    /// The link page of the partition `name`.
    pub(crate) fn link(&self, name: &str, link: LinkState) {
        let state = u64::from(link.epoch) << 32 | link.state as u64;
        let path = self.path(&format!("dev/bulkhead-link/{name}"));
        let mut page = vec![0; 4096];
        page[..8].copy_from_slice(&LINK_MAGIC.to_ne_bytes());
        page[8..16].copy_from_slice(&state.to_ne_bytes());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // In place: all mappings see the change.
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        file.unwrap().write_all(&page).unwrap();
    }

    pub(crate) fn trace(&self, bytes: usize) {
        self.write(
            "sys/class/misc/bulkhead-trace-linux/size",
            &format!("{bytes}\n"),
        );
        self.write("dev/bulkhead-trace/linux", &"\0".repeat(bytes));
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn partition(&self) -> Partition {
        Partition::at(self.folder.path()).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
