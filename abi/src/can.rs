//! A CAN frame, as components pass it on

use crate::component::can;

/// Speed of all CAN buses.
pub const BITS_PER_S: u32 = 500_000;

/// A data frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Identifier, 11 or 29 bits; the smallest wins the bus.
    pub id: u32,
    /// The identifier has 29 bits.
    pub extended: bool,
    /// Bytes of data, at most 8.
    pub length: u8,
    /// The data; zeros behind it.
    pub data: [u8; 8],
}

impl Frame {
    /// A frame with an identifier of 11 bits; data beyond 8 bytes is cut.
    #[must_use]
    pub fn new(id: u16, data: &[u8]) -> Self {
        let mut frame = Self {
            id: u32::from(id) & 0x7ff,
            length: data.len().min(8) as u8,
            ..Self::default()
        };
        for (place, &byte) in frame.data.iter_mut().zip(data) {
            *place = byte;
        }
        frame
    }

    /// Its data.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.data.get(..self.length as usize).unwrap_or(&self.data)
    }

    /// Most bits that it takes on the bus, the pause behind it included: every fourth bit of the
    /// stuffed part may bring one more (Davis et al., *Controller Area Network schedulability
    /// analysis*, 2007, eq. 1 and 2).
    #[must_use]
    pub const fn most_bits(&self) -> u32 {
        let data = 8 * self.length as u32;
        let stuffed = if self.extended { 54 } else { 34 } + data;
        stuffed + 13 + (stuffed - 1) / 4
    }

    /// Bits that it takes on the wire at least, the space behind it included: the same without a stuffed one.
    #[must_use]
    pub const fn least_bits(&self) -> u32 {
        let stuffed = if self.extended { 54 } else { 34 };
        stuffed + 13 + 8 * self.length as u32
    }

    /// Bytes of the frame as a message: identifier and length, then the data.
    #[must_use]
    pub const fn words(&self) -> [u64; 2] {
        let extended = if self.extended { can::EXTENDED } else { 0 };
        let head = self.id as u64 | extended | (self.length as u64) << can::LENGTH_SHIFT;
        [head, u64::from_le_bytes(self.data)]
    }

    /// The frame that was passed on; nothing where it can be none.
    #[must_use]
    pub fn of([head, data]: [u64; 2]) -> Option<Self> {
        let extended = head & can::EXTENDED != 0;
        let id = head as u32 & 0x1fff_ffff;
        let length = (head >> can::LENGTH_SHIFT & 0xf) as u8;
        let bits = if extended { 29 } else { 11 };
        (length <= 8 && id >> bits == 0).then(|| Self {
            id,
            extended,
            length,
            data: data.to_le_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_frames_have_as_many_bits_as_the_analysis_says() {
        // Davis et al. 2007, section 3.1: 135 bits with 8 bytes and 11 bits of identifier, 160 with 29.
        let frame = Frame::new(0, &[0; 8]);
        assert_eq!(frame.most_bits(), 135);
        let long = Frame {
            extended: true,
            ..frame
        };
        assert_eq!(long.most_bits(), 160);
        assert_eq!(Frame::new(0, &[]).most_bits(), 55);
        assert_eq!((frame.least_bits(), long.least_bits()), (111, 131));
    }

    #[test]
    fn frames_survive_being_passed_on() {
        for frame in [
            Frame::new(0x7ff, &[1, 2, 3]),
            Frame {
                id: 0x1fff_ffff,
                extended: true,
                ..Frame::new(0, &[255; 8])
            },
        ] {
            assert_eq!(Frame::of(frame.words()), Some(frame));
        }
        assert_eq!(Frame::of([9 << can::LENGTH_SHIFT, 0]), None);
        assert_eq!(Frame::of([0x800, 0]), None);
    }
}
