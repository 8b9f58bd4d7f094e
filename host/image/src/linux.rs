//! Linux: kernel, initial file system, device tree in a partition's memory
//!
//! Device tree at the start of memory, kernel at the next 2 MiB, initial file system at the first
//! 2 MiB boundary after what the kernel's header says it occupies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bulkhead_formats::address::{BLOCK_2M, Ipa};
use bulkhead_formats::image_header::ImageHeader;
use bulkhead_formats::region::Range;
use bulkhead_model::system::{Kernel, Partition};
use bulkhead_plan::load::{Argument, DeviceTreePlace, GuestImage, Piece};

use crate::compression;
use crate::error::BuildError;

/// Folder of the files that the set-up fetches, from the root of the checkout.
const FETCHED: &str = ".cache/debian-arm64";

/// A kernel module: the release of its kernel, and the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Module {
    /// Output of `uname -r`.
    pub release: String,
    /// `bulkhead.ko`.
    pub path: PathBuf,
}

/// Static busybox, as fetched.
#[must_use]
pub fn busybox(root: &Path) -> PathBuf {
    root.join(FETCHED).join("busybox")
}

/// The flavour of a kernel that the set-up fetched; a package file stands for what it made of it.
fn flavour(kernel: &Kernel) -> Option<String> {
    match kernel {
        Kernel::Packaged(flavour) => Some(flavour.clone()),
        Kernel::File(path) if path.extension().is_some_and(|kind| kind == "deb") => path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned()),
        Kernel::File(_) => None,
    }
}

/// The file of a kernel.
#[must_use]
pub fn kernel_image(root: &Path, kernel: &Kernel) -> PathBuf {
    match (flavour(kernel), kernel) {
        (None, Kernel::File(path)) => path.clone(),
        (flavour, _) => kernels(root)
            .join(flavour.unwrap_or_default())
            .join("Image"),
    }
}

fn kernels(root: &Path) -> PathBuf {
    root.join(FETCHED).join("kernel")
}

/// The modules that may fit a kernel: that of its flavour, or all there are for an `Image` of
/// unknown release. In the order of their releases.
#[must_use]
pub fn modules(root: &Path, kernel: &Kernel) -> Vec<Module> {
    let flavours = match flavour(kernel) {
        Some(flavour) => vec![flavour],
        None => fetched_flavours(root),
    };
    let mut modules: Vec<Module> = flavours
        .iter()
        .filter_map(|flavour| module(root, flavour))
        .collect();
    modules.sort();
    modules.dedup_by(|a, b| a.release == b.release);
    modules
}

/// Drivers of the kernel's own package, for each kernel that this may be.
///
/// # Errors
/// A package has no module of that name.
pub fn drivers(root: &Path, kernel: &Kernel, names: &[&str]) -> Result<Vec<Module>, BuildError> {
    let mut drivers = Vec::new();
    for release in modules(root, kernel) {
        let flavour = fetched_flavours(root)
            .into_iter()
            .find(|flavour| release_of(root, flavour).as_ref() == Some(&release.release));
        let folder = kernels(root)
            .join(flavour.unwrap_or_default())
            .join("modules");
        for name in names {
            let path = compression::find(&folder, &format!("{name}.ko")).ok_or_else(|| {
                let message = format!("kernel {} has no driver `{name}`", release.release);
                let help = "leave the function to an rtos partition, or take another kernel";
                BuildError::new("driver-missing", message, help)
            })?;
            drivers.push(Module {
                release: release.release.clone(),
                path,
            });
        }
    }
    Ok(drivers)
}

fn release_of(root: &Path, flavour: &str) -> Option<String> {
    let text = std::fs::read_to_string(kernels(root).join(flavour).join("release")).ok()?;
    Some(text.trim().to_owned())
}

fn fetched_flavours(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(kernels(root))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn module(root: &Path, flavour: &str) -> Option<Module> {
    let release = release_of(root, flavour)?;
    let path = root
        .join(FETCHED)
        .join("kmod")
        .join(flavour)
        .join("bulkhead.ko");
    path.exists().then_some(Module { release, path })
}

/// Places kernel and initial file system in a partition's memory.
///
/// # Errors
/// The kernel is no `Image`, or memory is too small for both.
pub fn place(
    partition: &Partition,
    ram: u64,
    kernel: Vec<u8>,
    initrd: Vec<u8>,
) -> Result<GuestImage, BuildError> {
    let header = ImageHeader::parse(&kernel).ok_or_else(|| no_image(partition))?;
    let memory = Range::sized(ram, partition.memory);
    let start = (ram + BLOCK_2M).saturating_add(header.text_offset);
    let occupied = header.image_size.max(kernel.len() as u64);
    let kernel_end = start.saturating_add(occupied);
    let initrd_start = kernel_end
        .checked_next_multiple_of(BLOCK_2M)
        .unwrap_or(u64::MAX);
    let initrd_range = Range::sized(initrd_start, initrd.len() as u64);
    if !memory.contains(Range {
        start,
        end: initrd_range.end.max(kernel_end),
    }) {
        return Err(too_small(partition, occupied, initrd.len() as u64));
    }
    let kernel = Piece {
        ipa: Ipa(start),
        bytes: Arc::new(kernel),
        size: occupied,
    };
    Ok(GuestImage {
        pieces: vec![kernel, Piece::new(Ipa(initrd_start), initrd)],
        entry: Ipa(start),
        argument: Argument::DeviceTree,
        device_tree: Some(DeviceTreePlace {
            ipa: Ipa(ram),
            room: BLOCK_2M,
            initrd: Some(initrd_range),
        }),
    })
}

fn no_image(partition: &Partition) -> BuildError {
    let message = format!(
        "the kernel of partition `{}` is no arm64 `Image`",
        partition.name
    );
    let help = "name the uncompressed `arch/arm64/boot/Image`, not a compressed or EFI kernel";
    BuildError::new("kernel-not-image", message, help).at(&partition.span)
}

fn too_small(partition: &Partition, kernel: u64, initrd: u64) -> BuildError {
    let message = format!(
        "partition `{}` has {} MiB of memory; its kernel takes {} MiB and its initrd {} MiB, beside 2 MiB for the device tree",
        partition.name,
        partition.memory >> 20,
        kernel.div_ceil(1 << 20),
        initrd.div_ceil(1 << 20),
    );
    BuildError::new(
        "linux-memory",
        message,
        "give it more memory, or a smaller initrd",
    )
    .at(&partition.span)
}
