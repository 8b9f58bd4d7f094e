//! An ordinary Zenoh program

use crate::machine::until;
use bulkhead_bridge::Attachment;
use std::time::Duration;
use zenoh::pubsub::Publisher;
use zenoh::{Config, Session, Wait};

/// A Zenoh program that is no bridge, connected to one.
pub(crate) fn session(port: u16) -> Session {
    let mut config = Config::default();
    let places = format!("[\"tcp/127.0.0.1:{port}\"]");
    for (key, value) in [
        ("connect/endpoints", places.as_str()),
        ("listen/endpoints", "[]"),
        ("scouting/multicast/enabled", "false"),
    ] {
        config.insert_json5(key, value).expect(key);
    }
    zenoh::open(config).wait().expect("a session")
}

/// Returns the attachment of a value with that number.
pub(crate) fn attachment(number: u64) -> Vec<u8> {
    let age = Some(Duration::ZERO);
    Attachment {
        start: 9,
        number,
        age,
    }
    .bytes()
    .to_vec()
}

/// Its publisher, once the bridge subscribes.
pub(crate) fn heard_by(session: &Session, key: &'static str) -> Publisher<'static> {
    let publisher = session.declare_publisher(key).wait();
    let publisher = publisher.expect("a publisher");
    until("the subscriber", || {
        let status = publisher.matching_status().wait();
        status.is_ok_and(|status| status.matching())
    });
    publisher
}
