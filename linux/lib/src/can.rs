//! A CAN controller of the partition, by SocketCAN
//!
//! `linux/can.h`. The tools that usually set the speed of an interface are in no small initial file
//! system.
#![expect(unsafe_code, reason = "an address that the library does not know")]

mod link;
mod stamped;

pub use stamped::{CanReader, Stamped};

use crate::error::Error;
use bulkhead_abi::can::Frame;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use nix::unistd::{read, write};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Bytes of a frame as the kernel passes it on (`struct can_frame`).
const FRAME_BYTES: usize = 16;
/// `CAN_EFF_FLAG`, and what else is no data frame: `CAN_RTR_FLAG`, `CAN_ERR_FLAG`.
const EXTENDED: u32 = 1 << 31;
const REMOTE: u32 = 1 << 30;
const NO_DATA: u32 = REMOTE | 1 << 29;

/// An interface that is up.
#[derive(Debug)]
pub struct Can {
    name: String,
    socket: OwnedFd,
}

impl Can {
    /// Sets the speed of the interface `name`, brings it up and opens it.
    ///
    /// # Errors
    /// There is none of that name, it is up already, or the kernel refuses.
    pub fn open(name: &str, bits_per_s: u32) -> Result<Self, Error> {
        link::bring_up(index(name)?, bits_per_s).map_err(Error::errno(name))?;
        Self::listen(name)
    }

    /// Opens an interface that may be up already.
    ///
    /// # Errors
    /// No interface has that name, or the kernel refuses.
    pub fn open_shared(name: &str, bits_per_s: u32) -> Result<Self, Error> {
        match link::bring_up(index(name)?, bits_per_s) {
            // The speed of one that is up cannot be set.
            Ok(()) | Err(Errno::EBUSY) => Self::listen(name),
            Err(errno) => Err(Error::errno(name)(errno)),
        }
    }

    /// Opens an interface that is up; hears everything.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn listen(name: &str) -> Result<Self, Error> {
        let socket = listen(index(name)?).map_err(Error::errno(name))?;
        Ok(Self {
            name: name.into(),
            socket,
        })
    }

    /// From now on only frames of this identifier of 11 bits are heard; with none, no frame is.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hear(&self, identifier: Option<u16>) -> Result<(), Error> {
        filter(&self.socket, identifier).map_err(Error::errno(&self.name))
    }

    /// The name of its interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a frame; it waits in the kernel until the controller takes it.
    ///
    /// # Errors
    /// The kernel's queue is full, or the interface is down.
    pub fn send(&self, frame: &Frame) -> Result<(), Error> {
        let sent = write(&self.socket, &encode(frame));
        sent.map(|_| ()).map_err(Error::errno(&self.name))
    }

    /// The next data frame, if one comes within so many milliseconds.
    ///
    /// # Errors
    /// The interface went down.
    pub fn receive(&self, milliseconds: u16) -> Result<Option<Frame>, Error> {
        let mut ready = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let ready_count = poll(&mut ready, PollTimeout::from(milliseconds));
        if ready_count.map_err(Error::errno(&self.name))? == 0 {
            return Ok(None);
        }
        let mut bytes = [0; FRAME_BYTES];
        read(&self.socket, &mut bytes).map_err(Error::errno(&self.name))?;
        Ok(decode(&bytes))
    }
}

/// The interface of the controller at a place of the PCI bus, `0000:BB:SS.F`.
///
/// # Errors
/// Linux has no driver for what is there, or nothing is.
pub fn can_at(place: &str) -> Result<String, Error> {
    let entries = fs::read_dir(format!("/sys/bus/pci/devices/{place}/net"));
    let mut names = entries.into_iter().flatten().flatten();
    let name = names.find_map(|entry| entry.file_name().into_string().ok());
    name.ok_or_else(|| Error::NoController(place.to_owned()))
}

