//! The monitor: boot part and resident part

use std::path::Path;

use bulkhead_abi::boot::{MONITOR_OFFSET, MONITOR_SIZE};
use bulkhead_formats::address::Pa;
use bulkhead_formats::el2::Access;
use bulkhead_plan::{Monitor, MonitorPart};

use crate::elf::{self, Executable, Segment};
use crate::error::BuildError;

/// Crate of the resident part.
pub const RESIDENT: &str = "bulkhead-monitor";
/// Crate of the boot part.
pub const BOOT: &str = "bulkhead-monitor-boot";

fn read(path: &Path) -> Result<Executable, BuildError> {
    let bytes = std::fs::read(path).map_err(|error| BuildError::unreadable(path, &error))?;
    elf::parse(&bytes).map_err(|what| BuildError::internal(format!("`{}` {what}", path.display())))
}

/// The boot part, flat, as it lies from `load` on.
///
/// # Errors
/// The boot part is linked for another address, or larger than its place.
pub fn boot_part(path: &Path, load: u64) -> Result<Vec<u8>, BuildError> {
    let executable = read(path)?;
    let mut flat = Vec::new();
    for segment in executable.segments {
        let end = segment
            .address
            .saturating_add(segment.size)
            .saturating_sub(load);
        if segment.address < load || end > MONITOR_OFFSET {
            let message = format!("the boot part leaves its place at {:#x}", segment.address);
            return Err(BuildError::internal(message));
        }
        let start = (segment.address - load) as usize;
        flat.resize(flat.len().max(end as usize), 0);
        flat[start..start + segment.bytes.len()].copy_from_slice(&segment.bytes);
    }
    Ok(flat)
}

/// The resident part.
///
/// # Errors
/// The monitor is linked for another address, larger than its place, or not W^X by pages.
pub fn resident_part(path: &Path, load: u64) -> Result<Monitor, BuildError> {
    let executable = read(path)?;
    let sizes = executable.sizes;
    let base = load + MONITOR_OFFSET;
    let parts = executable
        .segments
        .into_iter()
        .map(|segment| part(segment, base))
        .collect::<Result<Vec<_>, _>>()?;
    let shares_page = parts
        .windows(2)
        .any(|pair| pair[0].pages().overlaps(pair[1].pages()));
    if shares_page {
        return Err(BuildError::internal(
            "parts of the monitor share a page".into(),
        ));
    }
    Ok(Monitor {
        base: Pa(base),
        parts,
        sizes,
    })
}

fn part(segment: Segment, base: u64) -> Result<MonitorPart, BuildError> {
    let end = segment.address.saturating_add(segment.size);
    if segment.address < base || end > base + MONITOR_SIZE {
        let message = format!("the monitor leaves its place at {:#x}", segment.address);
        return Err(BuildError::internal(message));
    }
    let access = match (segment.write, segment.execute) {
        (false, true) => Access::ReadExecute,
        (false, false) => Access::ReadOnly,
        (true, false) => Access::ReadWrite,
        (true, true) => {
            return Err(BuildError::internal("the monitor has writable text".into()));
        }
    };
    Ok(MonitorPart {
        pa: Pa(segment.address),
        bytes: segment.bytes,
        size: segment.size,
        access,
    })
}
