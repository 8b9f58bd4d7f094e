//! Topics of ROS 2 on Zenoh
//!
//! A node with `rmw_zenoh` puts each message of a topic on the key expression
//! `DOMAIN/TOPIC/TYPE/HASH` (`rmw_zenoh_cpp`, docs/design.md), where TYPE is the DDS name and
//! HASH that of the type's description (REP-2016, `RIHS01_`); a node with another hash does not
//! receive it. The message itself is CDR, little-endian: for a type without strings and sequences
//! always the same layout ([`Layout`]).

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// A topic, and what its messages are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// `/NAME`, each part of letters, digits and `_`.
    pub name: String,
    /// `PACKAGE/msg/NAME`.
    pub kind: String,
    /// Bytes of a message, without CDR's four in front of it.
    pub bytes: usize,
    /// Its key expression.
    pub key: String,
}

impl Topic {
    /// As it stands in the bridge's text.
    #[must_use]
    pub fn address(&self) -> String {
        format!("ros2:{}:{}", self.bytes, self.key)
    }
}

/// How long messages of a type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes.
    pub(crate) bytes: usize,
    /// Of its widest number: C lays out the same fields in a multiple of that.
    pub(crate) align: usize,
}

impl Layout {
    /// Returns whether a buffer of so many bytes holds one: exactly, or as C would have it.
    pub(crate) fn fits(self, bytes: usize) -> bool {
        bytes == self.bytes || bytes == self.bytes.next_multiple_of(self.align)
    }
}

/// The fields of a type: each with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    name: String,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    of: Of,
    /// Of an array.
    count: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Of {
    /// Its place in [`NUMBERS`].
    Number(usize),
    Type(Type),
}

/// Numbers as a `.msg` has them, with their identifiers in a description
/// (`type_description_interfaces/msg/FieldType`) and bytes. A `char` is a `uint8`.
const NUMBERS: [(&str, u32, usize); 13] = [
    ("bool", 15, 1),
    ("byte", 16, 1),
    ("char", 3, 1),
    ("int8", 2, 1),
    ("uint8", 3, 1),
    ("int16", 4, 2),
    ("uint16", 5, 2),
    ("int32", 6, 4),
    ("uint32", 7, 4),
    ("int64", 8, 8),
    ("uint64", 9, 8),
    ("float32", 10, 4),
    ("float64", 11, 8),
];
/// An array has this more as its identifier.
const ARRAY: u32 = 48;
const NESTED: u32 = 1;
/// Longest array that makes sense here.
const LONGEST: usize = 4096;

/// Common types, with their fields.
const KNOWN: [(&str, &str); 23] = [
    (
        "builtin_interfaces/msg/Duration",
        "int32 sec, uint32 nanosec",
    ),
    ("builtin_interfaces/msg/Time", "int32 sec, uint32 nanosec"),
    (
        "geometry_msgs/msg/Accel",
        "geometry_msgs/Vector3 linear, geometry_msgs/Vector3 angular",
    ),
    ("geometry_msgs/msg/Point", "float64 x, float64 y, float64 z"),
    (
        "geometry_msgs/msg/Point32",
        "float32 x, float32 y, float32 z",
    ),
    (
        "geometry_msgs/msg/Pose",
        "geometry_msgs/Point position, geometry_msgs/Quaternion orientation",
    ),
    (
        "geometry_msgs/msg/Quaternion",
        "float64 x, float64 y, float64 z, float64 w",
    ),
    (
        "geometry_msgs/msg/Twist",
        "geometry_msgs/Vector3 linear, geometry_msgs/Vector3 angular",
    ),
    (
        "geometry_msgs/msg/Vector3",
        "float64 x, float64 y, float64 z",
    ),
    (
        "geometry_msgs/msg/Wrench",
        "geometry_msgs/Vector3 force, geometry_msgs/Vector3 torque",
    ),
    ("std_msgs/msg/Bool", "bool data"),
    ("std_msgs/msg/Byte", "byte data"),
    ("std_msgs/msg/Char", "char data"),
    ("std_msgs/msg/Float32", "float32 data"),
    ("std_msgs/msg/Float64", "float64 data"),
    ("std_msgs/msg/Int16", "int16 data"),
    ("std_msgs/msg/Int32", "int32 data"),
    ("std_msgs/msg/Int64", "int64 data"),
    ("std_msgs/msg/Int8", "int8 data"),
    ("std_msgs/msg/UInt16", "uint16 data"),
    ("std_msgs/msg/UInt32", "uint32 data"),
    ("std_msgs/msg/UInt64", "uint64 data"),
    ("std_msgs/msg/UInt8", "uint8 data"),
];

