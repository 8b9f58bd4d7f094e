//! Rules about images

pub(crate) mod entry_outside_image;
pub(crate) mod image_empty;
pub(crate) mod image_for_kind;
pub(crate) mod image_missing;
pub(crate) mod image_mixture;
pub(crate) mod image_option;
pub(crate) mod image_outside_memory;
pub(crate) mod image_truncated;
pub(crate) mod image_wrong_kind;
pub(crate) mod initrd_too_large;
pub(crate) mod initrd_wrong_kind;
pub(crate) mod kernel_not_fetched;
pub(crate) mod kernel_wrong_kind;
pub(crate) mod unknown_crate;

use crate::board::Board;
use crate::document::At;
use crate::draft::{Draft, ImageDraft, PartitionDraft, display};
use crate::image_file::{Content, Inspected, inspect};
use crate::resolve::{AGENT, PACKAGED_KERNELS};
use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &image_empty::RULE,
    &image_mixture::RULE,
    &image_for_kind::RULE,
    &image_option::RULE,
    &unknown_crate::RULE,
    &image_missing::RULE,
    &kernel_wrong_kind::RULE,
    &image_wrong_kind::RULE,
    &image_truncated::RULE,
    &image_outside_memory::RULE,
    &entry_outside_image::RULE,
    &initrd_wrong_kind::RULE,
    &initrd_too_large::RULE,
    &kernel_not_fetched::RULE,
];

/// From the start of memory to a kernel with a device tree, which lies before it, bytes.
const KERNEL_OFFSET: u64 = 2 << 20;

/// An image that is a file, and what the file is.
struct Found<'a> {
    partition: &'a PartitionDraft,
    image: &'a ImageDraft,
    name: &'a At<String>,
    /// Path of the searched file, for messages.
    path: String,
    file: Result<Inspected, String>,
}

impl Found<'_> {
    /// Start of the partition's memory.
    fn ram(&self, board: &Board) -> u64 {
        let kind = self.partition.kind.value();
        kind.map_or(board.guest.ram, |kind| board.ram_of(kind))
    }

    /// Load address of an image without one of its own, given the start of memory.
    fn load_address(&self, content: &Content, ram: u64) -> u64 {
        let default = match content {
            Content::Linux(kernel) if self.image.device_tree.value() == Some(true) => ram
                .saturating_add(KERNEL_OFFSET)
                .saturating_add(kernel.offset),
            Content::Linux(kernel) => ram.saturating_add(kernel.offset),
            _ => ram,
        };
        self.image.load.value().unwrap_or(default)
    }
}

/// All images of a system, with their partitions.
fn images(draft: &Draft) -> impl Iterator<Item = (&PartitionDraft, &At<ImageDraft>)> {
    draft
        .partitions
        .iter()
        .flat_map(|partition| partition.images().map(move |image| (partition, image)))
}

/// Files named by `file`.
fn files(draft: &Draft) -> impl Iterator<Item = Found<'_>> {
    found(draft, |image| image.file.given(), |_| false)
}

/// Kernels of one's own.
fn kernels(draft: &Draft) -> impl Iterator<Item = Found<'_>> {
    found(
        draft,
        |image| image.kernel.given(),
        |name| PACKAGED_KERNELS.contains(&name),
    )
}

/// Initial file systems of one's own.
fn initrds(draft: &Draft) -> impl Iterator<Item = Found<'_>> {
    found(draft, |image| image.initrd.given(), |name| name == AGENT)
}

fn found<'a>(
    draft: &'a Draft,
    name: impl Fn(&'a ImageDraft) -> Option<&'a At<String>>,
    built_in: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Found<'a>> {
    images(draft).filter_map(move |(partition, image)| {
        let image = &image.value;
        let name = name(image).filter(|name| !built_in(&name.value))?;
        let path = draft.path(name);
        Some(Found {
            partition,
            image,
            name,
            file: inspect(&path),
            path: display(&path, &draft.root),
        })
    })
}
