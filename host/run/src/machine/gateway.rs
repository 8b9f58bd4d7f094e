//! A way from a UDP port of the host onto a wire inside the emulator
//!
//! A host of its own on that wire, [`ADDRESS`]: it passes on what arrives at the port, and what the device answers
//! to who asked. Of all other frames it takes no notice. (The emulator's user network takes each frame on the wire
//! for its own and sends it out of the host, and takes whoever was answered last for who asks next: it
//! cannot share a wire.)
//!
//! Frames are datagrams between two sockets in the run folder. One that finds no room is lost, as on a wire.

use super::RunError;
use bulkhead_plan::manifest::Forward;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, IpProtocol, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr,
};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Under which it is known on the wire; the emulator's user network is.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const HARDWARE: EthernetAddress = EthernetAddress([0x52, 0x55, 10, 0, 2, 2]);
/// Where the device is reached.
const DEVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
/// Longest datagram that fits into a frame, and longest frame.
const LONGEST: usize = 1472;
const FRAME: usize = 1514;

/// A gateway; it works until this value goes.
#[derive(Debug)]
pub(super) struct Gateway {
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    /// Listens at the port of the host; the wire may come later.
    ///
    /// # Errors
    /// [`RunError::Port`], or there can be no socket in the folder.
    pub(super) fn open(folder: &Path, forward: &Forward) -> Result<Self, RunError> {
        let wire = Wire::open(folder, &forward.device).map_err(RunError::file(folder))?;
        let (end, other) = UnixStream::pair().map_err(RunError::file(folder))?;
        let host = listen(forward.host).map_err(|source| RunError::Port {
            device: forward.device.clone(),
            port: forward.host,
            source,
        })?;
        let mut passage = Passage {
            host,
            wire,
            port: forward.port,
            // Where it is on the wire is known once it has been heard.
            device: EthernetAddress::BROADCAST,
            asked: HashSet::new(),
        };
        let thread = std::thread::spawn(move || while passage.pass(&other) {});
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn listen(port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The wire's socket as seen from here.
struct Wire {
    socket: UnixDatagram,
    /// Through the open folder, because the whole path may be too long for a socket's address.
    _folder: File,
    emulator: PathBuf,
}

impl Wire {
    fn open(folder: &Path, device: &str) -> io::Result<Self> {
        let folder = File::open(folder)?;
        let path = |end| {
            PathBuf::from(format!(
                "/proc/self/fd/{}/{device}.{end}",
                folder.as_raw_fd()
            ))
        };
        let socket = UnixDatagram::bind(path("host"))?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            emulator: path("wire"),
            _folder: folder,
        })
    }

    fn send(&self, frame: &[u8]) {
        let _lost = self.socket.send_to(frame, &self.emulator);
    }
}

struct Passage {
    host: UdpSocket,
    wire: Wire,
    /// Of the device.
    port: u16,
    device: EthernetAddress,
    /// Ports of the host from which something was sent.
    asked: HashSet<u16>,
}

impl Passage {
    /// Waits for what comes from either side, and passes all of it on; whether that is to go on.
    fn pass(&mut self, end: &UnixStream) -> bool {
        let readable = |socket| PollFd::new(socket, PollFlags::POLLIN);
        let host = readable(self.host.as_fd());
        let mut sources = [
            host,
            readable(self.wire.socket.as_fd()),
            readable(end.as_fd()),
        ];
        let waited = poll(&mut sources, PollTimeout::NONE);
        let ended = sources[2].any() != Some(false);
        let mut bytes = [0; FRAME];
        while let Ok((length, SocketAddr::V4(from))) = self.host.recv_from(&mut bytes) {
            self.asked.insert(from.port());
            self.ask(&bytes[..length.min(LONGEST)], from.port());
        }
        while let Ok(length) = self.wire.socket.recv(&mut bytes) {
            // What is no whole frame of a kind that is known is somebody else's.
            let _other = self.hear(&bytes[..length]);
        }
        (waited.is_ok() || waited == Err(nix::errno::Errno::EINTR)) && !ended
    }