/// Names of the known types.
pub(crate) fn type_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, _)| *name)
}

/// Returns whether a word is a topic's full name: `/` and parts of letters, digits and `_` that do
/// not begin with a digit.
pub(crate) fn is_topic(name: &str) -> bool {
    let parts = name.strip_prefix('/').map(|rest| rest.split('/'));
    parts.is_some_and(|mut parts| parts.all(is_word))
}

/// Returns whether a word is a type's name, `PACKAGE/msg/NAME`.
pub(crate) fn is_type(name: &str) -> bool {
    let parts: Vec<_> = name.split('/').collect();
    matches!(parts.as_slice(), [package, "msg", kind] if is_word(package) && is_word(kind))
}

fn is_word(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    word.bytes().all(plain)
        && !word.starts_with(|first: char| first.is_ascii_digit())
        && !word.is_empty()
}

impl Type {
    /// The known one of that name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (_, fields) = KNOWN.iter().find(|(layout, _)| *layout == name)?;
        Self::of(name, fields.split(", ")).ok()
    }

    /// One of such fields, `TYPE NAME` each, as in a `.msg`; or which of them is none.
    pub(crate) fn of<'f>(
        name: &str,
        fields: impl IntoIterator<Item = &'f str>,
    ) -> Result<Self, &'f str> {
        let field = |text: &'f str| Field::of(text).ok_or(text);
        let fields: Vec<_> = fields.into_iter().map(field).collect::<Result<_, _>>()?;
        Ok(Self {
            name: name.to_owned(),
            fields,
        })
    }

    /// Bytes of a message: each number at a multiple of its own length.
    pub(crate) fn layout(&self) -> Layout {
        let mut layout = Layout { bytes: 0, align: 1 };
        self.lay(&mut layout);
        layout
    }

    fn lay(&self, layout: &mut Layout) {
        for field in &self.fields {
            for _ in 0..field.count.unwrap_or(1) {
                match &field.of {
                    Of::Number(number) => {
                        let bytes = NUMBERS[*number].2;
                        layout.bytes = layout.bytes.next_multiple_of(bytes) + bytes;
                        layout.align = layout.align.max(bytes);
                    }
                    Of::Type(kind) => kind.lay(layout),
                }
            }
        }
    }

    /// The topic of that name in a domain.
    pub(crate) fn topic(&self, domain: u64, name: &str) -> Topic {
        let (path, kind) = self.name.rsplit_once('/').unwrap_or_default();
        let dds = format!("{}::dds_::{kind}_", path.replace('/', "::"));
        Topic {
            name: name.to_owned(),
            kind: self.name.clone(),
            bytes: self.layout().bytes,
            key: format!("{domain}{name}/{dds}/{}", self.hash()),
        }
    }

    /// Hash of the type's description.
    fn hash(&self) -> String {
        let mut nested = Vec::new();
        self.collect(&mut nested);
        nested.sort_by(|one, other| one.name.cmp(&other.name));
        nested.dedup_by(|one, other| one.name == other.name);
        let nested: Vec<_> = nested.into_iter().map(Self::description).collect();
        let whole = format!(
            "{{\"type_description\": {}, \"referenced_type_descriptions\": [{}]}}",
            self.description(),
            nested.join(", ")
        );
        let mut hash = "RIHS01_".to_owned();
        for byte in Sha256::digest(whole) {
            let _cannot_fail = write!(hash, "{byte:02x}");
        }
        hash
    }

    fn collect<'t>(&'t self, nested: &mut Vec<&'t Self>) {
        for field in &self.fields {
            if let Of::Type(kind) = &field.of {
                nested.push(kind);
                kind.collect(nested);
            }
        }
    }

    fn description(&self) -> String {
        let fields: Vec<_> = self.fields.iter().map(Field::description).collect();
        format!(
            "{{\"type_name\": \"{}\", \"fields\": [{}]}}",
            self.name,
            fields.join(", ")
        )
    }
}

impl Field {
    fn of(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let (kind, name) = (words.next()?, words.next()?);
        let (kind, count) = match kind.strip_suffix(']') {
            Some(array) => {
                let (kind, count) = array.split_once('[')?;
                let count = count
                    .parse()
                    .ok()
                    .filter(|count| (1..=LONGEST).contains(count));
                (kind, Some(count?))
            }
            None => (kind, None),
        };
        let small = name.bytes().all(|byte| !byte.is_ascii_uppercase());
        let number = NUMBERS.iter().position(|(word, ..)| *word == kind);
        let of = match number {
            Some(number) => Of::Number(number),
            None => Of::Type(Type::of_name(&kind.replacen('/', "/msg/", 1))?),
        };
        (words.next().is_none() && small && is_word(name)).then(|| Self {
            name: name.to_owned(),
            of,
            count,
        })
    }

