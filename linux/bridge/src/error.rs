//! Errors that prevent the start of the bridge

use std::io;
use std::path::PathBuf;

/// Why there is no bridge.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is not readable.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Neither a file was named nor does the device tree say anything.
    #[error(
        "there is nothing to bridge: the partition's description has no `[partition.NAME.bridge]`, and no file was named"
    )]
    Nothing,
    /// A line that is none.
    #[error("line {line}: {what}: `{text}`; {help}")]
    Line {
        /// From 1.
        line: usize,
        /// Fact.
        what: &'static str,
        /// The line.
        text: String,
        /// Correct form.
        help: &'static str,
    },
    /// No name of an endpoint.
    #[error(
        "`{0}` is no endpoint: host:partition:address-space:endpoint, each of letters, digits, `-`, `.` and `_`"
    )]
    Name(String),
    /// No topic of ROS 2.
    #[error(
        "`{0}` is no topic: ros2:BYTES:DOMAIN/TOPIC/TYPE/HASH, the bytes of a message and the key expression that `rmw_zenoh` gives it"
    )]
    Topic(String),
    /// Something is named twice.
    #[error("line {line}: `{name}` was named before; {help}")]
    Twice {
        /// From 1.
        line: usize,
        /// The channel or endpoint.
        name: String,
        /// Remedy.
        help: &'static str,
    },
    /// No place on a network.
    #[error("`{text}` is no place on a network ({why}): write `tcp/ADDRESS:PORT`")]
    Locator {
        /// As written.
        text: String,
        /// Zenoh's message.
        why: String,
    },
    /// The ports cannot be had.
    #[error(
        "nobody can be heard at {places}: {why}; another program may have the port, or the address may be another machine's"
    )]
    Listen {
        /// All of them.
        places: String,
        /// Zenoh's message.
        why: String,
    },
    /// Zenoh does not start.
    #[error("Zenoh does not start: {0}")]
    Session(String),
    /// Zenoh does not take an endpoint.
    #[error("endpoint {name} cannot be declared: {why}")]
    Declare {
        /// The endpoint.
        name: String,
        /// Zenoh's message.
        why: String,
    },
    /// A fallback of another length than the channel's messages.
    #[error("the fallback of `{channel}` has {given} bytes, its messages have {needed}")]
    Fallback {
        /// The channel.
        channel: String,
        /// Bytes of the fallback.
        given: usize,
        /// Bytes of a message.
        needed: usize,
    },
    /// A channel that no stage can read.
    #[error(
        "`{channel}` is no channel of a stage: its messages have {given} bytes, a pipe's have {needed}"
    )]
    Stage {
        /// The channel.
        channel: String,
        /// Bytes of its messages.
        given: usize,
        /// Bytes of a pipe's message.
        needed: usize,
    },
    /// A topic with messages that do not fit a channel of that length.
    #[error(
        "messages of `{topic}` do not fit `{channel}`, whose messages have {given} bytes; a pipe's carry 8 or 16"
    )]
    Unfit {
        /// The channel.
        channel: String,
        /// The topic.
        topic: String,
        /// Bytes of its messages.
        given: usize,
    },
    /// A channel cannot be used.
    #[error(transparent)]
    Channel(#[from] bulkhead_linux::Error),
}
