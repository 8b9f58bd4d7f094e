//! Connections from the host to a card with a TCP of its own, and to one without

use super::super::{Forward, Gateway};
use super::*;
use smoltcp::wire::EthernetAddress;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use tempfile::TempDir;

const PORT: u16 = 7447;
const CARD: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
/// Longer than anything takes that happens at all.
const DEADLINE: Duration = Duration::from_secs(60);
/// So short that a test can wait for it.
const SHORT: Patience = Patience {
    silence: Duration::from_millis(300),
    death: Duration::from_millis(1500),
    half_open: Duration::from_millis(1500),
};

/// Behaviour of a card towards connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Says again what it hears, and ends when it is told to.
    Echoes,
    /// Takes connections and says nothing, not even that they end.
    Sulks,
    /// Listens at no port: each connection is refused.
    Refuses,
    /// Takes connections, and throws them away once something was said.
    Resets,
}

/// A card on the wire that has a TCP of its own; it goes on until this value goes.
struct Card {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Card {
    fn on(folder: &Path, manner: Manner) -> Self {
        let path = folder.join("net0.wire");
        // A former card's.
        let _none = fs::remove_file(&path);
        let wire = Wire {
            socket: UnixDatagram::bind(&path).expect("a socket"),
            _folder: fs::File::open(folder).expect("it is there"),
            emulator: folder.join("net0.host"),
        };
        wire.socket.set_nonblocking(true).expect("settable");
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let thread = thread::spawn(move || run(&wire, manner, &until));
        Self {
            ends,
            thread: Some(thread),
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn run(wire: &Wire, manner: Manner, ends: &AtomicBool) {
    let mut frames = VecDeque::new();
    let config = Config::new(HardwareAddress::Ethernet(CARD));
    let mut device = Frames {
        wire: Some(wire),
        waiting: &mut frames,
    };
    let mut interface = Interface::new(config, &mut device, Moment::ZERO);
    interface.update_ip_addrs(|all| all.push(IpCidr::new(DEVICE.into(), 24)).expect("room"));
    let mut sockets = SocketSet::new(Vec::new());
    let listening = |sockets: &mut SocketSet<'static>| {
        let [take, give] = [(); 2].map(|()| SocketBuffer::new(vec![0; 4096]));
        let mut socket = Socket::new(take, give);
        socket.listen(PORT).expect("it is closed");
        sockets.add(socket)
    };
    let count = if manner == Manner::Refuses {
        0
    } else {
        MOST + 1
    };
    let handles: Vec<_> = (0..count).map(|_| listening(&mut sockets)).collect();
    let began = Instant::now();
    let mut bytes = [0; 2048];
    while !ends.load(Relaxed) {
        while let Ok(length) = wire.socket.recv(&mut bytes) {
            device.waiting.push_back(bytes[..length].to_vec());
        }
        let now = Moment::from_micros(began.elapsed().as_micros() as i64);
        interface.poll(now, &mut device, &mut sockets);
        for &handle in &handles {
            behave(manner, sockets.get_mut(handle));
        }
        interface.poll(now, &mut device, &mut sockets);
        thread::sleep(Duration::from_micros(200));
    }
}

fn behave(manner: Manner, socket: &mut Socket<'_>) {
    match manner {
        Manner::Echoes => {
            while socket.can_recv() && socket.can_send() {
                let room = socket.send_capacity() - socket.send_queue();
                let mut data = vec![0; room];
                let length = socket.recv_slice(&mut data).expect("it can");
                socket.send_slice(&data[..length]).expect("it can");
            }
            if socket.state() == State::CloseWait && !socket.can_recv() {
                socket.close();
            }
        }
        Manner::Resets if socket.can_recv() => socket.abort(),
        _ => {}
    }
    if matches!(socket.state(), State::Closed | State::TimeWait) && manner != Manner::Refuses {
        let _again = socket.listen(PORT);
    }
}

/// A gateway with a card behind it.
struct Setting {
    card: Option<Card>,
    port: u16,
    _gateway: Gateway,
    folder: TempDir,
}

impl Setting {
    fn new(manner: Option<Manner>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = (0..100).find_map(|_| open_at_free_port(folder.path()));
        let (gateway, port) = opened.expect("it listens");
        Self {
            card: manner.map(|manner| Card::on(folder.path(), manner)),
            port,
            _gateway: gateway,
            folder,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("settable");
        stream
    }

    /// Bytes come back as they were sent.
    fn echoes(&self, text: &[u8]) {
        let mut stream = self.connect();
        stream.write_all(text).expect("taken");
        let mut heard = vec![0; text.len()];
        stream.read_exact(&mut heard).expect("said again");
        assert_eq!(heard, text);
    }
}

fn open_at_free_port(folder: &Path) -> Option<(Gateway, u16)> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let forward = Forward {
        device: "net0".into(),
        udp: None,
        tcp: Some([port, PORT]),
        options: Vec::new(),
    };
    let _former = fs::remove_file(folder.join("net0.host"));
    Gateway::open_with(folder, &forward, SHORT)
        .ok()
        .map(|gateway| (gateway, port))
}

/// Returns `true` if a connection has ended for its reader, in good order or not.
fn is_over(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn all_that_is_said_comes_back_in_order_and_ends() {
    let setting = Setting::new(Some(Manner::Echoes));
    let mut stream = setting.connect();
    let all: Vec<u8> = (0..1_000_000_u32)
        .map(|number| (number / 7) as u8)
        .collect();
    let data = all.clone();
    let mut writes = stream.try_clone().expect("a handle");
    let writer = thread::spawn(move || {
        writes.write_all(&data).expect("taken");
        writes.shutdown(Shutdown::Write).expect("it is open");
    });
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).expect("until its end");
    writer.join().expect("it said all");
    assert!(heard == all, "{} bytes of {}", heard.len(), all.len());
}

#[test]
fn a_port_without_listener_closes_at_once() {
    let setting = Setting::new(Some(Manner::Refuses));
    assert!(is_over(&mut setting.connect()));
}

#[test]
fn a_card_that_is_not_there_is_given_up_and_found_when_it_comes() {
    let mut setting = Setting::new(None);
    assert!(is_over(&mut setting.connect()));
    setting.card = Some(Card::on(setting.folder.path(), Manner::Echoes));
    setting.echoes(b"late");
}

#[test]
fn a_reset_reaches_the_host() {
    let setting = Setting::new(Some(Manner::Resets));
    let mut stream = setting.connect();
    stream.write_all(b"something").expect("taken");
    assert!(is_over(&mut stream));
}

/// The guest starts anew, and knows nothing of its connections.
#[test]
fn a_card_that_started_anew_ends_old_connections_and_takes_new_ones() {
    let mut setting = Setting::new(Some(Manner::Echoes));
    let mut stream = setting.connect();
    stream.write_all(b"one").expect("taken");
    stream.read_exact(&mut [0; 3]).expect("said again");
    drop(setting.card.take());
    setting.card = Some(Card::on(setting.folder.path(), Manner::Echoes));
    assert!(is_over(&mut stream), "though nobody said anything");
    setting.echoes(b"two");
}

#[test]
fn one_that_hangs_does_not_disturb_others_and_is_let_go() {
    let setting = Setting::new(Some(Manner::Sulks));
    let mut sulks = setting.connect();
    sulks.shutdown(Shutdown::Write).expect("it is open");
    // The card's half stays open, and the host is let go after a while.
    assert!(is_over(&mut sulks));
}

#[test]
fn a_host_that_takes_nothing_slows_its_own_card_only() {
    let setting = Setting::new(Some(Manner::Echoes));
    let mut slow = setting.connect();
    slow.set_nonblocking(true).expect("settable");
    let mut stuck = 0;
    // Until all buffers on both ways are full.
    let end = Instant::now() + DEADLINE;
    while stuck < 20 {
        assert!(Instant::now() < end, "it takes without end");
        match slow.write(&[7; 65536]) {
            Ok(_) => stuck = 0,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                stuck += 1;
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("{error}"),
        }
    }
    for _ in 0..5 {
        setting.echoes(b"beside it");
    }
}

#[test]
fn whoever_comes_when_there_are_too_many_is_turned_away() {
    let setting = Setting::new(Some(Manner::Echoes));
    let mut all: Vec<_> = (0..MOST).map(|_| setting.connect()).collect();
    for stream in &mut all {
        stream.write_all(b"here").expect("taken");
        stream.read_exact(&mut [0; 4]).expect("said again");
    }
    assert!(is_over(&mut setting.connect()));
    // One that goes makes room.
    drop(all.pop());
    let end = Instant::now() + DEADLINE;
    loop {
        let mut next = setting.connect();
        let _maybe_closed = next.write_all(b"next");
        let mut heard = [0; 4];
        if next.read_exact(&mut heard).is_ok() {
            assert_eq!(&heard, b"next");
            break;
        }
        assert!(Instant::now() < end, "there is never room");
    }
}

#[test]
fn frames_of_others_are_no_connections() {
    for frame in [vec![], vec![0xff; 10], vec![0xff; 60], vec![0; 1500]] {
        assert!(!is_for_streams(&frame).unwrap_or(false));
    }
}
