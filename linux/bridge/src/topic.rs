//! Topics of ROS 2, as its middleware on Zenoh has them
//!
//! A message of a topic is put on `DOMAIN/TOPIC/TYPE/HASH`, in CDR, with the number that its publisher gave it, the time and the publisher's identity
//! beside it. Publishers and subscribers announce themselves by tokens (`rmw_zenoh_cpp`, docs/design.md and its attachment). For a type without strings and
//! sequences CDR is the channel's content behind four bytes of encapsulation (OMG DDSI-RTPS 2.5, 10.2; DDS-XTypes 1.3, 7.4).

use crate::{Attachment, Error};
use bulkhead_stages::message::{BYTES, Message};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};
use zerocopy::{FromBytes, IntoBytes};

/// Prefix of a topic's address.
const SCHEME: &str = "ros2:";
/// Plain CDR, little-endian, no options.
const HEADER: [u8; 4] = [0, 1, 0, 0];
/// Bytes by which a writer may fill its message up.
const FILL: usize = 3;
/// Bytes of a word of a pipe's data.
const WORD: usize = 8;
/// Bytes of all of them.
const DATA: usize = 2 * WORD;
/// Bytes of a publisher's identity.
const IDENTITY: usize = 16;
/// Number, time, length of the identity, identity.
const BESIDE: usize = 2 * WORD + 1 + IDENTITY;
/// Default quality of service: reliable, volatile, history of ten.
const QOS: &str = "::,:,:,:,,";

/// A topic, and the type of its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Bytes of a message.
    bytes: usize,
    /// `DOMAIN/TOPIC/TYPE/HASH`.
    key: String,
}

/// Role of a node for a topic, as tokens encode it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Publisher,
    Subscription,
}

impl Topic {
    /// Its key expression.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Domain, topic with its parts after `%`, type, and hash.
    fn parts(&self) -> Option<[String; 4]> {
        let (domain, rest) = self.key.split_once('/')?;
        let (rest, hash) = rest.rsplit_once('/')?;
        let (topic, kind) = rest.rsplit_once('/')?;
        let topic = format!("%{}", topic.replace('/', "%"));
        Some([domain.to_owned(), topic, kind.to_owned(), hash.to_owned()])
    }

    /// By which others learn that a node of this session is there.
    pub(crate) fn node_token(&self, session: &str, node: &str) -> Option<String> {
        let [domain, ..] = self.parts()?;
        Some(format!("@ros2_lv/{domain}/{session}/0/0/NN/%/%/{node}"))
    }

    /// By which others learn that it publishes or hears this. `id`: its number in the session, from 1.
    pub(crate) fn token(&self, session: &str, node: &str, id: usize, part: Part) -> Option<String> {
        let [domain, topic, kind, hash] = self.parts()?;
        let part = match part {
            Part::Publisher => "MP",
            Part::Subscription => "MS",
        };
        Some(format!(
            "@ros2_lv/{domain}/{session}/0/{id}/{part}/%/%/{node}/{topic}/{kind}/{hash}/{QOS}"
        ))
    }

    /// Returns the payload for a message in a channel: the data of a pipe's message; `None` for an end of task.
    pub(crate) fn published(&self, message: &[u8]) -> Option<Vec<u8>> {
        let body = match (message.len(), self.bytes) {
            (BYTES, 1..=DATA) => {
                let message = Message::read_from_bytes(message).ok()?;
                let data = message.data.as_bytes();
                let from = data.len().checked_sub(self.bytes)?;
                Cow::Owned((!message.is_end()).then(|| data[from..].to_vec())?)
            }
            _ => Cow::Borrowed(message.get(..self.bytes)?),
        };
        Some([&HEADER, body.as_ref()].concat())
    }

