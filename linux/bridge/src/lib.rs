//! Endpoints beyond this machine
//!
//! Channels that a Linux partition reads are published to Zenoh under the names of their endpoints, and what is published
//! elsewhere is written into channels that the partition writes ([`Bridge`]). Bytes go as they lie in the channel; with them
//! go their number and age ([`Attachment`]), so that whoever is behind the network can tell what is stale. Nodes of ROS 2 hear and publish topics instead ([`Topic`]). What a pipe takes in
//! at its first stage is made a message of that pipe's. What is to be
//! bridged stands in a short text ([`Config`]), which the tool leaves in the device tree.

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
mod spaced;
mod topic;
mod value;
mod watch;

pub use address::Address;
pub use attachment::Attachment;
pub use bridge::Bridge;
pub use config::{Config, Export, FileChannel, Import};
pub use error::Error;
pub use name::Name;
pub use topic::Topic;
pub use watch::{Arrival, Watch};
