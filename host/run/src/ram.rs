//! The machine's memory, as seen from the host
//!
//! A file without a name in memory (or on disk where memory is short) that the emulator maps as its
//! RAM and the tool maps read-only. The kernel frees it with the last process that has it open, so
//! not even a killed tool leaves anything behind.
//!
//! The machine writes at any time. All reads are relaxed 64-bit atomic loads; a reader of several
//! words that belong together uses the protocol of the structure.
#![expect(unsafe_code, reason = "a mapped file becomes a slice of atomics")]

use bulkhead_buffers::{AtomicU64, Region, View};
use bulkhead_plan::manifest;
use memmap2::{MmapOptions, MmapRaw};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use zerocopy::FromBytes;

use crate::error::RunError;

const WORD_BYTES: u64 = 8;
/// Folder in which memory files are fastest.
const SHARED_MEMORY: &str = "/dev/shm";

/// The machine's memory.
#[derive(Debug)]
pub struct Ram {
    file: File,
    map: MmapRaw,
    /// Physical addresses of the file: its bytes follow each other in these ranges.
    ranges: Vec<manifest::Region>,
}

impl Ram {
    /// Memory of `size` bytes in these ranges of physical addresses, all zero, of which at most `expected_bytes`
    /// will be touched; in shared memory if there is room for them, else in `folder`.
    ///
    /// # Errors
    /// Neither place has room, or the file cannot be made.
    pub fn create(
        folder: &Path,
        ranges: &[manifest::Region],
        size: u64,
        expected_bytes: u64,
    ) -> Result<Self, RunError> {
        let place = roomy_place(folder, expected_bytes)?;
        let file =
            nameless_file(&place, size).map_err(|source| RunError::Memory { place, source })?;
        Self::map(file, ranges)
    }

    /// The memory of a machine that process `pid` runs and holds open as `fd`.
    ///
    /// # Errors
    /// The process has ended, or belongs to another user.
    pub fn of_process(pid: u32, fd: i32, ranges: &[manifest::Region]) -> Result<Self, RunError> {
        let place = PathBuf::from(format!("/proc/{pid}/fd/{fd}"));
        let file = OpenOptions::new().read(true).write(true).open(&place);
        Self::map(
            file.map_err(|source| RunError::Memory { place, source })?,
            ranges,
        )
    }

    fn map(file: File, ranges: &[manifest::Region]) -> Result<Self, RunError> {
        let map = MmapOptions::new()
            .map_raw_read_only(&file)
            .map_err(|source| RunError::Memory {
                place: PathBuf::from("the address space"),
                source,
            })?;
        let ranges = ranges.to_vec();
        Ok(Self { file, map, ranges })
    }

    /// File descriptor of the memory file.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// The words of a region, for reading.
    ///
    /// # Errors
    /// [`RunError::Outside`] unless the region lies in the memory and is aligned to words.
    pub fn words(&self, region: manifest::Region) -> Result<&[AtomicU64], RunError> {
        let range = self.range(region)?;
        let all = self.map.as_ptr().cast::<AtomicU64>();
        // SAFETY: a mapping is page-aligned and lives as long as `self`; the machine changes it by
        // stores that to this process are those of atomics; nothing here stores through it.
        let words =
            unsafe { std::slice::from_raw_parts(all, self.map.len() / WORD_BYTES as usize) };
        Ok(&words[range])
    }

    /// A region as a buffer to read from.
    ///
    /// # Errors
    /// [`RunError::Outside`], also where the region is not aligned to 64 bytes.
    pub fn view(&self, region: manifest::Region) -> Result<View<'_>, RunError> {
        let words = self.words(region)?;
        // SAFETY: mapped readable for the life of `self` and only ever read, as atomics.
        let view = unsafe { View::from_raw(words.as_ptr().cast(), size_of_val(words)) };
        view.map_err(|_| outside(region))
    }

    /// The value at physical address `pa`; word by word, not as a whole.
    ///
    /// # Errors
    /// [`RunError::Outside`].
    pub fn read<T: FromBytes>(&self, pa: u64) -> Result<T, RunError> {
        let size = (size_of::<T>() as u64).next_multiple_of(WORD_BYTES);
        let region = manifest::Region { pa, size };
        let bytes: Vec<u8> = self
            .words(region)?
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .collect();
        T::read_from_prefix(&bytes)
            .map(|(value, _)| value)
            .map_err(|_| outside(region))
    }

    /// Maps a region of whole pages for writing: a console's input ring.
    ///
    /// # Errors
    /// [`RunError::Outside`], or the mapping is refused.
    pub fn writable(&self, region: manifest::Region) -> Result<Writable, RunError> {
        self.range(region)?;
        MmapOptions::new()
            .offset(self.offset(region)?)
            .len(region.size as usize)
            .map_raw(&self.file)
            .map(Writable)
            .map_err(|source| RunError::Memory {
                place: PathBuf::from("the address space"),
                source,
            })
    }

    /// Word indices of a region.
    fn range(&self, region: manifest::Region) -> Result<std::ops::Range<usize>, RunError> {
        let start = self.offset(region)?;
        let end = start.checked_add(region.size);
        let end = end.filter(|&end| end <= self.map.len() as u64);
        let aligned = (region.pa | region.size).is_multiple_of(WORD_BYTES);
        match end.filter(|_| aligned) {
            Some(end) => Ok((start / WORD_BYTES) as usize..(end / WORD_BYTES) as usize),
            None => Err(outside(region)),
        }
    }

    /// Offset of a region in the file.
    fn offset(&self, region: manifest::Region) -> Result<u64, RunError> {
        let mut before = 0;
        for range in &self.ranges {
            let within = region.pa.wrapping_sub(range.pa);
            if within < range.size && region.size <= range.size - within {
                return Ok(before + within);
            }
            before += range.size;
        }
        Err(outside(region))
    }
}

