//! Keys of `[partition.NAME.bridge]`

use super::Presence::{Default, Required, RequiredByRule};
use super::table::table;
use crate::document::At;
use crate::draft::section::Section;

const TYPE: &str = "Its type, `PACKAGE/msg/NAME`: one of those of `std_msgs`, `geometry_msgs` and `builtin_interfaces` that have neither texts nor \
                    sequences, or any other with its `fields`. The channel's messages are the type's CDR, that is, what C lays out for the same \
                    numbers in the same order; of a pipe's message it is the data, of a type of 8 bytes the word on which functions compute, of \
                    one of 16 both.";
const FIELDS: &str = "Fields of a type of your own, as in its `.msg`, without comments and constants: numbers, arrays of a fixed length of them, and the \
                      known types. Nodes hear each other only if the type has the same fields of the same names on both sides.";
const FIELDS_DEFAULT: &str = "those of the known type";

table! {
    /// The bridge of a partition.
    BridgeDraft [name: At<String> = Section::name] in "partition.*.bridge." {
        host: Text, RequiredByRule, "host = \"car\"",
            "Name of this machine, the first part of the names of its endpoints, `HOST:PARTITION:SPACE:ENDPOINT`.";
        listen: Texts, Default("accepts no connections"), "listen = [\"tcp/0.0.0.0:7447\"]",
            "Where others reach it, `tcp/ADDRESS:PORT` each.";
        connect: Texts, Default("opens no connections"), "connect = [\"tcp/10.0.0.2:7447\"]",
            "Addresses to which it connects: other bridges, Zenoh programs or routers. It retries until the peer answers.";
        export: Texts, Default("none"), "export = [\"speed\"]",
            "Channels, four-slot or ring, that come to this partition and go out from it, as `HOST:WRITER:SPACE:CHANNEL`: WRITER is the partition \
             that writes it, SPACE its component that does, or `main`. What pipes bring (`writes = \"bridge\"`) goes out besides, as \
             `HOST:PARTITION:agent:PIPE.STAGE`.";
        domain: Number(0, 232), Default("0"), "domain = 7",
            "Domain of the ROS 2 nodes that hear and are heard, their `ROS_DOMAIN_ID`.";
        publish: Named(TopicDraft), Default("none"), "[partition.linux.bridge.publish.speed]",
            "What goes out as a topic of ROS 2, to nodes with `rmw_zenoh`, `[partition.NAME.bridge.publish.NAME]` each: NAME is a channel, \
             four-slot or ring, that comes to this partition, or a pipe of which a last stage here has `writes = \"bridge\"`. It goes out as that, \
             and under no other name.";
        imports "import": Named(ImportDraft), Default("none"), "[partition.linux.bridge.import.goal]",
            "What comes from another machine, `[partition.NAME.bridge.import.NAME]` each: NAME is a channel, four-slot or ring, that this \
             partition writes it into; or what functions of the partition read as `bridge.NAME`, so that pipes begin there. They take the messages \
             of another machine's pipe (`writes = \"bridge\"`), and bare data of any Zenoh program, 16 bytes or 8.";
    }
}

table! {
    /// A channel, or the output of a pipe, that is published as a topic of ROS 2; the topic of an import.
    TopicDraft [name: At<String> = Section::name] in "partition.*.bridge.publish.*." {
        topic: Text, Required, "topic = \"/car/speed\"",
            "The topic, its full name.";
        kind "type": Text, Required, "type = \"std_msgs/msg/Float64\"",
            TYPE;
        fields: Texts, Default(FIELDS_DEFAULT), "fields = [\"float64[4] speed\", \"uint8 mode\"]",
            FIELDS;
    } keys in "partition.*.bridge.import.*." {
        "topic": Text, Default("it is the endpoint `from`"), "topic = \"/goal\"",
            "Full name of the ROS 2 topic that is imported. Every node that publishes it with `rmw_zenoh` is a source. The age of a message is 0 \
             when it arrives.";
        "type": Text, Default("of a `topic` it has to be said"), "type = \"std_msgs/msg/UInt64\"",
            TYPE;
        "fields": Texts, Default(FIELDS_DEFAULT), "fields = [\"float64[4] speed\", \"uint8 mode\"]",
            FIELDS;
    }
}

table! {
    /// A channel, or an input of first stages, that receives the values of another machine.
    ImportDraft [name: At<String> = Section::name, topic: TopicDraft = TopicDraft::read] in "partition.*.bridge.import.*." {
        from: Text, RequiredByRule, "from = \"dock:planner:main:goal\"",
            "The endpoint on the other machine, `HOST:PARTITION:SPACE:ENDPOINT`; or say a `topic`.";
        distance: Time, Default("none, and none is needed but where functions read it"), "distance = \"10 ms\"",
            "Where functions read it: shortest distance at which its messages enter a pipe. What comes sooner after another waits for its time; \
             what comes faster for long is dropped, and counted. The bound counts from when the bridge has put a message in, by this machine's \
             clock: what is before has none.";
        max_age: Time, Default("however old it is"), "max_age = \"500 ms\"",
            "From this age on a value is not to be gone by: what the other bridge says its age was, and the time since it came. Four slots then \
             keep what they have; the `fallback` is written in its place. Where functions read it, such a value does not enter a pipe with four \
             slots, and bare data have to say their age, too; what takes the place of a silent one is the pipe's `max_age` and the function's \
             `fallback`.";
        fallback: Text, Default("nothing is written"), "fallback = \"0000000000000000\"",
            "The message that is written when nothing younger than `max_age` is there, and again in each `max_age`: as many pairs of hexadecimal \
             digits as the channel's messages have bytes.";
    }
}
