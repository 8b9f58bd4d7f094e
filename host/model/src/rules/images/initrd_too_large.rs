//! Kernel and initrd fit into memory together

use super::{Found, KERNEL_OFFSET};
use crate::diagnostic::Report;
use crate::draft::{Draft, ImageDraft};
use crate::image_file::{Content, inspect};
use crate::quantity::size_text;
use crate::resolve::PACKAGED_KERNELS;
use std::path::PathBuf;

crate::rules::declaration::rule! {
    Error, "initrd-too-large",
    "kernel and initrd fit into the partition's memory with room to start",
    "The initrd lies behind the kernel, is unpacked into memory beside itself, and the kernel needs some \
     to come up: 24 MiB are reserved for that.",
    check
}

/// Memory that a kernel needs to start, bytes.
const HEADROOM: u64 = 24 << 20;
/// Alignment of the initrd.
const ALIGNMENT: u64 = 2 << 20;

fn check(draft: &Draft, report: &mut Report) {
    for found in super::initrds(draft) {
        let (Ok(file), Some(memory)) = (&found.file, found.partition.memory.given()) else {
            continue;
        };
        let kernel = kernel_memory(draft, found.image).unwrap_or(0);
        let start = (KERNEL_OFFSET + kernel).next_multiple_of(ALIGNMENT);
        let needed = start.saturating_add(file.size).saturating_add(HEADROOM);
        if needed > memory.value && start < memory.value {
            report.add(
                RULE.at(&found.name.span, too_large(&found))
                    .here(format!(
                        "initrd {}, kernel {}",
                        size_text(file.size),
                        size_text(kernel)
                    ))
                    .label(&memory.span, "too little for both")
                    .help(format!(
                        "at least {} are needed",
                        size_text(mebibytes(needed))
                    )),
            );
        }
    }
}

fn too_large(found: &Found<'_>) -> String {
    let name = &found.partition.name.value;
    format!("kernel and initrd do not fit into the memory of `{name}` together")
}

/// Memory that the kernel takes, where its file is there.
fn kernel_memory(draft: &Draft, image: &ImageDraft) -> Option<u64> {
    let name = image.kernel.given()?;
    let path = match PACKAGED_KERNELS.contains(&name.value.as_str()) {
        true => fetched(draft, &name.value),
        false => draft.path(name),
    };
    match inspect(&path).ok()?.content {
        Content::Linux(kernel) => Some(kernel.memory),
        _ => None,
    }
}

/// Folder into which `setup` puts a kernel.
pub(super) fn fetched(draft: &Draft, flavour: &str) -> PathBuf {
    draft
        .root
        .join(".cache/debian-arm64/kernel")
        .join(flavour)
        .join("Image")
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.next_multiple_of(1 << 20)
}
