//! Two words in a UDP datagram in an Ethernet frame (RFC 768, 791, 826), without state
//!
//! For code with a bound: the length of a frame limits the number of steps, no call waits for an
//! answer, and no state is kept. Frames for other hosts, fragments and other protocols are ignored.
//! The views of `smoltcp::wire` check lengths before any access.
#![cfg_attr(not(test), no_std)]

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, IpAddress, IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr,
};

/// Bytes of a datagram's words, little-endian.
pub const BYTES: usize = 16;
/// Bytes of the frames that are written: the shortest that Ethernet has, without their check
/// sequence.
pub const FRAME: usize = 60;
/// Destination of frames while the receiver's hardware address is unknown.
pub const EVERYBODY: [u8; 6] = [0xff; 6];

/// Hops that a datagram lives for.
const HOPS: u8 = 64;

/// A station on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// Ethernet's address.
    pub hardware: [u8; 6],
    /// IPv4's.
    pub address: [u8; 4],
}

/// Content and addresses of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Port of the sender.
    pub from: u16,
    /// Port of the receiver.
    pub to: u16,
    /// Payload.
    pub words: [u64; 2],
}

/// Meaning of a frame for a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A datagram for it, from another.
    Datagram(Station, Datagram),
    /// Another asks where it is.
    Asked(Station),
    /// Another says where that is.
    Told(Station),
    /// UDP for it that is damaged, or is not of [`BYTES`].
    Malformed,
    /// Nothing.
    Nothing,
}

/// Reads a frame, whatever is in it.
#[must_use]
pub fn hear(frame: &[u8], station: Station) -> Heard {
    let Ok(frame) = EthernetFrame::new_checked(frame) else {
        return Heard::Nothing;
    };
    let to = frame.dst_addr();
    let from = frame.src_addr();
    if to.0 != station.hardware && !to.is_broadcast() || !from.is_unicast() {
        return Heard::Nothing;
    }
    let heard = match frame.ethertype() {
        EthernetProtocol::Arp => resolution(frame.payload(), station),
        EthernetProtocol::Ipv4 => datagram(frame.payload(), from, station),
        _ => None,
    };
    heard.unwrap_or(Heard::Nothing)
}

fn resolution(packet: &[u8], station: Station) -> Option<Heard> {
    let packet = ArpPacket::new_checked(packet).ok()?;
    let ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr,
        source_protocol_addr,
        target_protocol_addr,
        ..
    } = ArpRepr::parse(&packet).ok()?
    else {
        return None;
    };
    let from = sender_of(source_hardware_addr, source_protocol_addr)?;
    match operation {
        ArpOperation::Request if target_protocol_addr.octets() == station.address => {
            Some(Heard::Asked(from))
        }
        ArpOperation::Reply => Some(Heard::Told(from)),
        _ => None,
    }
}

fn datagram(packet: &[u8], from: EthernetAddress, station: Station) -> Option<Heard> {
    let packet = Ipv4Packet::new_checked(packet).ok()?;
    let whole = !packet.more_frags() && packet.frag_offset() == 0;
    let ours = packet.version() == 4
        && packet.verify_checksum()
        && packet.dst_addr().octets() == station.address
        && packet.next_header() == IpProtocol::Udp;
    if !whole || !ours {
        return None;
    }
    let from = sender_of(from, packet.src_addr())?;
    Some(words(&packet).map_or(Heard::Malformed, |datagram| Heard::Datagram(from, datagram)))
}

fn words(packet: &Ipv4Packet<&[u8]>) -> Option<Datagram> {
    let udp = UdpPacket::new_checked(packet.payload()).ok()?;
    let [from, to] = [packet.src_addr(), packet.dst_addr()].map(IpAddress::Ipv4);
    if !udp.verify_checksum(&from, &to) {
        return None;
    }
    let (words, rest) = udp.payload().as_chunks::<8>();
    let &[first, second] = words else { return None };
    rest.is_empty().then(|| Datagram {
        from: udp.src_port(),
        to: udp.dst_port(),
        words: [first, second].map(u64::from_le_bytes),
    })
}

