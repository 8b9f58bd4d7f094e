//! The system below the runtime

#[cfg(target_os = "none")]
pub mod component;
mod interface;
#[cfg(target_os = "linux")]
mod linux;

pub use crate::core_set::CoreSet;
pub use interface::{Backend, Policy, Stack, SystemError};

/// The system this runtime was built for.
#[cfg(target_os = "linux")]
pub type System = linux::Linux;
/// The system this runtime was built for.
#[cfg(target_os = "none")]
pub type System = component::Component;
