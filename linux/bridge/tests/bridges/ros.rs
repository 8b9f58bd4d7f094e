//! Nodes of ROS 2 hear and are heard, by another implementation of the middleware

use crate::machine::{BYTES, Buffer, Machine, free_port, until};
use bulkhead_linux::{BytesReader, Kind};
use bulkhead_stages::message;
use hiroz::context::{ZContext, ZContextBuilder};
use hiroz::entity::EndpointKind;
use hiroz::node::ZNode;
use hiroz::{Builder, MessageTypeInfo};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use tempfile::tempdir;

/// For a message that is under way.
const PATIENCE: Duration = Duration::from_secs(20);
/// ROS domain of the nodes.
const DOMAIN: usize = 7;
/// As the tool has it of the same fields.
const SPEED: &str = "RIHS01_34796f05df047f1f1089f590ab6a1bb5a01906e38b816b785db09f74c172d454";
const INT64: &str = "RIHS01_8cd1048c2f186b6bd9a92472dc1ce51723c0833a221e2b7aecfff111774f4b49";

/// Twelve bytes, as the tests' channels have them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, MessageTypeInfo)]
#[ros_msg(type_name = "car_msgs/msg/Speed")]
struct Speed {
    speed: f64,
    count: u32,
}

impl hiroz::msg::ZMessage for Speed {
    type Serdes = hiroz::msg::SerdeCdrSerdes<Self>;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, MessageTypeInfo)]
#[ros_msg(type_name = "std_msgs/msg/Int64")]
struct Int64 {
    data: i64,
}

impl hiroz::msg::ZMessage for Int64 {
    type Serdes = hiroz::msg::SerdeCdrSerdes<Self>;
}

/// A bridge, and a node that has found it.
struct Peers {
    bridge: Machine,
    node: ZNode,
    context: ZContext,
}

impl Peers {
    /// The bridge of these lines, which listens.
    fn start(folder: &Path, lines: &[String]) -> Self {
        let port = free_port();
        let listen = format!("listen tcp/127.0.0.1:{port}");
        let bridge = Machine::start(folder, &[&[listen], lines].concat());
        bridge.says(&["ros2:", ": 0 "]);
        let context = context(port);
        let node = context.create_node("node").build().expect("a node");
        Self {
            bridge,
            node,
            context,
        }
    }

    /// Until the bridge is that end of a topic.
    fn find(&self, kind: EndpointKind, topic: &str) {
        until("the bridge in the graph", || {
            self.context.graph().count(kind, topic) == 1
        });
    }
}

/// A node's own connection, to the bridge that listens there.
fn context(port: u16) -> ZContext {
    let context = ZContextBuilder::default().with_domain_id(DOMAIN);
    let context = context.disable_multicast_scouting();
    let context = context
        .with_mode("peer")
        .with_connect_endpoints([format!("tcp/127.0.0.1:{port}")]);
    context.build().expect("a context")
}

fn speed_topic() -> String {
    format!("ros2:{BYTES}:{DOMAIN}/car/speed/car_msgs::msg::dds_::Speed_/{SPEED}")
}

impl Speed {
    fn of(count: u32) -> Self {
        Self {
            speed: f64::from(count) / 4.0,
            count,
        }
    }

    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.speed.to_le_bytes());
        bytes[8..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }
}

/// The next message that was put into a channel.
fn next(reader: &mut BytesReader) -> Vec<u8> {
    let mut message = None;
    until("the message", || {
        let taken = reader.take().expect("sound");
        message = taken.map(|(_, bytes)| bytes.to_vec());
        message.is_some()
    });
    message.expect("it came")
}

#[test]
fn a_node_hears_all_that_a_ring_has() {
    let folder = tempdir().expect("a folder");
    let here = Buffer::new(folder.path(), "here", Kind::Ring);
    let export = format!("export here {}", speed_topic());
    let peers = Peers::start(folder.path(), &["node car".into(), here.line(), export]);
    let heard = peers.node.create_sub::<Speed>("/car/speed");
    let heard = heard.build().expect("a subscription");
    peers.find(EndpointKind::Publisher, "/car/speed");
    let nodes = peers.context.graph().get_node_names();
    assert!(nodes.iter().any(|(name, _)| name == "car"), "{nodes:?}");
    let mut writer = here.writer();
    for count in 1..=2000 {
        until("room", || writer.put(&Speed::of(count).bytes()).is_ok());
        // A subscription keeps the last ten.
        if count % 10 == 0 {
            for past in count - 9..=count {
                let received = heard.recv_timeout(PATIENCE).expect("it comes");
                assert_eq!(received, Speed::of(past));
            }
        }
    }
    let says = ["export here as", ": 2000 sent, 0 repeated, 0 not taken"];
    peers.bridge.says(&says);
}

#[test]
fn what_a_node_says_is_in_the_channel() {
    let folder = tempdir().expect("a folder");
    let there = Buffer::new(folder.path(), "there", Kind::Ring);
    let import = format!("import there {}", speed_topic());
    let peers = Peers::start(folder.path(), &[there.line(), import]);
    let publisher = peers.node.create_pub::<Speed>("/car/speed");
    let publisher = publisher.build().expect("a publisher");
    peers.find(EndpointKind::Subscription, "/car/speed");
    let mut reader = there.reader();
    for count in 1..=1000 {
        publisher.publish(&Speed::of(count)).expect("it goes");
        assert_eq!(next(&mut reader), Speed::of(count).bytes());
    }
    let says = [
        "import ros2:",
        ": 1000 taken, 0 missed, 0 refused, 0 dropped",
    ];
    peers.bridge.says(&says);
}

#[test]
fn a_topic_goes_into_a_pipe_and_a_pipe_into_a_topic() {
    let folder = tempdir().expect("a folder");
    let buffer = |name| Buffer::of(folder.path(), name, Kind::Ring, message::BYTES);
    let (input, output) = (buffer("goal.1.in"), buffer("goal.3"));
    let topic = |name: &str| format!("ros2:8:{DOMAIN}/{name}/std_msgs::msg::dds_::Int64_/{INT64}");
    let import = format!(
        "import goal.1.in {} stage 1000000 max-age 200000000",
        topic("goal")
    );
    let export = format!("export goal.3 {}", topic("angle"));
    let lines = [input.line(), output.line(), import, export];
    let peers = Peers::start(folder.path(), &lines);
    let publisher = peers.node.create_pub::<Int64>("/goal");
    let publisher = publisher.build().expect("a publisher");
    let heard = peers.node.create_sub::<Int64>("/angle");
    let heard = heard.build().expect("a subscription");
    peers.find(EndpointKind::Subscription, "/goal");
    peers.find(EndpointKind::Publisher, "/angle");
    let (mut reader, mut writer) = (input.reader(), output.writer());
    for data in [-5_i64, 77, i64::MAX] {
        publisher.publish(&Int64 { data }).expect("it goes");
        // As the pipe's last stage would have it, behind its stages.
        writer.put(&next(&mut reader)).expect("room");
        let answer = heard.recv_timeout(PATIENCE).expect("it comes");
        assert_eq!(answer, Int64 { data });
    }
}
