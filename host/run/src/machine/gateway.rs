//! A way from ports of the host onto a wire inside the emulator
//!
//! A host of its own on that wire, [`ADDRESS`]: it passes on what arrives at a UDP port, and the device's answers
//! to the program that sent the request; and connections to a TCP port ([`Streams`]). It ignores all other frames. (The emulator's user network takes each frame on the wire
//! for its own and sends it out of the host, and takes the program that was answered last for the sender of the next
//! request: it cannot share a wire.)
//!
//! Frames are datagrams between two sockets in the run folder. One that finds no room is lost, as on a wire.

mod streams;

use crate::error::RunError;
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
use std::time::Duration;
use streams::{Patience, Streams};

/// Under which it is known on the wire; the emulator's user network is.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const HARDWARE: EthernetAddress = EthernetAddress([0x52, 0x55, 10, 0, 2, 2]);
/// Address of the device.
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
    /// Listens at the ports of the host; the wire may come later.
    ///
    /// # Errors
    /// [`RunError::Port`], or there can be no socket in the folder.
    pub(super) fn open(folder: &Path, forward: &Forward) -> Result<Self, RunError> {
        Self::open_with(folder, forward, Patience::USUAL)
    }

    fn open_with(folder: &Path, forward: &Forward, patience: Patience) -> Result<Self, RunError> {
        let wire = Wire::open(folder, &forward.device).map_err(RunError::file(folder))?;
        let (end, other) = UnixStream::pair().map_err(RunError::file(folder))?;
        let taken = |key: &'static str, port: u16| {
            let device = forward.device.clone();
            move |source| RunError::Port {
                device,
                key,
                port,
                source,
            }
        };
        let datagrams = forward.udp.map(|[host, port]| {
            let listening = Datagrams::listen(host, port);
            listening.map_err(taken("forward", host))
        });
        let streams = forward.tcp.map(|[host, port]| {
            let listening = Streams::listen(host, port, patience);
            listening.map_err(taken("forward_tcp", host))
        });
        let mut passage = Passage {
            wire,
            datagrams: datagrams.transpose()?,
            streams: streams.transpose()?,
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
    wire: Wire,
    datagrams: Option<Datagrams>,
    streams: Option<Streams>,
}

impl Passage {
    /// Waits for what comes from either side, and passes all of it on; whether that is to go on.
    fn pass(&mut self, end: &UnixStream) -> bool {
        let patience = self.streams.as_mut().and_then(Streams::patience);
        let (waited, ended) = self.wait(end, patience);
        let Self {
            wire,
            datagrams,
            streams,
        } = self;
        if let Some(datagrams) = datagrams {
            datagrams.ask_all(wire);
        }
        let mut bytes = [0; FRAME];
        while let Ok(length) = wire.socket.recv(&mut bytes) {
            let frame = &bytes[..length];
            // A frame of another kind, or an incomplete one, belongs to another program.
            let _other = say_where(wire, frame);
            if let Some(datagrams) = datagrams {
                let _other = datagrams.hear(frame);
            }
            if let Some(streams) = streams {
                streams.hear(frame);
            }
        }
        if let Some(streams) = streams {
            streams.work(wire);
        }
        (waited.is_ok() || waited == Err(nix::errno::Errno::EINTR)) && !ended
    }

    /// Until something comes, or for so long; and whether the gateway has ended.
    fn wait(&self, end: &UnixStream, patience: Option<Duration>) -> (nix::Result<i32>, bool) {
        let readable = |socket| PollFd::new(socket, PollFlags::POLLIN);
        let mut sources = vec![readable(end.as_fd()), readable(self.wire.socket.as_fd())];
        let datagrams = self.datagrams.iter();
        sources.extend(datagrams.map(|datagrams| readable(datagrams.host.as_fd())));
        let streams = self.streams.iter().flat_map(Streams::sources);
        sources.extend(streams.map(|(socket, flags)| PollFd::new(socket, flags)));
        // Rounded up: else it would be asked again and again within the last millisecond.
        let ms = patience.map(|patience| patience.as_micros().div_ceil(1000));
        let timeout = ms.map(|ms| PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX));
        let waited = poll(&mut sources, timeout.unwrap_or(PollTimeout::NONE));
        (waited, sources[0].any() != Some(false))
    }
}

/// Answers ARP requests for the gateway's address.
fn say_where(wire: &Wire, frame: &[u8]) -> smoltcp::wire::Result<()> {
    let frame = EthernetFrame::new_checked(frame)?;
    if frame.ethertype() != EthernetProtocol::Arp {
        return Ok(());
    }
    let question = ArpRepr::parse(&ArpPacket::new_checked(frame.payload())?)?;
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
        wire.send(&frame);
    }
    Ok(())
}

/// Messages from a UDP port of the host, and their answers.
struct Datagrams {
    host: UdpSocket,
    /// Of the device.
    port: u16,
    /// Address of the device on the wire, once it has sent a frame.
    device: EthernetAddress,
    /// Ports of the host from which something was sent.
    requesters: HashSet<u16>,
}

impl Datagrams {
    fn listen(host: u16, port: u16) -> io::Result<Self> {
        let host = UdpSocket::bind((Ipv4Addr::LOCALHOST, host))?;
        host.set_nonblocking(true)?;
        Ok(Self {
            host,
            port,
            device: EthernetAddress::BROADCAST,
            requesters: HashSet::new(),
        })
    }

    /// Puts all messages that wait onto the wire.
    fn ask_all(&mut self, wire: &Wire) {
        let mut bytes = [0; FRAME];
        while let Ok((length, SocketAddr::V4(from))) = self.host.recv_from(&mut bytes) {
            self.requesters.insert(from.port());
            self.ask(wire, &bytes[..length.min(LONGEST)], from.port());
        }
    }

    /// Puts a message onto the wire.
    fn ask(&self, wire: &Wire, message: &[u8], from: u16) {
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
        wire.send(&frame);
    }

    /// Takes a frame from the wire.
    fn hear(&mut self, frame: &[u8]) -> smoltcp::wire::Result<()> {
        let frame = EthernetFrame::new_checked(frame)?;
        match frame.ethertype() {
            EthernetProtocol::Ipv4 if frame.dst_addr() == HARDWARE => {
                self.answer(frame.src_addr(), frame.payload())
            }
            _ => Ok(()),
        }
    }

    /// Forwards answers of the device to the host program that sent the request.
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
        if ports.src_port == self.port && self.requesters.contains(&ports.dst_port) {
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
mod tests;