/// One that frames can be sent to.
fn sender_of(hardware: EthernetAddress, address: Ipv4Address) -> Option<Station> {
    let one = hardware.is_unicast()
        && !address.is_unspecified()
        && !address.is_multicast()
        && !address.is_broadcast();
    one.then(|| Station {
        hardware: hardware.0,
        address: address.octets(),
    })
}

/// The frame of a datagram.
#[must_use]
pub fn frame(sender: Station, to: Station, datagram: &Datagram) -> [u8; FRAME] {
    let [source, target] = [sender, to].map(|one| Ipv4Address::from(one.address));
    let udp = UdpRepr {
        src_port: datagram.from,
        dst_port: datagram.to,
    };
    let ip = Ipv4Repr {
        src_addr: source,
        dst_addr: target,
        next_header: IpProtocol::Udp,
        payload_len: udp.header_len() + BYTES,
        hop_limit: HOPS,
    };
    let checksums = ChecksumCapabilities::default();
    ethernet(sender, to.hardware, EthernetProtocol::Ipv4, |bytes| {
        let mut packet = Ipv4Packet::new_unchecked(bytes);
        ip.emit(&mut packet, &checksums);
        udp.emit(
            &mut UdpPacket::new_unchecked(packet.payload_mut()),
            &IpAddress::Ipv4(source),
            &IpAddress::Ipv4(target),
            BYTES,
            |bytes| {
                let places = bytes.iter_mut();
                let bytes = datagram.words.into_iter().flat_map(u64::to_le_bytes);
                places.zip(bytes).for_each(|(place, byte)| *place = byte);
            },
            &checksums,
        );
    })
}

/// Returns the frame that answers an ARP request for this host.
#[must_use]
pub fn answer(sender: Station, asks: Station) -> [u8; FRAME] {
    let [source, target] = [sender, asks].map(|one| EthernetAddress(one.hardware));
    let answer = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: source,
        source_protocol_addr: Ipv4Address::from(sender.address),
        target_hardware_addr: target,
        target_protocol_addr: Ipv4Address::from(asks.address),
    };
    ethernet(sender, asks.hardware, EthernetProtocol::Arp, |bytes| {
        answer.emit(&mut ArpPacket::new_unchecked(bytes));
    })
}

