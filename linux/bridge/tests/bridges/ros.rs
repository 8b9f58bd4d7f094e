//! Nodes of ROS 2 hear and are heard, by another implementation of the middleware

use crate::machine::{BYTES, Buffer, Machine, free_port, until};
use bulkhead_linux::Kind;
use bulkhead_stages::message;
use hiroz::context::{ZContext, ZContextBuilder};
use hiroz::entity::EndpointKind;
use hiroz::{Builder, MessageTypeInfo};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tempfile::tempdir;

/// That of the nodes.
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

#[test]
fn a_node_hears_all_that_a_ring_has() {
    let folder = tempdir().expect("a folder");
    let here = Buffer::new(folder.path(), "here", Kind::Ring);
    let port = free_port();
    let lines = [
        format!("listen tcp/127.0.0.1:{port}"),
        "node car".to_owned(),
        here.line(),
        format!("export here {}", speed_topic()),
    ];
    let bridge = Machine::start(folder.path(), &lines);
    bridge.says(&["export here as ros2:", ": 0 sent"]);
    let context = context(port);
    let node = context.create_node("listener").build().expect("a node");
    let heard = node
        .create_sub::<Speed>("/car/speed")
        .build()
        .expect("a subscription");
    until("the bridge in the graph", || {
        let graph = context.graph();
        graph.count(EndpointKind::Publisher, "/car/speed") == 1
            && graph.get_node_names().iter().any(|(name, _)| name == "car")
    });
    let mut writer = here.writer();
    for count in 1..=2000 {
        until("room", || writer.put(&Speed::of(count).bytes()).is_ok());
        // A subscription keeps the last ten.
        if count % 10 == 0 {
            for past in count - 9..=count {
                let came = heard
                    .recv_timeout(Duration::from_secs(20))
                    .expect("it comes");
                assert_eq!(came, Speed::of(past));
            }
        }
    }
    bridge.says(&["export here as", ": 2000 sent, 0 repeated, 0 not taken"]);
}

#[test]
fn what_a_node_says_is_in_the_channel() {
    let folder = tempdir().expect("a folder");
    let there = Buffer::new(folder.path(), "there", Kind::Ring);
    let port = free_port();
    let lines = [
        format!("listen tcp/127.0.0.1:{port}"),
        there.line(),
        format!("import there {}", speed_topic()),
    ];
    let bridge = Machine::start(folder.path(), &lines);
    bridge.says(&["import ros2:", ": 0 taken"]);
    let context = context(port);
    let node = context.create_node("talker").build().expect("a node");
    let publisher = node
        .create_pub::<Speed>("/car/speed")
        .build()
        .expect("a publisher");
    until("the bridge in the graph", || {
        context
            .graph()
            .count(EndpointKind::Subscription, "/car/speed")
            == 1
    });
    let mut reader = there.reader();
    for count in 1..=1000 {
        publisher.publish(&Speed::of(count)).expect("it goes");
        let mut came = None;
        until("the message", || {
            came = reader
                .take()
                .expect("sound")
                .map(|(_, bytes)| bytes.to_vec());
            came.is_some()
        });
        assert_eq!(came, Some(Speed::of(count).bytes().to_vec()));
    }
    bridge.says(&[
        "import ros2:",
        ": 1000 taken, 0 missed, 0 refused, 0 dropped",
    ]);
}

#[test]
fn a_topic_goes_into_a_pipe_and_a_pipe_into_a_topic() {
    let folder = tempdir().expect("a folder");
    let buffer = |name| Buffer::of(folder.path(), name, Kind::Ring, message::BYTES);
    let (input, output) = (buffer("goal.1.in"), buffer("goal.3"));
    let port = free_port();
    let topic = |name: &str| format!("ros2:8:{DOMAIN}/{name}/std_msgs::msg::dds_::Int64_/{INT64}");
    let lines = [
        format!("listen tcp/127.0.0.1:{port}"),
        input.line(),
        output.line(),
        format!(
            "import goal.1.in {} stage 1000000 max-age 200000000",
            topic("goal")
        ),
        format!("export goal.3 {}", topic("angle")),
    ];
    let bridge = Machine::start(folder.path(), &lines);
    bridge.says(&["export goal.3 as", ": 0 sent"]);
    let context = context(port);
    let node = context.create_node("planner").build().expect("a node");
    let publisher = node
        .create_pub::<Int64>("/goal")
        .build()
        .expect("a publisher");
    let heard = node
        .create_sub::<Int64>("/angle")
        .build()
        .expect("a subscription");
    until("the bridge in the graph", || {
        let graph = context.graph();
        graph.count(EndpointKind::Subscription, "/goal") == 1
            && graph.count(EndpointKind::Publisher, "/angle") == 1
    });
    let (mut reader, mut writer) = (input.reader(), output.writer());
    for data in [-5_i64, 77, i64::MAX] {
        publisher.publish(&Int64 { data }).expect("it goes");
        let mut came = None;
        until("the message", || {
            came = reader
                .take()
                .expect("sound")
                .map(|(_, bytes)| bytes.to_vec());
            came.is_some()
        });
        // As the pipe's last stage would have it, behind its stages.
        let message = came.expect("it came");
        writer.put(&message).expect("room");
        let answer = heard
            .recv_timeout(Duration::from_secs(20))
            .expect("it comes");
        assert_eq!(answer, Int64 { data });
    }
}
