//! Addresses of endpoints beyond the machine
//!
//! A name of four parts, by which bridges and other programs on Zenoh know it, or a topic, by which nodes of ROS 2 do.

use crate::topic::{self, Topic};
use crate::{Error, Name};
use bulkhead_linux::Channel;
use std::fmt;
use std::str::FromStr;

/// Either of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `HOST:PARTITION:SPACE:ENDPOINT`.
    Endpoint(Name),
    /// `ros2:BYTES:DOMAIN/TOPIC/TYPE/HASH`.
    Topic(Topic),
}

impl Address {
    /// Its key expression.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Endpoint(name) => name.key(),
            Self::Topic(topic) => topic.key().to_owned(),
        }
    }

    /// Checks that messages of the channel and of the endpoint have the same form.
    pub(crate) fn check(&self, channel: &Channel) -> Result<(), Error> {
        let description = channel.description();
        match self.topic() {
            Some(topic) if !topic.fits(description.message_bytes) => Err(Error::Unfit {
                channel: description.name.clone(),
                topic: self.to_string(),
                given: description.message_bytes,
            }),
            _ => Ok(()),
        }
    }

    /// The topic, if it is one.
    #[must_use]
    pub fn topic(&self) -> Option<&Topic> {
        match self {
            Self::Endpoint(_) => None,
            Self::Topic(topic) => Some(topic),
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match topic::is_meant(text) {
            true => text.parse().map(Self::Topic),
            false => text.parse().map(Self::Endpoint),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(name) => name.fmt(f),
            Self::Topic(topic) => topic.fmt(f),
        }
    }
}
