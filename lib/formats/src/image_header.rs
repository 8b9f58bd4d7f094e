//! Header of an arm64 `Image`
//!
//! Linux Documentation/arch/arm64/booting, section 4: 64 bytes, little-endian, at the start of the
//! file. Boot loaders and emulators go by it alone.

/// Bytes of the header.
pub const SIZE: usize = 64;
/// `ARM\x64`.
pub const MAGIC: [u8; 4] = *b"ARM\x64";
/// `flags`: little-endian, 4 KiB pages, anywhere at a multiple of 2 MiB.
pub const FLAGS: u64 = 0b1010;

const TEXT_OFFSET: usize = 8;
const IMAGE_SIZE: usize = 16;
const FLAGS_OFFSET: usize = 24;
const MAGIC_OFFSET: usize = 56;

/// The fields that say where an image goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageHeader {
    /// Bytes from a 2 MiB boundary to the image.
    pub text_offset: u64,
    /// Bytes it occupies once it runs, uninitialised data included; 0 in images before Linux 3.17.
    pub image_size: u64,
    /// Endianness, page size, placement.
    pub flags: u64,
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at + 8)?;
    field.try_into().ok().map(u64::from_le_bytes)
}

impl ImageHeader {
    /// Reads the header of `image`; `None` where it is no arm64 `Image`.
    #[must_use]
    pub fn parse(image: &[u8]) -> Option<Self> {
        if image.get(MAGIC_OFFSET..MAGIC_OFFSET + 4)? != MAGIC {
            return None;
        }
        Some(Self {
            text_offset: word(image, TEXT_OFFSET)?,
            image_size: word(image, IMAGE_SIZE)?,
            flags: word(image, FLAGS_OFFSET)?,
        })
    }

    /// Writes the header over the first bytes of `image` but for its two instructions;
    /// `None` where `image` is shorter than the header.
    pub fn write(self, image: &mut [u8]) -> Option<()> {
        let header = image.get_mut(..SIZE)?;
        header[TEXT_OFFSET..MAGIC_OFFSET].fill(0);
        header[TEXT_OFFSET..IMAGE_SIZE].copy_from_slice(&self.text_offset.to_le_bytes());
        header[IMAGE_SIZE..FLAGS_OFFSET].copy_from_slice(&self.image_size.to_le_bytes());
        header[FLAGS_OFFSET..FLAGS_OFFSET + 8].copy_from_slice(&self.flags.to_le_bytes());
        header[MAGIC_OFFSET..MAGIC_OFFSET + 4].copy_from_slice(&MAGIC);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut image = [0x55; 80];
        let header = ImageHeader {
            text_offset: 0,
            image_size: 0x20_0000,
            flags: FLAGS,
        };
        header.write(&mut image).expect("long enough");
        assert_eq!(ImageHeader::parse(&image), Some(header));
        assert_eq!(image[..8], [0x55; 8], "the instructions stay");
        assert_eq!(image[64..], [0x55; 16]);
    }

    #[test]
    fn shorter_or_other_files_are_refused() {
        let mut image = [0; 80];
        assert_eq!(ImageHeader::parse(&image), None);
        ImageHeader {
            text_offset: 0,
            image_size: 0,
            flags: 0,
        }
        .write(&mut image)
        .expect("long");
        for length in 0..60 {
            assert_eq!(ImageHeader::parse(&image[..length]), None);
        }
    }
}
