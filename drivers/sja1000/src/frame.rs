//! A CAN frame and its bytes in the controller's buffers (data sheet, 6.4.13 and 6.4.14)

use crate::registers::{EXTENDED, LENGTH, REMOTE};
use bulkhead_abi::can::Frame;

/// Bytes of a frame with an identifier of 29 bits and 8 bytes of data.
pub(crate) const MOST_BYTES: usize = 13;

/// Not a data frame: asks for data, or claims to be longer than a frame can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// From the bytes of the receive buffer.
pub(crate) fn decode(bytes: &[u8; MOST_BYTES]) -> Result<Frame, Malformed> {
    let [head, a, b, c, d, ..] = *bytes;
    let length = head & LENGTH;
    if head & REMOTE != 0 || length > 8 {
        return Err(Malformed);
    }
    let extended = head & EXTENDED != 0;
    let (id, start) = if extended {
        (u32::from_be_bytes([a, b, c, d]) >> 3, 5)
    } else {
        (u32::from(u16::from_be_bytes([a, b]) >> 5), 3)
    };
    let mut frame = Frame {
        id,
        extended,
        length,
        data: [0; 8],
    };
    let data = bytes.iter().skip(start).take(length.into());
    for (place, &byte) in frame.data.iter_mut().zip(data) {
        *place = byte;
    }
    Ok(frame)
}

/// The bytes of the transmit buffer, and how many there are.
pub(crate) fn encode(frame: &Frame) -> ([u8; MOST_BYTES], usize) {
    let mut bytes = [0; MOST_BYTES];
    let length = frame.length.min(8);
    let [head, rest @ ..] = &mut bytes;
    let (id, identifier_bytes) = if frame.extended {
        *head = EXTENDED | length;
        (frame.id << 3, 4)
    } else {
        *head = length;
        (frame.id << 21, 2)
    };
    let identifier = id.to_be_bytes().into_iter().take(identifier_bytes);
    let all = identifier.chain(frame.data.into_iter().take(length.into()));
    rest.iter_mut()
        .zip(all)
        .for_each(|(place, byte)| *place = byte);
    (bytes, 1 + identifier_bytes + usize::from(length))
}
