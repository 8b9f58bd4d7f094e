//! The initial file system of a Linux partition
//!
//! | path | content |
//! |---|---|
//! | `/init` and all else under `linux/initrd/` | as it is there, executable |
//! | `/bin/busybox`, `/bin/sh` → busybox | from the distribution's package |
//! | `/bin/…` | the programs of the agent's crate, and the bridge where the partition has one |
//! | `/lib/modules/RELEASE/bulkhead.ko` | the kernel module, for each kernel this may be |
//! | `/lib/modules/RELEASE/devices/NN-….ko` | the kernel's own drivers of the partition's functions, in order |
//! | `/dev/console`, `/dev/null` | device nodes, for before `/dev` is mounted |
//! | `/dev`, `/proc`, `/sys`, `/tmp`, `/run`, `/root` | empty folders |

use std::fs;
use std::path::{Path, PathBuf};

use crate::compression;
use crate::cpio::{Archive, Entry};
use crate::error::BuildError;
use crate::linux::Module;

/// Files of an initial file system beside the checkout's own.
pub struct Contents<'a> {
    /// Root of the checkout.
    pub root: &'a Path,
    /// Static busybox.
    pub busybox: &'a Path,
    /// Kernel modules; none where there is none for this kernel.
    pub modules: &'a [Module],
    /// The kernels' own drivers of the partition's functions, in order.
    pub drivers: &'a [Module],
    /// The agent's programs, and the bridge.
    pub programs: &'a [PathBuf],
}

/// The archive's bytes.
///
/// # Errors
/// A file is missing.
pub fn build(contents: &Contents<'_>) -> Result<Vec<u8>, BuildError> {
    let mut archive = Archive::default();
    for folder in ["dev", "proc", "sys", "tmp", "run", "root"] {
        archive.add(folder, Entry::Folder);
    }
    archive.add("dev/console", Entry::Device(5, 1));
    archive.add("dev/null", Entry::Device(1, 3));
    archive.add("bin/busybox", Entry::File(true, read(contents.busybox)?));
    archive.add("bin/sh", Entry::Link("busybox".into()));
    for program in contents.programs {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        archive.add(&format!("bin/{name}"), Entry::File(true, read(program)?));
    }
    for module in contents.modules {
        let path = format!("lib/modules/{}/bulkhead.ko", module.release);
        archive.add(&path, Entry::File(false, read(&module.path)?));
    }
    for (number, driver) in contents.drivers.iter().enumerate() {
        let (name, bytes) = compression::read(&driver.path)?;
        let path = format!("lib/modules/{}/devices/{number:02}-{name}", driver.release);
        archive.add(&path, Entry::File(false, bytes));
    }
    let static_files = contents.root.join("linux/initrd");
    add_folder(&mut archive, &static_files, &static_files)?;
    Ok(archive.bytes())
}

fn add_folder(archive: &mut Archive, top: &Path, folder: &Path) -> Result<(), BuildError> {
    let entries = fs::read_dir(folder).map_err(|error| BuildError::unreadable(folder, &error))?;
    for entry in entries {
        let path = entry
            .map_err(|error| BuildError::unreadable(folder, &error))?
            .path();
        if path.is_dir() {
            add_folder(archive, top, &path)?;
        } else {
            let name = path
                .strip_prefix(top)
                .unwrap_or(&path)
                .to_string_lossy()
                .into_owned();
            archive.add(&name, Entry::File(true, read(&path)?));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    fs::read(path).map_err(|error| BuildError::unreadable(path, &error))
}
