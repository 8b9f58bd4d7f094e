//! Datagrams between the host and a card on the wire

use super::*;

const PORT: u16 = 7;
const CARD: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// The device at the other end of the wire, and the host program that sends requests.
struct Setting {
    _gateway: Gateway,
    emulator: UnixDatagram,
    host: UdpSocket,
    _folder: tempfile::TempDir,
}

impl Setting {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let emulator = UnixDatagram::bind(folder.path().join("net0.wire")).expect("a socket");
        emulator.set_read_timeout(PATIENCE).expect("settable");
        let opened = (0..100).find_map(|_| open_at_free_port(folder.path()));
        let (gateway, port) = opened.expect("it listens");
        emulator
            .connect(folder.path().join("net0.host"))
            .expect("it is there");
        let host = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        host.set_read_timeout(PATIENCE).expect("settable");
        host.connect((Ipv4Addr::LOCALHOST, port))
            .expect("it has an address");
        Self {
            _gateway: gateway,
            emulator,
            host,
            _folder: folder,
        }
    }

    /// The next frame on the wire.
    fn frame(&self) -> EthernetFrame<Vec<u8>> {
        let mut bytes = [0; 2048];
        let length = self.emulator.recv(&mut bytes).expect("a frame");
        EthernetFrame::new_checked(bytes[..length].to_vec()).expect("a whole one")
    }

    /// The next answer at the host.
    fn answer(&self) -> Vec<u8> {
        let mut bytes = [0; 2048];
        let length = self.host.recv(&mut bytes).expect("an answer");
        bytes[..length].to_vec()
    }
}

/// On a port that was free a moment ago; nothing where another test has it now.
fn open_at_free_port(folder: &Path) -> Option<(Gateway, u16)> {
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let forward = Forward {
        device: "net0".into(),
        udp: Some([port, PORT]),
        tcp: None,
        options: Vec::new(),
    };
    match Gateway::open(folder, &forward) {
        Ok(gateway) => Some((gateway, port)),
        Err(RunError::Port { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => None,
        Err(other) => panic!("{other}"),
    }
}

fn content(frame: &EthernetFrame<Vec<u8>>) -> &[u8] {
    EthernetFrame::new_unchecked(frame.as_ref()).payload()
}

/// The frame with everything turned round, as an echo of that card sends it.
fn echo(frame: &EthernetFrame<Vec<u8>>) -> EthernetFrame<Vec<u8>> {
    let mut echo = frame.clone();
    echo.set_src_addr(CARD);
    echo.set_dst_addr(frame.src_addr());
    let mut ip = Ipv4Packet::new_unchecked(echo.payload_mut());
    let [from, to] = [ip.src_addr(), ip.dst_addr()];
    ip.set_src_addr(to);
    ip.set_dst_addr(from);
    let mut udp = UdpPacket::new_unchecked(ip.payload_mut());
    let [from, to] = [udp.src_port(), udp.dst_port()];
    udp.set_src_port(to);
    udp.set_dst_port(from);
    echo
}

#[test]
fn what_the_host_asks_is_answered() {
    let setting = Setting::new();
    for (message, to) in [("one", EthernetAddress::BROADCAST), ("the next one", CARD)] {
        setting.host.send(message.as_bytes()).expect("sent");
        let frame = setting.frame();
        assert_eq!(frame.dst_addr(), to, "known once it has answered");
        let ip = Ipv4Packet::new_checked(content(&frame)).expect("a packet");
        let sums = ChecksumCapabilities::default();
        let ip_repr = Ipv4Repr::parse(&ip, &sums).expect("with its sum");
        assert_eq!((ip_repr.src_addr, ip_repr.dst_addr), (ADDRESS, DEVICE));
        let udp = UdpPacket::new_checked(ip.payload()).expect("a datagram");
        assert!(udp.verify_checksum(&ADDRESS.into(), &DEVICE.into()));
        assert_eq!((udp.dst_port(), udp.payload()), (PORT, message.as_bytes()));
        setting.emulator.send(echo(&frame).as_ref()).expect("sent");
        assert_eq!(setting.answer(), message.as_bytes());
    }
}

#[test]
fn a_request_on_the_wire_learns_the_gateways_address() {
    let setting = Setting::new();
    let question = |target_protocol_addr| {
        let question = ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr: CARD,
            source_protocol_addr: DEVICE,
            target_hardware_addr: EthernetAddress::BROADCAST,
            target_protocol_addr,
        };
        framed(
            EthernetAddress::BROADCAST,
            EthernetProtocol::Arp,
            28,
            |payload| {
                question.emit(&mut ArpPacket::new_unchecked(payload));
            },
        )
    };
    let other = Ipv4Addr::new(10, 0, 2, 3);
    for address in [other, ADDRESS] {
        setting.emulator.send(&question(address)).expect("sent");
    }
    let frame = setting.frame();
    assert_eq!(frame.dst_addr(), CARD);
    let answer = ArpPacket::new_checked(content(&frame)).and_then(|it| ArpRepr::parse(&it));
    let expected = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: HARDWARE,
        source_protocol_addr: ADDRESS,
        target_hardware_addr: CARD,
        target_protocol_addr: DEVICE,
    };
    assert_eq!(answer, Ok(expected), "for itself alone");
}

#[test]
fn what_others_say_on_the_wire_does_not_leave_it() {
    let setting = Setting::new();
    setting.host.send(b"asked").expect("sent");
    let answer = echo(&setting.frame());
    let changed = |change: fn(&mut EthernetFrame<Vec<u8>>)| {
        let mut frame = answer.clone();
        change(&mut frame);
        frame.into_inner()
    };
    let strange = [
        // To another card, from another host, to a port that did not ask, cut, nothing at all.
        changed(|frame| frame.set_dst_addr(CARD)),
        changed(|frame| {
            let mut ip = Ipv4Packet::new_unchecked(frame.payload_mut());
            ip.set_src_addr(Ipv4Addr::new(10, 0, 2, 3));
            ip.fill_checksum();
        }),
        changed(|frame| {
            let mut ip = Ipv4Packet::new_unchecked(frame.payload_mut());
            let mut udp = UdpPacket::new_unchecked(ip.payload_mut());
            udp.set_dst_port(53);
            udp.fill_checksum(&DEVICE.into(), &ADDRESS.into());
        }),
        answer.as_ref()[..40].to_vec(),
        Vec::new(),
    ];
    for frame in strange {
        setting.emulator.send(&frame).expect("sent");
    }
    let mut last = answer.clone();
    let mut ip = Ipv4Packet::new_unchecked(last.payload_mut());
    let mut udp = UdpPacket::new_unchecked(ip.payload_mut());
    udp.payload_mut().copy_from_slice(b"heard");
    udp.fill_checksum(&DEVICE.into(), &ADDRESS.into());
    setting.emulator.send(last.as_ref()).expect("sent");
    assert_eq!(setting.answer(), b"heard", "the first that leaves the wire");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let forward = Forward {
        device: "net0".into(),
        udp: Some([taken.local_addr().expect("bound").port(), PORT]),
        tcp: None,
        options: Vec::new(),
    };
    let refused = Gateway::open(folder.path(), &forward);
    assert!(
        matches!(refused, Err(RunError::Port { port, .. }) if forward.udp == Some([port, PORT]))
    );
}
