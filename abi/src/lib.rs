//! Numbers and layouts that cross a boundary
//!
//! Whatever two separately built parts of Bulkhead must agree on is written here once and compiled
//! into both: the host tool packs these types, the monitor, the guests and the Linux side read them.
//! All integers are little-endian. Nothing here computes.

#![no_std]
#![forbid(unsafe_code)]

pub mod boot;
pub mod can;
pub mod component;
pub mod component_log;
pub mod config;
pub mod device;
pub mod dispatch;
pub mod failure;
pub mod guest;
pub mod hypercall;
pub mod kernel;
pub mod pipe;
pub mod psci;
pub mod repository;
pub mod status;
pub mod timing;
pub mod timing_data;
pub mod trace;

/// Version of every number and layout in this crate: 16 bits of a digest of its source (`build.rs`), never 0.
/// A mismatch is refused, never converted.
pub const VERSION: u32 = match u32::from_str_radix(env!("BULKHEAD_INTERFACE"), 16) {
    Ok(version) => version,
    Err(_) => panic!("a number"),
};

/// Length of a name field, bytes, zero-padded ASCII.
pub const NAME_LEN: usize = 16;

/// Smallest unit of memory that can be owned or shared, bytes.
pub const PAGE_SIZE: u64 = 4096;

/// Pads `name` with zeros; what does not fit is cut (the checker refuses longer names).
#[must_use]
pub const fn name_field(name: &str) -> [u8; NAME_LEN] {
    let bytes = name.as_bytes();
    let mut field = [0; NAME_LEN];
    let mut i = 0;
    while i < bytes.len() && i < NAME_LEN {
        field[i] = bytes[i];
        i += 1;
    }
    field
}

/// The text of a name field, up to the first zero; `"?"` where it is not UTF-8.
#[must_use]
pub fn name_text(field: &[u8; NAME_LEN]) -> &str {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(NAME_LEN);
    field
        .get(..end)
        .and_then(|text| core::str::from_utf8(text).ok())
        .unwrap_or("?")
}
