//! One UDP port
//!
//! Frames are taken from the wire one at a time, so that each is answered before the next is read.

use crate::Wire;
use bulkhead_component::clock;
use bulkhead_virtio_net::FRAME;
use smoltcp::iface::{
    Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet, SocketStorage,
};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, IpEndpoint};

/// Messages that wait each way, and their bytes.
const MESSAGES: usize = 16;
const BYTES: usize = 4096;
/// Bits of the address that identify the network.
const NETWORK: u8 = 24;

/// Memory of a port, too large for a stack.
#[derive(Debug)]
pub struct Buffers {
    frames: [[u8; FRAME]; 2],
    messages: [[PacketMetadata; MESSAGES]; 2],
    bytes: [[u8; BYTES]; 2],
}

impl Buffers {
    /// Empty ones.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            frames: [[0; FRAME]; 2],
            messages: [[PacketMetadata::EMPTY; MESSAGES]; 2],
            bytes: [[0; BYTES]; 2],
        }
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new()
    }
}

/// A port of an address.
pub struct Udp<'a, W: Wire> {
    wire: Phy<'a, W>,
    interface: Interface,
    sockets: SocketSet<'a>,
    port: SocketHandle,
}

/// A wire as smoltcp sees it.
struct Phy<'a, W> {
    wire: W,
    incoming: &'a mut [u8; FRAME],
    outgoing: &'a mut [u8; FRAME],
}

struct Incoming<'w>(&'w mut [u8]);

struct Outgoing<'w, W> {
    wire: &'w mut W,
    frame: &'w mut [u8; FRAME],
}

impl RxToken for Incoming<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(self.0)
    }
}

impl<W: Wire> TxToken for Outgoing<'_, W> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let frame = &mut self.frame[..length.min(FRAME)];
        let filled = fill(frame);
        self.wire.send(frame);
        filled
    }
}

impl<W: Wire> Device for Phy<'_, W> {
    type RxToken<'w>
        = Incoming<'w>
    where
        Self: 'w;
    type TxToken<'w>
        = Outgoing<'w, W>
    where
        Self: 'w;

    fn receive(&mut self, _: Instant) -> Option<(Incoming<'_>, Outgoing<'_, W>)> {
        let length = self.wire.receive(self.incoming)?;
        let outgoing = Outgoing {
            wire: &mut self.wire,
            frame: self.outgoing,
        };
        Some((Incoming(&mut self.incoming[..length]), outgoing))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_, W>> {
        Some(Outgoing {
            wire: &mut self.wire,
            frame: self.outgoing,
        })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities
    }
}

fn now() -> Instant {
    let us = u128::from(clock::now()) * 1_000_000 / u128::from(clock::frequency());
    Instant::from_micros(us as i64)
}

/// Address of the other side of a message.
pub type Peer = IpEndpoint;

/// The port of an address.
#[must_use]
pub fn peer([a, b, c, d]: [u8; 4], port: u16) -> Peer {
    IpEndpoint::new(IpAddress::v4(a, b, c, d), port)
}

impl<'a, W: Wire> Udp<'a, W> {
    /// Opens a port of that address, in a network with 256 addresses.
    #[must_use]
    pub fn open(
        wire: W,
        buffers: &'a mut Buffers,
        [a, b, c, d]: [u8; 4],
        port: u16,
        storage: &'a mut [SocketStorage<'a>; 1],
    ) -> Self {
        let hardware = HardwareAddress::Ethernet(EthernetAddress(wire.address()));
        let [incoming, outgoing] = &mut buffers.frames;
        let mut wire = Phy {
            wire,
            incoming,
            outgoing,
        };
        let mut interface = Interface::new(Config::new(hardware), &mut wire, now());
        let address = IpCidr::new(IpAddress::v4(a, b, c, d), NETWORK);
        interface.update_ip_addrs(|addresses| {
            let _there_is_room = addresses.push(address);
        });
        let [kept_in, kept_out] = &mut buffers.messages;
        let [bytes_in, bytes_out] = &mut buffers.bytes;
        let incoming = PacketBuffer::new(&mut kept_in[..], &mut bytes_in[..]);
        let outgoing = PacketBuffer::new(&mut kept_out[..], &mut bytes_out[..]);
        let mut socket = Socket::new(incoming, outgoing);
        // Rejected only for port 0, at which nothing arrives then.
        let _bound = socket.bind(port);
        let mut sockets = SocketSet::new(&mut storage[..]);
        Self {
            wire,
            interface,
            port: sockets.add(socket),
            sockets,
        }
    }

    /// Takes the next frame from the wire, and sends messages that waited for it. Returns whether
    /// there was one.
    pub fn take(&mut self) -> bool {
        let Self {
            wire,
            interface,
            sockets,
            ..
        } = self;
        let taken = interface.poll_ingress_single(now(), wire, sockets);
        self.send_waiting();
        taken != PollIngressSingleResult::None
    }

    /// Sends waiting messages for receivers with known hardware addresses.
    fn send_waiting(&mut self) {
        let Self {
            wire,
            interface,
            sockets,
            port,
        } = self;
        let waiting = sockets.get::<Socket<'_>>(*port).send_queue() > 0;
        // Each iteration sends at most one message.
        for _ in 0..if waiting { MESSAGES } else { 0 } {
            if interface.poll_egress(now(), wire, sockets) == PollResult::None {
                return;
            }
        }
    }

    /// Takes the oldest message. Returns its length, cut to `into`, and its source.
    pub fn receive(&mut self, into: &mut [u8]) -> Option<(usize, Peer)> {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.port);
        let (message, from) = socket.recv().ok()?;
        let length = message.len().min(into.len());
        into.get_mut(..length)?
            .copy_from_slice(message.get(..length)?);
        Some((length, from.endpoint))
    }

    /// Sends a message once the receiver's hardware address is known. Returns whether there was
    /// room for it.
    pub fn send(&mut self, message: &[u8], to: Peer) -> bool {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.port);
        let taken = socket.send_slice(message, to).is_ok();
        self.send_waiting();
        taken
    }

    /// Returns the wire under the port.
    pub const fn wire(&self) -> &W {
        &self.wire.wire
    }
}
