//! The Zenoh session, with described peers only
//!
//! Neither multicast nor gossip: the description lists all peers. The session retries an absent peer for ever. A
//! port that is in use ends the program, because no peer could connect.

use crate::topic::Part;
use crate::{Config, Error};
use std::collections::BTreeSet;
use std::str::FromStr;
use zenoh::config::EndPoint;
use zenoh::liveliness::LivelinessToken;
use zenoh::{Session, Wait};

/// Longest silence of a link that is believed to be there, ms; a quarter of it is between two signs of life.
const LEASE_MS: u32 = 4000;
/// Default name of the ROS 2 node.
const NODE: &str = "bulkhead";
/// Between tries to reach a peer, ms.
const RETRY_MS: [u32; 2] = [250, 1000];

pub(crate) fn open(config: &Config) -> Result<Session, Error> {
    for place in config.listen.iter().chain(&config.connect) {
        check(place)?;
    }
    let session = zenoh::open(zenoh_config(config)?).wait();
    session.map_err(|why| match config.listen.as_slice() {
        [] => Error::Session(why.to_string()),
        places => Error::Listen {
            places: places.join(", "),
            why: why.to_string(),
        },
    })
}

/// An address that this program can use, of which Zenoh would say less.
fn check(place: &str) -> Result<(), Error> {
    let wrong = |why: &str| Error::Locator {
        text: place.to_owned(),
        why: why.to_owned(),
    };
    let Some(address) = place.strip_prefix("tcp/") else {
        return Err(wrong("only TCP is spoken here"));
    };
    let parts = address.rsplit_once(':');
    let sound = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    if !parts.is_some_and(sound) {
        return Err(wrong("it has no address and port"));
    }
    EndPoint::from_str(place).map_err(|error| wrong(&error.to_string()))?;
    Ok(())
}

fn zenoh_config(config: &Config) -> Result<zenoh::Config, Error> {
    let list = |places: &[String]| {
        let quoted: Vec<_> = places.iter().map(|place| format!("{place:?}")).collect();
        format!("[{}]", quoted.join(","))
    };
    let [first, last] = RETRY_MS;
    let retry = format!("{{period_init_ms:{first},period_max_ms:{last},period_increase_factor:2}}");
    let words = [
        ("mode", "\"peer\"".into()),
        ("listen/endpoints", list(&config.listen)),
        ("connect/endpoints", list(&config.connect)),
        ("connect/timeout_ms", "-1".into()),
        ("connect/exit_on_failure", "false".into()),
        ("connect/retry", retry),
        ("scouting/multicast/enabled", "false".into()),
        ("scouting/gossip/enabled", "false".into()),
        ("transport/link/tx/lease", LEASE_MS.to_string()),
    ];
    let mut settings = zenoh::Config::default();
    for (key, value) in words {
        let set = settings.insert_json5(key, &value);
        set.map_err(|error| Error::Session(format!("{key}: {error}")))?;
    }
    Ok(settings)
}

/// Says to nodes of ROS 2 what is here of theirs, for as long as the tokens are.
pub(crate) fn declare(session: &Session, config: &Config) -> Result<Vec<LivelinessToken>, Error> {
    let exports = config
        .exports
        .iter()
        .map(|one| (&one.endpoint, Part::Publisher));
    let imports = config
        .imports
        .iter()
        .map(|one| (&one.endpoint, Part::Subscription));
    let topics = exports
        .chain(imports)
        .filter_map(|(address, part)| Some((address.topic()?, part)));
    let topics: Vec<_> = topics.collect();
    let id = session.zid().to_string();
    let node = config.node.as_deref().unwrap_or(NODE);
    let ends = topics.iter().enumerate();
    let ends = ends.filter_map(|(index, (topic, part))| topic.token(&id, node, index + 1, *part));
    let nodes: BTreeSet<_> = topics
        .iter()
        .filter_map(|(topic, _)| topic.node_token(&id, node))
        .collect();
    let declared = nodes.into_iter().chain(ends).map(|key| {
        let token = session.liveliness().declare_token(&key).wait();
        token.map_err(|error| Error::Session(format!("{key}: {error}")))
    });
    declared.collect()
}

/// How many others it is connected to.
pub(crate) fn others(session: &Session) -> usize {
    let info = session.info();
    info.peers_zid().wait().count() + info.routers_zid().wait().count()
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn places_are_told_from_other_words() {
        for good in ["tcp/127.0.0.1:7447", "tcp/0.0.0.0:1", "tcp/[::1]:7447"] {
            check(good).expect(good);
        }
        for bad in [
            "",
            "tcp",
            "tcp/",
            "tcp/127.0.0.1",
            "udp/127.0.0.1:1",
            "tcp/:7447",
            "tcp/a:99999",
            "127.0.0.1:7447",
        ] {
            let wrong = check(bad).expect_err(bad).to_string();
            assert!(wrong.contains("tcp/ADDRESS:PORT"), "{wrong}");
        }
    }
}