fn outside(region: manifest::Region) -> RunError {
    RunError::Outside {
        pa: region.pa,
        size: region.size,
    }
}

/// A region mapped for writing.
#[derive(Debug)]
pub struct Writable(MmapRaw);

impl Writable {
    /// The region as a buffer to write to.
    ///
    /// # Errors
    /// [`RunError::Outside`] where it is not aligned, which a page always is.
    pub fn region(&self) -> Result<Region<'_>, RunError> {
        // SAFETY: mapped readable and writable for the life of `self`; the machine and this process
        // access it by atomics only.
        let region = unsafe { Region::from_raw(self.0.as_mut_ptr(), self.0.len()) };
        region.map_err(|_| RunError::Outside {
            pa: 0,
            size: self.0.len() as u64,
        })
    }
}

/// A sparse file of `size` bytes that vanishes with its last holder.
fn nameless_file(place: &Path, size: u64) -> io::Result<File> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = place.join(format!("bulkhead-ram-{}-{number}", std::process::id()));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    file.set_len(size)?;
    Ok(file)
}

/// Shared memory or `folder`, the first of both with room for `bytes`.
fn roomy_place(folder: &Path, bytes: u64) -> Result<PathBuf, RunError> {
    let places = [Path::new(SHARED_MEMORY), folder];
    let roomy = places
        .iter()
        .find(|place| free_bytes(place).is_ok_and(|free| free >= bytes));
    roomy
        .map(|place| place.to_path_buf())
        .ok_or_else(|| RunError::NoSpace {
            needed: bytes,
            places: places
                .map(|place| place.display().to_string())
                .join(" and "),
        })
}

fn free_bytes(place: &Path) -> io::Result<u64> {
    let figures = nix::sys::statvfs::statvfs(place)?;
    Ok(figures.blocks_available() * figures.fragment_size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const BASE: u64 = 0x4000_0000;

    const RANGES: [manifest::Region; 2] = [
        manifest::Region {
            pa: BASE,
            size: 0x2000,
        },
        manifest::Region {
            pa: 1 << 40,
            size: 1 << 30,
        },
    ];
    const WHOLE: [manifest::Region; 1] = [manifest::Region {
        pa: BASE,
        size: 1 << 40,
    }];

    fn ram() -> Ram {
        Ram::create(&std::env::temp_dir(), &WHOLE, 0x4000, 0).unwrap()
    }

    #[test]
    fn ranges_of_physical_memory_follow_each_other_in_the_file() {
        let ram = Ram::create(&std::env::temp_dir(), &RANGES, 0x4000, 0).unwrap();
        ram.file.write_all_at(&7u64.to_le_bytes(), 0x2010).unwrap();
        assert_eq!(ram.read::<u64>((1 << 40) + 0x10).unwrap(), 7);
        let crossing = manifest::Region {
            pa: BASE + 0x1FF8,
            size: 16,
        };
        assert!(ram.words(crossing).is_err());
    }

    #[test]
    fn reads_what_another_holder_of_the_file_wrote() {
        let ram = ram();
        ram.file
            .write_all_at(&0x1122_3344_5566_7788u64.to_le_bytes(), 0x1008)
            .unwrap();
        assert_eq!(
            ram.read::<u64>(BASE + 0x1008).unwrap(),
            0x1122_3344_5566_7788
        );
        let same = Ram::of_process(std::process::id(), ram.fd(), &WHOLE).unwrap();
        assert_eq!(
            same.read::<u64>(BASE + 0x1008).unwrap(),
            0x1122_3344_5566_7788
        );
    }

    #[test]
    fn refuses_what_lies_outside() {
        let ram = ram();
        for (pa, size) in [
            (BASE - 8, 8),
            (BASE, 0x4008),
            (BASE + 0x4000, 8),
            (u64::MAX - 7, 16),
            (BASE + 4, 8),
        ] {
            assert!(
                ram.words(manifest::Region { pa, size }).is_err(),
                "{pa:#x} {size:#x}"
            );
        }
        assert_eq!(
            ram.words(manifest::Region {
                pa: BASE,
                size: 0x4000
            })
            .unwrap()
            .len(),
            0x800
        );
    }

    #[test]
    fn a_writable_region_is_seen_by_readers() {
        let ram = ram();
        let region = manifest::Region {
            pa: BASE + 0x1000,
            size: 0x1000,
        };
        let window = ram.writable(region).unwrap();
        let layout = bulkhead_buffers::recorder::stream::Layout::for_bytes(512).unwrap();
        let mut writer =
            bulkhead_buffers::recorder::stream::Writer::attach(window.region().unwrap(), &layout)
                .unwrap();
        writer.write(b"hello");
        let view = ram.view(region).unwrap();
        let mut reader = bulkhead_buffers::recorder::stream::Reader::attach(view, &layout).unwrap();
        let mut bytes = [0; 16];
        assert_eq!(reader.read(&mut bytes).unwrap().count, 5);
        assert_eq!(&bytes[..5], b"hello");
    }

    #[test]
    fn says_where_there_is_no_room() {
        let error = Ram::create(&std::env::temp_dir(), &WHOLE, 0x4000, u64::MAX).unwrap_err();
        assert!(matches!(error, RunError::NoSpace { .. }), "{error}");
    }
}