fn ethernet(
    sender: Station,
    to: [u8; 6],
    ethertype: EthernetProtocol,
    fill: impl FnOnce(&mut [u8]),
) -> [u8; FRAME] {
    let mut bytes = [0; FRAME];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    let repr = EthernetRepr {
        src_addr: EthernetAddress(sender.hardware),
        dst_addr: EthernetAddress(to),
        ethertype,
    };
    repr.emit(&mut frame);
    fill(frame.payload_mut());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: Station = Station {
        hardware: [2, 0, 0, 0, 0, 1],
        address: [10, 0, 2, 15],
    };
    const OTHER: Station = Station {
        hardware: [2, 0, 0, 0, 0, 2],
        address: [10, 0, 2, 16],
    };

    fn datagram_of(words: [u64; 2]) -> Datagram {
        Datagram {
            from: 4000,
            to: 5000,
            words,
        }
    }

    /// The question of RFC 826, written byte by byte.
    fn question(about: [u8; 4]) -> Vec<u8> {
        let mut frame = [EVERYBODY, OTHER.hardware].concat();
        frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(OTHER.hardware);
        frame.extend(OTHER.address);
        frame.extend([0; 6]);
        frame.extend(about);
        frame.resize(FRAME, 0);
        frame
    }

    #[test]
    fn a_datagram_is_as_the_standards_have_it() {
        let words = [0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09];
        let frame = frame(OTHER, OWN, &datagram_of(words));
        assert_eq!(frame[..14], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
        assert_eq!(frame[14..24], [0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 17]);
        assert_eq!(frame[26..34], [10, 0, 2, 16, 10, 0, 2, 15]);
        assert_eq!(frame[34..40], [0x0f, 0xa0, 0x13, 0x88, 0, 24]);
        assert!(frame[42..58].iter().copied().eq(1..=16));
        assert_eq!(frame[58..], [0; 2]);
        // Sums over all halves of header and pseudo-header are all ones.
        let sum = |bytes: &[u8]| {
            let halves = bytes
                .chunks(2)
                .map(|half| u32::from(half[0]) << 8 | u32::from(half[1]));
            let sum: u32 = halves.sum();
            (sum >> 16) + (sum & 0xffff)
        };
        assert_eq!(sum(&frame[14..34]), 0xffff);
        let pseudo = [&frame[26..34], &[0, 17, 0, 24], &frame[34..58]].concat();
        assert_eq!(sum(&pseudo), 0xffff);
        assert_eq!(
            hear(&frame, OWN),
            Heard::Datagram(OTHER, datagram_of(words))
        );
    }

    #[test]
    fn only_the_requester_is_answered() {
        assert_eq!(hear(&question(OWN.address), OWN), Heard::Asked(OTHER));
        assert_eq!(hear(&question([10, 0, 2, 99]), OWN), Heard::Nothing);
        let answer = answer(OWN, OTHER);
        assert_eq!(hear(&answer, OTHER), Heard::Told(OWN));
    }

    #[test]
    fn what_is_for_others_is_nothing() {
        let frame = frame(OTHER, OWN, &datagram_of([1, 2]));
        let elsewhere = Station {
            address: [10, 0, 2, 17],
            ..OWN
        };
        assert_eq!(hear(&frame, elsewhere), Heard::Nothing);
        assert_eq!(hear(&frame, OTHER), Heard::Nothing);
        let everybody = Station {
            hardware: EVERYBODY,
            ..OWN
        };
        let frame = super::frame(OTHER, everybody, &datagram_of([1, 2]));
        assert_eq!(
            hear(&frame, OWN),
            Heard::Datagram(OTHER, datagram_of([1, 2]))
        );
    }

    #[test]
    fn other_lengths_are_malformed() {
        for length in [0, 1, 8, 15] {
            let mut frame = frame(OTHER, OWN, &datagram_of([7; 2]));
            // Length and check sum of UDP; 0 = none.
            frame[38..42].copy_from_slice(&[0, 8 + length, 0, 0]);
            assert_eq!(hear(&frame, OWN), Heard::Malformed, "{length}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200), arp in any::<bool>()) {
            let mut frame = [&OWN.hardware[..], &OTHER.hardware, &[8, if arp { 6 } else { 0 }]].concat();
            frame.extend(bytes.iter());
            let _whatever = hear(&frame, OWN);
            let _whatever = hear(&bytes, OWN);
        }

        #[test]
        fn what_is_sent_is_heard(words in any::<[u64; 2]>(), from in any::<u16>(), to in 1u16..) {
            let datagram = Datagram { from, to, words };
            let frame = frame(OTHER, OWN, &datagram);
            let heard = hear(&frame, OWN);
            prop_assert!(heard == Heard::Datagram(OTHER, datagram));
        }

        /// No single fault on the way gives other words or ports.
        #[test]
        fn a_damaged_one_is_dropped(words in any::<[u64; 2]>(), bit in 14 * 8..58usize * 8) {
            let mut frame = frame(OTHER, OWN, &datagram_of(words));
            frame[bit / 8] ^= 1 << (bit % 8);
            match hear(&frame, OWN) {
                Heard::Datagram(_, heard) => prop_assert_eq!(heard, datagram_of(words)),
                heard => prop_assert!(matches!(heard, Heard::Malformed | Heard::Nothing)),
            }
        }

        #[test]
        fn a_cut_one_is_dropped(words in any::<[u64; 2]>(), length in 0..58usize) {
            let frame = frame(OTHER, OWN, &datagram_of(words));
            let heard = hear(&frame[..length], OWN);
            prop_assert!(matches!(heard, Heard::Malformed | Heard::Nothing));
        }
    }
}
