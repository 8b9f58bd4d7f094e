//! Keys of `[partition.NAME.bridge]`

use crate::registry::Presence::{Default, Required, RequiredByRule};
use crate::registry::key::{Key, Shape};

const TYPE: &str = "Its type, `PACKAGE/msg/NAME`: one of those of `std_msgs`, `geometry_msgs` and `builtin_interfaces` that have neither texts nor \
                    sequences, or any other with its `fields`. The channel's messages are the type's CDR, that is, what C lays out for the same \
                    numbers in the same order; of a pipe's message it is the data, of a type of 8 bytes the word on which functions compute, of \
                    one of 16 both.";
const FIELDS: &str = "Fields of a type of your own, as in its `.msg`, without comments and constants: numbers, arrays of a fixed length of them, and the \
                      known types. Nodes hear each other only if the type has the same fields of the same names on both sides.";
const FIELDS_DEFAULT: &str = "those of the known type";

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "partition.*.bridge",
        shape: Shape::Section,
        presence: Default("nothing goes beyond the machine"),
        meaning: "Of a Linux partition: endpoints that other machines reach over Zenoh. The bridge is a program beside \
                  the agent; the network card is one of the partition's `devices`.",
        example: "[partition.linux.bridge]",
    },
    Key {
        path: "partition.*.bridge.host",
        shape: Shape::Text,
        presence: RequiredByRule,
        meaning: "Name of this machine, the first part of the names of its endpoints, `HOST:PARTITION:SPACE:ENDPOINT`.",
        example: "host = \"car\"",
    },
    Key {
        path: "partition.*.bridge.listen",
        shape: Shape::Texts,
        presence: Default("accepts no connections"),
        meaning: "Where others reach it, `tcp/ADDRESS:PORT` each.",
        example: "listen = [\"tcp/0.0.0.0:7447\"]",
    },
    Key {
        path: "partition.*.bridge.connect",
        shape: Shape::Texts,
        presence: Default("opens no connections"),
        meaning: "Addresses to which it connects: other bridges, Zenoh programs or routers. It retries until the peer \
                  answers.",
        example: "connect = [\"tcp/10.0.0.2:7447\"]",
    },
    Key {
        path: "partition.*.bridge.export",
        shape: Shape::Texts,
        presence: Default("none"),
        meaning: "Channels, four-slot or ring, that come to this partition and go out from it, as \
                  `HOST:WRITER:SPACE:CHANNEL`: WRITER is the partition that writes it, SPACE its component that does, or \
                  `main`. What pipes bring (`writes = \"bridge\"`) goes out besides, as `HOST:PARTITION:agent:PIPE.STAGE`.",
        example: "export = [\"speed\"]",
    },
    Key {
        path: "partition.*.bridge.domain",
        shape: Shape::Number(0, 232),
        presence: Default("0"),
        meaning: "Domain of the ROS 2 nodes that hear and are heard, their `ROS_DOMAIN_ID`.",
        example: "domain = 7",
    },
    Key {
        path: "partition.*.bridge.publish",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "What goes out as a topic of ROS 2, to nodes with `rmw_zenoh`, `[partition.NAME.bridge.publish.NAME]` each: NAME is a channel, \
                  four-slot or ring, that comes to this partition, or a pipe of which a last stage here has `writes = \"bridge\"`. It goes out as \
                  that, and under no other name.",
        example: "[partition.linux.bridge.publish.speed]",
    },
    Key {
        path: "partition.*.bridge.publish.*.topic",
        shape: Shape::Text,
        presence: Required,
        meaning: "The topic, its full name.",
        example: "topic = \"/car/speed\"",
    },
    Key {
        path: "partition.*.bridge.publish.*.type",
        shape: Shape::Text,
        presence: Required,
        meaning: TYPE,
        example: "type = \"std_msgs/msg/Float64\"",
    },
    Key {
        path: "partition.*.bridge.publish.*.fields",
        shape: Shape::Texts,
        presence: Default(FIELDS_DEFAULT),
        meaning: FIELDS,
        example: "fields = [\"float64[4] speed\", \"uint8 mode\"]",
    },
    Key {
        path: "partition.*.bridge.import",
        shape: Shape::Named,
        presence: Default("none"),
        meaning: "What comes from another machine, `[partition.NAME.bridge.import.NAME]` each: NAME is a channel, four-slot or ring, \
                  that this partition writes it into; or what functions of the partition read as `bridge.NAME`, so that pipes begin \
                  there. They take the messages of another machine's pipe (`writes = \"bridge\"`), and bare data of any Zenoh program, 16 \
                  bytes or 8.",
        example: "[partition.linux.bridge.import.goal]",
    },
    Key {
        path: "partition.*.bridge.import.*.from",
        shape: Shape::Text,
        presence: RequiredByRule,
        meaning: "The endpoint on the other machine, `HOST:PARTITION:SPACE:ENDPOINT`; or say a `topic`.",
        example: "from = \"dock:planner:main:goal\"",
    },
    Key {
        path: "partition.*.bridge.import.*.topic",
        shape: Shape::Text,
        presence: Default("it is the endpoint `from`"),
        meaning: "Full name of the ROS 2 topic that is imported. Every node that publishes it with `rmw_zenoh` is a \
                  source. The age of a message is 0 when it arrives.",
        example: "topic = \"/goal\"",
    },
    Key {
        path: "partition.*.bridge.import.*.type",
        shape: Shape::Text,
        presence: Default("of a `topic` it has to be said"),
        meaning: TYPE,
        example: "type = \"std_msgs/msg/UInt64\"",
    },
    Key {
        path: "partition.*.bridge.import.*.fields",
        shape: Shape::Texts,
        presence: Default(FIELDS_DEFAULT),
        meaning: FIELDS,
        example: "fields = [\"float64[4] speed\", \"uint8 mode\"]",
    },
    Key {
        path: "partition.*.bridge.import.*.distance",
        shape: Shape::Time,
        presence: Default("none, and none is needed but where functions read it"),
        meaning: "Where functions read it: shortest distance at which its messages enter a pipe. What comes sooner after another waits \
                  for its time; what comes faster for long is dropped, and counted. The bound counts from when the bridge has put a \
                  message in, by this machine's clock: what is before has none.",
        example: "distance = \"10 ms\"",
    },
    Key {
        path: "partition.*.bridge.import.*.max_age",
        shape: Shape::Time,
        presence: Default("however old it is"),
        meaning: "From this age on a value is not to be gone by: what the other bridge says its age was, and the time since it \
                  came. Four slots then keep what they have; the `fallback` is written in its place. Where functions read it, such a value \
                  does not enter a pipe with four slots, and bare data have to say their age, too; what takes the place of a silent one is \
                  the pipe's `max_age` and the function's `fallback`.",
        example: "max_age = \"500 ms\"",
    },
    Key {
        path: "partition.*.bridge.import.*.fallback",
        shape: Shape::Text,
        presence: Default("nothing is written"),
        meaning: "The message that is written when nothing younger than `max_age` is there, and again in each `max_age`: as \
                  many pairs of hexadecimal digits as the channel's messages have bytes.",
        example: "fallback = \"0000000000000000\"",
    },
];