    /// The message in what was published, filled up with zeros to what a channel takes; nothing where it is none of this type.
    pub(crate) fn heard(&self, payload: &[u8], room: usize) -> Option<Vec<u8>> {
        let (header, body) = payload.split_at_checked(HEADER.len())?;
        // What the last two bytes of the header say is how much of the end only fills up.
        let is_cdr = header[..2] == HEADER[..2];
        let fits = (self.bytes..=self.bytes + FILL).contains(&body.len());
        let mut body = body.get(..self.bytes).filter(|_| is_cdr && fits)?.to_vec();
        body.resize(room.max(self.bytes), 0);
        Some(body)
    }

    /// Returns true if messages of so many bytes have the type's form: a pipe's, or the same numbers in C's layout.
    pub(crate) fn fits(&self, message: usize) -> bool {
        let in_pipe = message == BYTES && [WORD, DATA].contains(&self.bytes);
        in_pipe || (self.bytes..self.bytes + WORD).contains(&message)
    }
}

impl FromStr for Topic {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text
            .strip_prefix(SCHEME)
            .and_then(|rest| rest.split_once(':'));
        let topic = parts.and_then(|(bytes, key)| {
            Some(Self {
                bytes: bytes.parse().ok().filter(|bytes| *bytes > 0)?,
                key: key.to_owned(),
            })
        });
        let is_sound = |topic: &Self| {
            let Some([domain, name, kind, hash]) = topic.parts() else {
                return false;
            };
            let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_%".contains(&byte);
            let plain = |text: &str, more: &[u8]| {
                !text.is_empty() && text.bytes().all(|byte| word(byte) || more.contains(&byte))
            };
            let named = name.split('%').skip(1).all(|part| !part.is_empty());
            domain.parse::<u32>().is_ok()
                && named
                && plain(&name, b"")
                && plain(&kind, b":")
                && plain(&hash, b"")
        };
        topic
            .filter(is_sound)
            .ok_or_else(|| Error::Topic(text.to_owned()))
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}:{}", self.bytes, self.key)
    }
}

/// Returns true if a word has the form of a topic's address.
pub(crate) fn is_meant(word: &str) -> bool {
    word.starts_with(SCHEME)
}

/// Encodes the attachment of a message: its number, its creation by this machine's calendar, and its publisher.
pub(crate) fn encode_attachment(number: u64, age: Option<Duration>, who: [u64; 2]) -> Vec<u8> {
    let at = SystemTime::now().checked_sub(age.unwrap_or_default());
    let at = at.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    let at = at.unwrap_or_default().as_nanos();
    let mut bytes = Vec::with_capacity(BESIDE);
    bytes.extend(number.to_le_bytes());
    bytes.extend(u64::try_from(at).unwrap_or(u64::MAX).to_le_bytes());
    bytes.push(IDENTITY as u8);
    who.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes
}

/// Decodes the attachment of a received message: its publisher and number. Its time is another machine's and is ignored, so the age is zero.
pub(crate) fn decode_attachment(bytes: &[u8]) -> Option<Attachment> {
    let (words, identity) = bytes.split_at_checked(2 * WORD)?;
    let (length, identity) = identity.split_first()?;
    if usize::from(*length) != IDENTITY || identity.len() != IDENTITY {
        return None;
    }
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    Some(Attachment {
        start: word(&identity[..WORD])? ^ word(&identity[WORD..])?.rotate_left(1),
        // Some count from 0.
        number: word(&words[..WORD])?.checked_add(1)?,
        age: Some(Duration::ZERO),
    })
}

#[cfg(test)]
mod tests {
    use super::{HEADER, Part, Topic, decode_attachment, encode_attachment};
    use bulkhead_stages::message::{Entry, Message};
    use std::time::Duration;
    use zerocopy::IntoBytes;

    const HASH: &str = "RIHS01_705ba9c3d1a09df43737eb67095534de36fd426c0587779bda2bc51fe790182a";

    fn topic(bytes: usize) -> Topic {
        let text = format!("ros2:{bytes}:7/car/speed/std_msgs::msg::dds_::Float64_/{HASH}");
        let topic: Topic = text.parse().expect("a topic");
        assert_eq!(topic.to_string(), text);
        topic
    }

