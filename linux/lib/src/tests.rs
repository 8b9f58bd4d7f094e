//! Both ends of channels over the same file

use crate::fake::Fake;
use crate::{Channel, Description, Error, Kind, LinkState, Receiver, Role, Sender, Trace};
use bulkhead_abi::name_text;
use bulkhead_abi::status::State;
use bulkhead_abi::trace::{Event, EventKind, Stamp};
use bulkhead_buffers::recorder::records::{Layout, Reader};
use zerocopy::{FromBytes, Immutable, IntoBytes};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable)]
struct Telemetry {
    stamp: [u64; 2],
    speed: f64,
}

const SHAPE: [usize; 3] = [size_of::<Telemetry>(), 8, 1];

/// The channel `pair` of that kind, seen from the end that is `role`.
fn open(fake: &Fake, kind: &str, role: &str) -> Channel {
    fake.channel("pair", kind, role, SHAPE)
        .partition()
        .channel("pair")
        .unwrap()
}

fn pair(fake: &Fake, kind: &str, trace: &Trace) -> (Sender<Telemetry>, Receiver<Telemetry>) {
    let sender = open(fake, kind, "writer").sender(trace).unwrap();
    let receiver = open(fake, kind, "reader").receiver(trace).unwrap();
    (sender, receiver)
}

fn telemetry(speed: f64) -> Telemetry {
    Telemetry {
        stamp: [0; 2],
        speed,
    }
}

#[test]
fn each_kind_carries_messages_with_their_stamps() {
    for kind in ["four-slot", "ring", "mailbox", "recorder"] {
        let fake = Fake::new("");
        let (mut sender, mut receiver) = pair(&fake, kind, &Trace::off());
        assert!(receiver.receive().unwrap().is_none(), "{kind} starts empty");
        for number in 1..=20_u32 {
            assert_eq!(
                sender.send(&telemetry(f64::from(number))).unwrap(),
                u64::from(number)
            );
            let received = receiver.receive().unwrap().expect(kind);
            assert_eq!(received.message.speed, f64::from(number), "{kind}");
            assert_eq!(received.stamp.sequence, u64::from(number), "{kind}");
            assert_eq!(received.missed, 0, "{kind}");
            assert!(received.stamp.ticks <= crate::ticks());
            assert!(
                receiver.receive().unwrap().is_none(),
                "{kind} gives nothing twice"
            );
        }
    }
}

#[test]
fn a_full_ring_says_so_and_loses_nothing() {
    let fake = Fake::new("");
    let (mut sender, mut receiver) = pair(&fake, "ring", &Trace::off());
    (0..8).for_each(|_| assert!(sender.send(&telemetry(0.0)).is_ok()));
    assert!(sender.send(&telemetry(9.0)).unwrap_err().is_full());
    let numbers = std::iter::from_fn(|| receiver.receive().unwrap().map(|got| got.stamp.sequence));
    assert!(numbers.eq(1..=8));
    assert_eq!(
        sender.send(&telemetry(9.0)).unwrap(),
        9,
        "the refused one took no number"
    );
}

#[test]
fn a_restarted_end_goes_on_where_it_stood() {
    let fake = Fake::new("");
    let (mut sender, mut receiver) = pair(&fake, "ring", &Trace::off());
    (0..5).for_each(|_| assert!(sender.send(&telemetry(0.0)).is_ok()));
    assert_eq!(receiver.receive().unwrap().unwrap().stamp.sequence, 1);
    drop((sender, receiver));
    let (mut sender, mut receiver) = pair(&fake, "ring", &Trace::off());
    assert_eq!(sender.send(&telemetry(0.0)).unwrap(), 6);
    assert_eq!(receiver.receive().unwrap().unwrap().stamp.sequence, 2);
}

#[test]
fn four_slot_tells_what_went_by() {
    let fake = Fake::new("");
    let (mut sender, mut receiver) = pair(&fake, "four-slot", &Trace::off());
    sender.send(&telemetry(1.0)).unwrap();
    receiver.receive().unwrap().unwrap();
    (0..4).for_each(|_| assert!(sender.send(&telemetry(2.0)).is_ok()));
    assert_eq!(receiver.receive().unwrap().unwrap().missed, 3);
}

#[test]
fn events_of_messages_reach_the_trace() {
    let fake = Fake::new("");
    let bytes = 8192;
    fake.trace(bytes);
    let trace = fake.partition().trace().unwrap();
    let (mut sender, mut receiver) = pair(&fake, "ring", &trace);
    sender.send(&telemetry(1.0)).unwrap();
    let sent = receiver.receive().unwrap().unwrap().stamp;
    trace.signal("speed", 2.5);
    let [first, second, third, none] = events(&fake, bytes);
    assert_eq!(
        (first.kind, first.ticks),
        (EventKind::Sent as u32, sent.ticks)
    );
    assert_eq!(
        (second.kind, second.a),
        (EventKind::Received as u32, sent.ticks)
    );
    assert_eq!(name_text(&second.name), "pair");
    assert_eq!(
        (third.kind, f64::from_bits(third.a)),
        (EventKind::Signal as u32, 2.5)
    );
    assert_eq!(none.ticks, 0);
}

/// The oldest events in the trace, as the host tool would read them.
fn events(fake: &Fake, bytes: usize) -> [Event; 4] {
    let path = fake.path("dev/bulkhead-trace/linux");
    let file = std::fs::File::open(&path).unwrap();
    let mapping = crate::map::Mapping::new(&path, &file, bytes, false).unwrap();
    let size = size_of::<Event>();
    let layout = Layout::for_records(size, (bytes - 64) / size).unwrap();
    let mut reader = Reader::attach(mapping.view().unwrap(), &layout).unwrap();
    let mut events = [Event::read_from_bytes(&[0; 48]).unwrap(); 4];
    reader.read(events.as_mut_bytes()).unwrap();
    events
}

