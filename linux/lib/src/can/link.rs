//! Sets a CAN interface up: `linux/can/netlink.h`, `linux/rtnetlink.h`

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::os::fd::AsRawFd;

/// How long a controller stays off the bus that has counted too many errors there, milliseconds:
/// long against the 128 times 11 bits that the standard requires, and visible to a check every 20
/// ms.
const OFF_BUS_MS: u32 = 100;

/// Sets what the interface is to be, and that it is up, by one message to the kernel.
pub(super) fn bring_up(index: u32, bits_per_s: u32) -> Result<(), Errno> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let message = link_message(index, bits_per_s);
    let kernel = NetlinkAddr::new(0, 0);
    sendto(socket.as_raw_fd(), &message, &kernel, MsgFlags::empty())?;
    let mut answer = [0; 256];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    // Head of 16 bytes, then 0 or the negative error.
    let status = answer.get(16..20).filter(|_| length >= 20);
    let status = status.and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    match status.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw(-error)),
        None => Err(Errno::EBADMSG),
    }
}

/// `RTM_NEWLINK` with the bit timing of a CAN interface, which goes back on its bus by itself.
fn link_message(index: u32, bits_per_s: u32) -> Vec<u8> {
    const NEW_LINK: u16 = 16;
    const REQUEST_WITH_ANSWER: u16 = 1 | 4;
    const UP: u32 = 1;
    const LINK_INFO: u16 = 18;
    const KIND: u16 = 1;
    const DATA: u16 = 2;
    const BIT_TIMING: u16 = 1;
    const RESTART_MS: u16 = 6;
    // `struct can_bittiming`: what is zero the kernel computes.
    let mut timing = vec![0; 32];
    timing[..4].copy_from_slice(&bits_per_s.to_ne_bytes());
    let settings = [
        attribute(BIT_TIMING, &timing),
        attribute(RESTART_MS, &OFF_BUS_MS.to_ne_bytes()),
    ];
    let data = attribute(DATA, &settings.concat());
    let info = [attribute(KIND, b"can\0"), data].concat();
    let info = attribute(LINK_INFO, &info);
    let length = 32 + info.len() as u32;
    let mut message = Vec::new();
    message.extend(length.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    message.extend([0; 8]);
    // `struct ifinfomsg`.
    message.extend([0; 4]);
    message.extend(index.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(info);
    message
}

/// A netlink attribute: length, type, content, filled up to four bytes.
fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = 4 + content.len() as u16;
    let mut bytes = Vec::new();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_nested_and_filled_up() {
        let message = link_message(7, 500_000);
        assert_eq!(
            message.len() as u32,
            u32::from_ne_bytes(message[..4].try_into().unwrap())
        );
        assert_eq!(message[20..24], 7_u32.to_ne_bytes());
        assert_eq!(attribute(1, b"abc\0x").len(), 12);
    }
}
