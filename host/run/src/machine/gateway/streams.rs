//! TCP connections from a port of the host to one of a device
//!
//! The gateway's own TCP (smoltcp) ends each connection to the host's port, and opens a new one on the wire. Bytes that
//! one side sent and the other has not taken wait in buffers of a fixed size, so that a slow end slows the other one down, as on
//! any connection. If one end closes, the other is notified: by the end of data, or after a reset or a lost device by a close.

use super::{ADDRESS, DEVICE, FRAME, HARDWARE, Wire};
use nix::poll::PollFlags;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant as Moment;
use smoltcp::wire::{
    ArpOperation, ArpPacket, EthernetFrame, EthernetProtocol, HardwareAddress, IpCidr, IpProtocol,
    Ipv4Packet,
};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Connections at once; further ones are refused.
const MOST: usize = 16;
/// Of each connection, each way.
const BUFFER: usize = 64 << 10;
/// Frames that wait to be looked at; more are lost, as on a wire.
const FRAMES: usize = 256;
/// How long silence is borne.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Without a sign of life from the device for so long it is asked for one, …
    pub(super) silence: Duration,
    /// … and then it is gone.
    pub(super) death: Duration,
    /// How long the device may leave its half open without a word when the host has closed the other.
    pub(super) half_open: Duration,
}

impl Patience {
    /// Outlasts a guest that is busy, and not one that started anew.
    pub(super) const USUAL: Self = Self {
        silence: Duration::from_secs(5),
        death: Duration::from_secs(20),
        half_open: Duration::from_secs(60),
    };
}

/// Ports of the gateway, on the wire (RFC 6335, 6).
const PORTS: std::ops::RangeInclusive<u16> = 49152..=65535;

/// Connections, and the sockets that accept more.
pub(super) struct Streams {
    listener: TcpListener,
    /// Of the device.
    port: u16,
    interface: Interface,
    sockets: SocketSet<'static>,
    open: Vec<Stream>,
    /// Frames of the device that have not been processed.
    frames: VecDeque<Vec<u8>>,
    /// The port of the gateway that was used last.
    last: u16,
    patience: Patience,
    began: Instant,
}

/// A connection: its end at the host, and that on the wire.
struct Stream {
    host: TcpStream,
    socket: SocketHandle,
    /// Since when nothing more comes from the host, or nothing came from the device behind that.
    ended: Option<Instant>,
    /// The host was told that nothing more comes from the device.
    is_notified: bool,
}