    #[test]
    fn tokens_are_those_of_the_middleware() {
        let token = topic(8).token("abc", "car", 3, Part::Publisher);
        assert_eq!(
            token.expect("a token"),
            format!(
                "@ros2_lv/7/abc/0/3/MP/%/%/car/%car%speed/std_msgs::msg::dds_::Float64_/{HASH}/::,:,:,:,,"
            )
        );
        let token = topic(8).node_token("abc", "car").expect("a token");
        assert_eq!(token, "@ros2_lv/7/abc/0/0/NN/%/%/car");
    }

    #[test]
    fn what_is_no_topic_is_said() {
        for text in [
            "ros2:",
            "ros2:8:",
            "ros2:0:0/a/b/c",
            "ros2:x:0/a/b/c",
            "ros2:8:x/a/b/c",
            "ros2:8:0/a/b",
            "ros2:8:0//b/c",
            "ros2:8:0/a//b/c",
            "ros2:8:0/*/b/c",
            "ros2:8:0/a/b c/c",
            "car:a:b:c",
        ] {
            let wrong = text.parse::<Topic>().expect_err(text).to_string();
            assert!(wrong.contains("DOMAIN/TOPIC/TYPE/HASH"), "{wrong}");
        }
    }

    #[test]
    fn what_is_published_is_heard() {
        for (bytes, room) in [(8, 8), (33, 40), (1, 1)] {
            let message: Vec<u8> = (0..room as u8).collect();
            let payload = topic(bytes).published(&message).expect("a message");
            assert_eq!(payload[..4], HEADER);
            let mut expected = message[..bytes].to_vec();
            expected.resize(room, 0);
            for fill in 0..=3 {
                let filled = [payload.as_slice(), &[9; 3][..fill]].concat();
                assert_eq!(topic(bytes).heard(&filled, room), Some(expected.clone()));
            }
        }
    }

    #[test]
    fn of_a_pipes_message_the_data_are_published() {
        let mut message = Message {
            data: [1, 2],
            ..Message::default()
        };
        message.entries[0] = Entry { number: 9, at: 70 };
        let body = |bytes| {
            topic(bytes)
                .published(message.as_bytes())
                .map(|all| all[4..].to_vec())
        };
        assert_eq!(body(8), Some(2_u64.to_le_bytes().to_vec()));
        assert_eq!(body(16), Some([1_u64, 2].map(u64::to_le_bytes).concat()));
        assert_eq!(topic(8).published(Message::END.as_bytes()), None);
    }

    #[test]
    fn nothing_else_is_heard() {
        let topic = topic(8);
        for length in (0..40).filter(|length| !(12..=15).contains(length)) {
            let mut bytes = vec![0; length];
            bytes
                .iter_mut()
                .take(4)
                .zip(HEADER)
                .for_each(|(to, byte)| *to = byte);
            assert_eq!(topic.heard(&bytes, 8), None, "{length}");
        }
        for header in [[0, 0, 0, 0], [0, 3, 0, 0], [1, 1, 0, 0]] {
            assert_eq!(topic.heard(&[&header[..], &[0; 8]].concat(), 8), None);
        }
    }

    #[test]
    fn partition_and_number_are_named() {
        let bytes = encode_attachment(41, Some(Duration::from_secs(1)), [5, 6]);
        assert_eq!(bytes.len(), 33);
        let one = decode_attachment(&bytes).expect("it says");
        assert_eq!((one.number, one.age), (42, Some(Duration::ZERO)));
        assert_ne!(
            one.start,
            decode_attachment(&encode_attachment(41, None, [6, 5]))
                .expect("it says")
                .start
        );
        for length in (0..=64).filter(|length| *length != 33) {
            assert_eq!(decode_attachment(&vec![16; length]), None);
        }
        assert_eq!(
            decode_attachment(&[255; 33]),
            None,
            "no number is after the last"
        );
    }
}