#[test]
fn a_peer_goes_down_and_its_standby_takes_over() {
    let link = |state, epoch| LinkState { state, epoch };
    let fake = Fake::new("");
    fake.link("control", link(State::Up, 2));
    fake.link("reserve", LinkState::NEVER);
    let partition = fake.channel("pair", "ring", "writer", SHAPE).partition();
    let description = partition.channels().unwrap().remove(0);
    let peer = partition.peer(&description).unwrap().unwrap();
    assert_eq!(peer.state(), link(State::Up, 2));
    fake.link("control", link(State::Down, 2));
    assert_eq!(peer.state(), link(State::Down, 2));
    fake.link("reserve", link(State::Starting, 1));
    assert_eq!(peer.state(), link(State::Starting, 3));
    fake.link("reserve", link(State::Up, 1));
    assert_eq!(peer.state(), link(State::Up, 3));
}

#[test]
fn what_is_wrong_is_named() {
    let fake = Fake::new("");
    let ring = open(&fake, "ring", "writer");
    let trace = Trace::off();
    let wrong = ring.sender::<Stamp>(&trace).map(|_| ()).unwrap_err();
    assert!(
        matches!(
            wrong,
            Error::MessageSize {
                channel_bytes: 24,
                type_bytes: 16,
                ..
            }
        ),
        "{wrong}"
    );
    let wrong = ring.receiver::<Telemetry>(&trace).map(|_| ()).unwrap_err();
    assert!(
        matches!(wrong, Error::WrongEnd { role: "writer", .. }),
        "{wrong}"
    );
    let wrong = fake.partition().channel("nothing").map(|_| ()).unwrap_err();
    assert!(matches!(wrong, Error::NoChannel(_)), "{wrong}");
    let memory = open(&fake, "memory", "writer")
        .sender::<Telemetry>(&trace)
        .map(|_| ());
    assert!(matches!(memory.unwrap_err(), Error::NoMessages { .. }));
    let wrong = crate::Partition::at(&fake.path("dev"))
        .map(|_| ())
        .unwrap_err();
    assert!(wrong.to_string().contains("bulkhead.ko"), "{wrong}");
}

#[test]
fn a_shape_larger_than_its_memory_is_refused() {
    let fake = Fake::new("");
    fake.channel("pair", "ring", "writer", [24, 4096, 1]);
    let channel = fake.partition().channel("pair").unwrap();
    let wrong = channel
        .sender::<Telemetry>(&Trace::off())
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(wrong, Error::Attach { .. }), "{wrong}");
}

#[test]
fn the_partition_describes_itself() {
    let fake = Fake::new("load=busy  fault=linux-panic verbose");
    fake.channel("pair", "mailbox", "writer", SHAPE);
    let partition = fake.partition();
    assert_eq!(partition.name(), "linux");
    assert_eq!(partition.argument("fault"), Some("linux-panic"));
    assert_eq!(partition.argument("verbose"), Some(""));
    assert_eq!(
        partition.argument("profile"),
        Some("eudc"),
        "from the command line"
    );
    assert_eq!(partition.argument("faul"), None);
    let channels = partition.channels().unwrap();
    assert_eq!(channels.len(), 1);
    assert_eq!(
        (channels[0].kind, channels[0].peer.as_str()),
        (Kind::Mailbox, "control")
    );
    partition.announce().unwrap();
    let up = std::fs::read_to_string(fake.path("sys/devices/platform/bulkhead/up")).unwrap();
    assert_eq!(up, "1");
}

/// Both ends of a channel over an ordinary file.
fn over_file(fake: &Fake, kind: Kind) -> [Channel; 2] {
    fake.write("file", &"\0".repeat(4096));
    [Role::Writer, Role::Reader].map(|role| {
        let description = Description {
            name: "file".into(),
            peer: "other".into(),
            standby: None,
            kind,
            role,
            message_bytes: 12,
            messages: 4,
            read_only: false,
        };
        Channel::over_file(&fake.path("file"), description).unwrap()
    })
}

#[test]
fn bytes_go_with_their_numbers() {
    for (kind, room) in [(Kind::FourSlot, 9), (Kind::Ring, 4)] {
        let fake = Fake::new("");
        let [writing, reading] = over_file(&fake, kind);
        let mut writer = writing.bytes_writer().unwrap();
        let mut reader = reading.bytes_reader().unwrap();
        assert_eq!(reader.take().unwrap(), None);
        let put = (1..=9_u8).filter(|&number| writer.put(&[number; 12]).is_ok());
        assert_eq!(put.count(), room, "{kind:?}");
        let first = if kind == Kind::Ring { 1 } else { 9 };
        let taken = reader
            .take()
            .unwrap()
            .map(|(number, bytes)| (number, bytes.to_vec()));
        assert_eq!(taken, Some((u64::from(first), vec![first; 12])));
        assert_eq!(reader.last(), [first; 12]);
        assert!(
            writer
                .put(&[0; 11])
                .unwrap_err()
                .to_string()
                .contains("another length")
        );
        assert!(matches!(
            writing.bytes_reader(),
            Err(Error::WrongEnd { role: "writer", .. })
        ));
        assert!(writing.ring().is_err() && reading.wait(0).unwrap() == 0);
    }
    let [writing, _] = over_file(&Fake::new(""), Kind::Mailbox);
    assert!(matches!(writing.bytes_writer(), Err(Error::NoBytes { .. })));
}