impl Streams {
    /// Listens at a port of the host, on its loopback address.
    ///
    /// # Errors
    /// The port is not available.
    pub(super) fn listen(host: u16, port: u16, patience: Patience) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, host))?;
        listener.set_nonblocking(true)?;
        let mut config = Config::new(HardwareAddress::Ethernet(HARDWARE));
        // Chance, so that a connection of a former run is not taken for one of this.
        config.random_seed = RandomState::new().hash_one(port);
        let mut nowhere = Frames {
            wire: None,
            waiting: &mut VecDeque::new(),
        };
        let mut interface = Interface::new(config, &mut nowhere, Moment::ZERO);
        interface.update_ip_addrs(|all| {
            // There is room for one.
            let _full = all.push(IpCidr::new(ADDRESS.into(), 24));
        });
        let chance = RandomState::new().hash_one(host) as u16;
        Ok(Self {
            listener,
            port,
            interface,
            sockets: SocketSet::new(Vec::new()),
            open: Vec::new(),
            frames: VecDeque::new(),
            last: PORTS.start() + chance % 1000,
            patience,
            began: Instant::now(),
        })
    }

    /// Notes a frame from the wire, if it is the device's and about connections.
    pub(super) fn hear(&mut self, frame: &[u8]) {
        if self.frames.len() < FRAMES && is_for_streams(frame).unwrap_or(false) {
            self.frames.push_back(frame.to_vec());
        }
    }

    /// File descriptors to wait for.
    pub(super) fn sources(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let open = self.open.iter().filter_map(|stream| {
            let socket = self.sockets.get::<Socket<'_>>(stream.socket);
            let reads = socket.can_send() && stream.ended.is_none();
            let flags = [
                (reads, PollFlags::POLLIN),
                (socket.can_recv(), PollFlags::POLLOUT),
            ];
            let flags = flags.into_iter().filter(|(is, _)| *is);
            let flags = flags.fold(PollFlags::empty(), |all, (_, one)| all | one);
            // A connection that nothing can be done about would be reported as closed again and again.
            (!flags.is_empty()).then(|| (stream.host.as_fd(), flags))
        });
        [(self.listener.as_fd(), PollFlags::POLLIN)]
            .into_iter()
            .chain(open)
    }

    /// How long nothing is to be done if nothing comes; without an end where no connection is open.
    pub(super) fn patience(&mut self) -> Option<Duration> {
        if self.open.is_empty() {
            return None;
        }
        let now = self.now();
        let delay = self.interface.poll_delay(now, &self.sockets);
        let most = self.patience.half_open;
        let delay = delay.map_or(most, Duration::from);
        let halves = self.open.iter().filter_map(|stream| stream.ended);
        let halves = halves.map(|since| most.saturating_sub(since.elapsed()));
        halves.chain([delay]).min()
    }

    /// Carries on what can be.
    pub(super) fn work(&mut self, wire: &Wire) {
        self.accept();
        self.poll(wire);
        for stream in &mut self.open {
            stream.carry(self.sockets.get_mut(stream.socket), self.patience.half_open);
        }
        self.poll(wire);
        let sockets = &mut self.sockets;
        self.open.retain(|stream| {
            let socket: &Socket<'_> = sockets.get(stream.socket);
            let is_over = matches!(socket.state(), State::Closed | State::TimeWait);
            // What the device said before it ended is the host's.
            let keeps = !is_over || socket.can_recv();
            if !keeps {
                sockets.remove(stream.socket);
            }
            keeps
        });
    }

    fn now(&self) -> Moment {
        Moment::from_micros(i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX))
    }

    fn poll(&mut self, wire: &Wire) {
        let now = self.now();
        let mut frames = Frames {
            wire: Some(wire),
            waiting: &mut self.frames,
        };
        self.interface.poll(now, &mut frames, &mut self.sockets);
    }

    fn accept(&mut self) {
        while let Ok((host, _)) = self.listener.accept() {
            if self.open.len() < MOST && host.set_nonblocking(true).is_ok() {
                // What is not kept is closed.
                let _turned_away = self.connect(host);
            }
        }
    }

    /// The next port that no connection has. There are more of them than connections.
    fn free_port(&self) -> u16 {
        let is_taken = |port: u16| {
            let open = self.open.iter();
            let mut ends =
                open.map(|one| self.sockets.get::<Socket<'_>>(one.socket).local_endpoint());
            ends.any(|end| end.is_some_and(|end| end.port == port))
        };
        let from = (self.last..=*PORTS.end()).skip(1).chain(PORTS);
        from.into_iter()
            .find(|&port| !is_taken(port))
            .unwrap_or(self.last)
    }

    fn connect(&mut self, host: TcpStream) -> Option<()> {
        host.set_nodelay(true).ok()?;
        let [take, give] = [(); 2].map(|()| SocketBuffer::new(vec![0; BUFFER]));
        let mut socket = Socket::new(take, give);
        socket.set_nagle_enabled(false);
        socket.set_keep_alive(Some(self.patience.silence.into()));
        socket.set_timeout(Some(self.patience.death.into()));
        self.last = self.free_port();
        let context = self.interface.context();
        socket
            .connect(context, (DEVICE, self.port), self.last)
            .ok()?;
        self.open.push(Stream {
            host,
            socket: self.sockets.add(socket),
            ended: None,
            is_notified: false,
        });
        Some(())
    }
}

