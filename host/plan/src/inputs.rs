//! Images and programs that are planned beside the description

use crate::load::GuestImage;
use bulkhead_formats::address::{PAGE, Pa};
use bulkhead_formats::el2;
use bulkhead_formats::region::Range;
use std::path::PathBuf;

/// A part of the resident monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorPart {
    /// Physical address.
    pub pa: Pa,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Bytes it occupies, at least as many as it has.
    pub size: u64,
    /// Bytes.
    pub access: el2::Access,
}

impl MonitorPart {
    /// The pages it occupies.
    #[must_use]
    pub fn pages(&self) -> Range {
        let end = (self.pa.0 + self.size).next_multiple_of(PAGE);
        Range {
            start: self.pa.0 / PAGE * PAGE,
            end,
        }
    }
}

/// The resident monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// Load address of the image.
    pub base: Pa,
    /// Its parts, ascending.
    pub parts: Vec<MonitorPart>,
    /// Sizes of text, read-only and writable data, bytes.
    pub sizes: [u64; 3],
}

impl Monitor {
    /// The bytes from its base to the end of its last part.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            bytes.resize((part.pa.0 - self.base.0) as usize, 0);
            bytes.extend_from_slice(&part.bytes);
            bytes.resize(
                bytes.len() + (part.size as usize).saturating_sub(part.bytes.len()),
                0,
            );
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}

/// Images of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionImages {
    /// Image that is started.
    pub primary: GuestImage,
    /// Image that is started instead on [`bulkhead_abi::status::Action::Alternate`].
    pub alternate: Option<GuestImage>,
    /// Argument words of this build.
    pub argument: String,
    /// Executables with symbols: what runs at EL1, if it has any, then the components by their numbers.
    pub programs: Vec<PathBuf>,
}

/// Inputs of the plan beside the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The boot part as it will lie at the start of the image.
    pub boot: Vec<u8>,
    /// The resident monitor.
    pub monitor: Monitor,
    /// By partition.
    pub images: Vec<PartitionImages>,
}