/// From now on, also if it is taken down and up again, the interrupts of the controller at a place
/// are served on that core.
///
/// # Errors
/// There is no controller that is up, or no such core.
pub fn can_serve_on(place: &str, core: usize) -> Result<(), Error> {
    let path = format!("/sys/bus/pci/devices/{place}/irq");
    let line = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let path = format!("/proc/irq/{}/smp_affinity_list", line.trim());
    fs::write(&path, core.to_string()).map_err(Error::file(&path))
}

/// Returns true if an interface is up and its controller on the bus.
#[must_use]
pub fn can_is_on_bus(name: &str) -> bool {
    // Of an interface that is down the kernel does not say it.
    fs::read_to_string(format!("/sys/class/net/{name}/carrier"))
        .is_ok_and(|carrier| carrier.trim() == "1")
}

fn encode(frame: &Frame) -> [u8; FRAME_BYTES] {
    let mut bytes = [0; FRAME_BYTES];
    let id = frame.id | if frame.extended { EXTENDED } else { 0 };
    bytes[..4].copy_from_slice(&id.to_ne_bytes());
    bytes[4] = frame.length;
    bytes[8..].copy_from_slice(&frame.data);
    bytes
}

fn decode(bytes: &[u8; FRAME_BYTES]) -> Option<Frame> {
    let [a, b, c, d, length, _, _, _, data @ ..] = *bytes;
    let id = u32::from_ne_bytes([a, b, c, d]);
    (id & NO_DATA == 0 && length <= 8).then_some(Frame {
        id: id & 0x1fff_ffff,
        extended: id & EXTENDED != 0,
        length,
        data,
    })
}

/// By which the kernel knows an interface.
fn index(name: &str) -> Result<u32, Error> {
    let path = format!("/sys/class/net/{name}/ifindex");
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    text.trim().parse().map_err(|_| Error::Unexpected {
        path: path.into(),
        text,
    })
}

/// `CAN_RAW_FILTER`.
fn filter(socket: &OwnedFd, identifier: Option<u16>) -> Result<(), Errno> {
    const LEVEL: i32 = 101;
    const FILTER: i32 = 1;
    // Identifier and mask; a mask with the flag of errors would ask for these.
    let filter = identifier.map(|identifier| [u32::from(identifier), EXTENDED | REMOTE | 0x7ff]);
    let bytes = filter.map_or(0, |filter| size_of_val(&filter)) as u32;
    let filter = filter.unwrap_or_default();
    let place = (&raw const filter).cast();
    // SAFETY: so many bytes can be read there.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), LEVEL, FILTER, place, bytes) };
    Errno::result(set).map(drop)
}

/// A socket that hears the interface of that index.
fn listen(index: u32) -> Result<OwnedFd, Errno> {
    /// `struct sockaddr_can`.
    #[repr(C)]
    struct Address {
        family: u16,
        index: i32,
        rest: [u32; 4],
    }
    let socket = socket(
        AddressFamily::Can,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::CanRaw,
    )?;
    let address = Address {
        family: AddressFamily::Can as u16,
        index: index as i32,
        rest: [0; 4],
    };
    let length = size_of::<Address>() as u32;
    let place = (&raw const address).cast();
    // SAFETY: a whole address of that length and family, which the kernel alone reads.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), place, length) };
    Errno::result(bound)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_laid_out_as_the_kernel_does() {
        let frame = Frame::new(0x123, &[1, 2, 3]);
        let bytes = encode(&frame);
        assert_eq!(bytes[..4], 0x123_u32.to_ne_bytes());
        assert_eq!((bytes[4], &bytes[8..11]), (3, &[1, 2, 3][..]));
        assert_eq!(decode(&bytes), Some(frame));
        let extended = Frame {
            id: 0x1234_5678,
            extended: true,
            ..frame
        };
        assert_eq!(decode(&encode(&extended)), Some(extended));
    }

    #[test]
    fn what_has_no_data_is_no_frame() {
        let mut bytes = encode(&Frame::new(1, &[]));
        bytes[4] = 9;
        assert_eq!(decode(&bytes), None);
        bytes[..5].copy_from_slice(&[1, 0, 0, 0x40, 0]);
        assert_eq!(decode(&bytes).is_none(), cfg!(target_endian = "little"));
    }
}