    /// Puts a message onto the wire.
    fn ask(&self, message: &[u8], from: u16) {
        let udp = UdpRepr {
            src_port: from,
            dst_port: self.port,
        };
        let ip = Ipv4Repr {
            src_addr: ADDRESS,
            dst_addr: DEVICE,
            next_header: IpProtocol::Udp,
            payload_len: udp.header_len() + message.len(),
            hop_limit: 64,
        };
        let whole = ip.buffer_len() + ip.payload_len;
        let frame = framed(self.device, EthernetProtocol::Ipv4, whole, |payload| {
            let sums = ChecksumCapabilities::default();
            let mut packet = Ipv4Packet::new_unchecked(payload);
            ip.emit(&mut packet, &sums);
            let mut packet = UdpPacket::new_unchecked(packet.payload_mut());
            let write = |payload: &mut [u8]| payload.copy_from_slice(message);
            let [from, to] = [ADDRESS, DEVICE].map(Into::into);
            udp.emit(&mut packet, &from, &to, message.len(), write, &sums);
        });
        self.wire.send(&frame);
    }

    /// Takes a frame from the wire.
    fn hear(&mut self, frame: &[u8]) -> smoltcp::wire::Result<()> {
        let frame = EthernetFrame::new_checked(frame)?;
        match frame.ethertype() {
            EthernetProtocol::Arp => self.say_where(frame.payload()),
            EthernetProtocol::Ipv4 if frame.dst_addr() == HARDWARE => {
                self.answer(frame.src_addr(), frame.payload())
            }
            _ => Ok(()),
        }
    }

    /// Says who asks for it where the gateway is.
    fn say_where(&self, packet: &[u8]) -> smoltcp::wire::Result<()> {
        let question = ArpRepr::parse(&ArpPacket::new_checked(packet)?)?;
        if let ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr: asking,
            source_protocol_addr,
            target_protocol_addr: ADDRESS,
            ..
        } = question
        {
            let answer = ArpRepr::EthernetIpv4 {
                operation: ArpOperation::Reply,
                source_hardware_addr: HARDWARE,
                source_protocol_addr: ADDRESS,
                target_hardware_addr: asking,
                target_protocol_addr: source_protocol_addr,
            };
            let length = answer.buffer_len();
            let frame = framed(asking, EthernetProtocol::Arp, length, |payload| {
                answer.emit(&mut ArpPacket::new_unchecked(payload));
            });
            self.wire.send(&frame);
        }
        Ok(())
    }

    /// Passes on what the device answers to who asked.
    fn answer(&mut self, from: EthernetAddress, packet: &[u8]) -> smoltcp::wire::Result<()> {
        let sums = ChecksumCapabilities::default();
        let packet = Ipv4Packet::new_checked(packet)?;
        let ip = Ipv4Repr::parse(&packet, &sums)?;
        if (ip.src_addr, ip.dst_addr, ip.next_header) != (DEVICE, ADDRESS, IpProtocol::Udp) {
            return Ok(());
        }
        let message = UdpPacket::new_checked(packet.payload())?;
        let [source, target] = [DEVICE, ADDRESS].map(Into::into);
        let ports = UdpRepr::parse(&message, &source, &target, &sums)?;
        if ports.src_port == self.port && self.asked.contains(&ports.dst_port) {
            self.device = from;
            let to = (Ipv4Addr::LOCALHOST, ports.dst_port);
            let _lost = self.host.send_to(message.payload(), to);
        }
        Ok(())
    }
}

/// A frame of the gateway's.
fn framed(
    to: EthernetAddress,
    ethertype: EthernetProtocol,
    length: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let header = EthernetRepr {
        src_addr: HARDWARE,
        dst_addr: to,
        ethertype,
    };
    let mut frame = EthernetFrame::new_unchecked(vec![0; header.buffer_len() + length]);
    header.emit(&mut frame);
    fill(frame.payload_mut());
    frame.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const PORT: u16 = 7;
    const CARD: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

    /// What is at the other end of the wire, and who asks from the host.
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
            host: port,
            port: PORT,
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
    fn who_asks_on_the_wire_learns_where_it_is() {
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
        for asked in [other, ADDRESS] {
            setting.emulator.send(&question(asked)).expect("sent");
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
            host: taken.local_addr().expect("bound").port(),
            port: PORT,
            options: Vec::new(),
        };
        let refused = Gateway::open(folder.path(), &forward);
        assert!(matches!(refused, Err(RunError::Port { port, .. }) if port == forward.host));
    }
}
