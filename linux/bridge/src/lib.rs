//! Endpoints beyond this machine
//!
//! Channels that a Linux partition reads are published to Zenoh under the names of their endpoints, and what is published
//! elsewhere is written into channels that the partition writes ([`Bridge`]). Bytes go as they lie in the channel; with them
//! go their number and age ([`Attachment`]), so that a receiver recognises stale values. ROS 2 nodes subscribe and publish topics instead ([`Topic`]). Data for
//! the first stage of a pipe become a message of that pipe. A short text lists the bridged endpoints
//! ([`Config`]); the tool puts it into the device tree.

mod address;
mod attachment;
mod bridge;
mod config;
mod count;
mod error;
mod export;
mod import;
mod name;
mod session;
mod pacing;
mod topic;
mod value;
mod freshness;

pub use address::Address;
pub use attachment::Attachment;
pub use bridge::Bridge;
pub use config::{Config, Export, FileChannel, Import};
pub use error::Error;
pub use name::Name;
pub use topic::Topic;
pub use freshness::{Arrival, Watch};