    fn description(&self) -> String {
        let (number, nested) = match &self.of {
            Of::Number(number) => (NUMBERS[*number].1, ""),
            Of::Type(kind) => (NESTED, kind.name.as_str()),
        };
        let (number, capacity) = match self.count {
            Some(count) => (number + ARRAY, count),
            None => (number, 0),
        };
        format!(
            "{{\"name\": \"{}\", \"type\": {{\"type_id\": {number}, \"capacity\": {capacity}, \"string_capacity\": 0, \
             \"nested_type_name\": \"{nested}\"}}}}",
            self.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, Type, is_topic, is_type};

    fn hash(kind: &Type) -> String {
        let key = kind.topic(0, "/a/b").key;
        key.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// As `ros2 topic info --verbose` and other implementations have them.
    #[test]
    fn hashes_are_those_of_others() {
        for (name, expected) in [
            (
                "std_msgs/msg/Float64",
                "705ba9c3d1a09df43737eb67095534de36fd426c0587779bda2bc51fe790182a",
            ),
            (
                "std_msgs/msg/Bool",
                "feb91e995ff9ebd09c0cb3d2aed18b11077585839fb5db80193b62d74528f6c9",
            ),
            (
                "std_msgs/msg/Byte",
                "41e1a3345f73fe93ede006da826a6ee274af23dd4653976ff249b0f44e3e798f",
            ),
            (
                "std_msgs/msg/Char",
                "3ad2d04dd29ba19d04b16659afa3ccaedd691914b02a64e82e252f2fa6a586a9",
            ),
            (
                "geometry_msgs/msg/Twist",
                "9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a",
            ),
            (
                "geometry_msgs/msg/Pose",
                "d501954e9476cea2996984e812054b68026ae0bfae789d9a10b23daf35cc90fa",
            ),
            (
                "builtin_interfaces/msg/Time",
                "b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197",
            ),
        ] {
            let kind = Type::of_name(name).expect("a known type");
            assert_eq!(hash(&kind), format!("RIHS01_{expected}"), "{name}");
        }
        let wheels = Type::of("car_msgs/msg/Wheels", ["float64[4] speed", "uint8 mode"]);
        let wheels = wheels.expect("fields");
        assert_eq!(
            hash(&wheels),
            "RIHS01_006fd721fabb11459f734b4d298914ebc1ec4a61c467e796b8e280d74ee199d6"
        );
        assert!(wheels.layout().fits(33) && wheels.layout().fits(40) && !wheels.layout().fits(36));
    }

    #[test]
    fn all_known_types_are_types() {
        for (name, _) in KNOWN {
            let kind = Type::of_name(name).expect(name);
            assert!(is_type(name) && kind.layout().bytes > 0, "{name}");
        }
        let twist = Type::of_name("geometry_msgs/msg/Twist").expect("it is");
        let topic = twist.topic(7, "/cmd_vel");
        assert_eq!(topic.bytes, 48);
        assert!(
            topic
                .key
                .starts_with("7/cmd_vel/geometry_msgs::msg::dds_::Twist_/RIHS01_"),
            "{}",
            topic.key
        );
    }

    #[test]
    fn fields_of_no_fixed_length_are_none() {
        for text in [
            "",
            "float64",
            "float64 a b",
            "string a",
            "float64[] a",
            "float64[0] a",
            "float64[5000] a",
            "float64[x] a",
            "float64 A",
            "float64 2a",
            "geometry_msgs/Vector9 a",
            "float64 a=3",
            "float64]a b",
            "uint8[<=4] a",
        ] {
            assert_eq!(Type::of("a_msgs/msg/A", [text]), Err(text));
        }
        for topic in ["", "/", "a", "/a//b", "/a/", "/2a", "/a-b", "/a/*"] {
            assert!(!is_topic(topic), "{topic}");
        }
        for kind in [
            "",
            "std_msgs/Float64",
            "std_msgs/srv/Float64",
            "a/msg/",
            "a b/msg/C",
            "a/msg/C/d",
        ] {
            assert!(!is_type(kind), "{kind}");
        }
        assert!(is_topic("/car_1/speed") && is_type("std_msgs/msg/Float64"));
    }
}