impl Stream {
    /// Both ways, as far as there is something, and room for it.
    fn carry(&mut self, socket: &mut Socket<'_>, half_open: Duration) {
        let broken = self.give(socket).is_err() || self.take(socket).is_err();
        let is_stuck = self.ended.is_some_and(|since| since.elapsed() >= half_open);
        if broken || is_stuck {
            // The host's end is closed: the device is notified, and the host when this value is dropped.
            socket.abort();
        }
    }

    /// From the host to the device.
    fn give(&mut self, socket: &mut Socket<'_>) -> io::Result<()> {
        while self.ended.is_none() && socket.can_send() {
            let host = &mut self.host;
            let read = socket.send(|room| match host.read(room) {
                Ok(bytes) => (bytes, Ok(bytes)),
                Err(error) => (0, Err(error)),
            });
            match read.unwrap_or(Ok(0)) {
                Ok(0) => {
                    socket.close();
                    self.ended = Some(Instant::now());
                }
                Ok(_) => {}
                Err(error) => return waits(error),
            }
        }
        Ok(())
    }

    /// From the device to the host.
    fn take(&mut self, socket: &mut Socket<'_>) -> io::Result<()> {
        while socket.can_recv() {
            let host = &mut self.host;
            let written = socket.recv(|bytes| match host.write(bytes) {
                Ok(bytes) => (bytes, Ok(())),
                Err(error) => (0, Err(error)),
            });
            if let Err(error) = written.unwrap_or(Ok(())) {
                return waits(error);
            }
            self.ended = self.ended.map(|_| Instant::now());
        }
        let ends = matches!(
            socket.state(),
            State::CloseWait | State::LastAck | State::Closing | State::TimeWait
        );
        if ends && !self.is_notified {
            self.is_notified = true;
            return self.host.shutdown(Shutdown::Write);
        }
        Ok(())
    }
}

/// An error that is one: that there is nothing to read, or no room, is none.
fn waits(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// Returns `true` if a frame tells the device's address or belongs to a connection to it. Other frames belong to other programs.
fn is_for_streams(frame: &[u8]) -> smoltcp::wire::Result<bool> {
    let frame = EthernetFrame::new_checked(frame)?;
    if frame.dst_addr() != HARDWARE {
        return Ok(false);
    }
    Ok(match frame.ethertype() {
        EthernetProtocol::Arp => {
            let packet = ArpPacket::new_checked(frame.payload())?;
            let from = packet.source_protocol_addr() == DEVICE.octets().as_slice();
            from && packet.operation() == ArpOperation::Reply
        }
        EthernetProtocol::Ipv4 => {
            let packet = Ipv4Packet::new_checked(frame.payload())?;
            let between = (packet.src_addr(), packet.dst_addr()) == (DEVICE, ADDRESS);
            between && packet.next_header() == IpProtocol::Tcp
        }
        _ => false,
    })
}

/// The wire, to the gateway's TCP.
struct Frames<'f> {
    /// None before it is needed.
    wire: Option<&'f Wire>,
    waiting: &'f mut VecDeque<Vec<u8>>,
}

struct Heard(Vec<u8>);

struct FrameSummary<'f>(Option<&'f Wire>);

impl phy::Device for Frames<'_> {
    type RxToken<'a>
        = Heard
    where
        Self: 'a;
    type TxToken<'a>
        = FrameSummary<'a>
    where
        Self: 'a;

    fn receive(&mut self, _: Moment) -> Option<(Heard, FrameSummary<'_>)> {
        let frame = self.waiting.pop_front()?;
        Some((Heard(frame), FrameSummary(self.wire)))
    }

    fn transmit(&mut self, _: Moment) -> Option<FrameSummary<'_>> {
        Some(FrameSummary(self.wire))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities
    }
}

impl phy::RxToken for Heard {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

impl phy::TxToken for FrameSummary<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut frame = vec![0; length];
        let filled = fill(&mut frame);
        if let Some(wire) = self.0 {
            wire.send(&frame);
        }
        filled
    }
}

#[cfg(test)]
mod tests;
