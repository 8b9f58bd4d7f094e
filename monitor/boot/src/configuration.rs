//! Finding and verifying the configuration
#![expect(unsafe_code, reason = "the configuration lies at an address")]

use crate::memory;
use crate::refusal::Refusal;
use bulkhead_abi::boot::{BOOT_MAGIC, BootHeader};
use bulkhead_abi::config::{
    CONFIG_MAGIC, Clear, Config, CoreConfig, ImageCheck, InterruptLine, PartitionConfig, Setting,
    Slice, image_checksum_step,
};
use bulkhead_abi::status::{MAX_CORES, MAX_DOORBELLS};
use core::mem::offset_of;
use core::ptr::with_exposed_provenance;
use sha2::{Digest, Sha256};
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// The verified configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    pub(crate) head: &'static Config,
    blob: &'static [u8],
}

impl Configuration {
    /// Finds the blob by way of the header; nothing of it is trusted yet.
    pub(crate) fn find(header: &BootHeader) -> Result<Self, Refusal> {
        if header.magic != BOOT_MAGIC {
            return Err(Refusal::NoHeader);
        }
        let missing = Refusal::NoConfiguration(header.config_pa);
        if !header.config_pa.is_multiple_of(8) {
            return Err(missing);
        }
        // SAFETY: the header has the right magic and points into the image, which is never written.
        let head = unsafe { &*with_exposed_provenance::<Config>(header.config_pa as usize) };
        let size = head.size as usize;
        let fits = size >= size_of::<Config>() && size as u64 <= header.image_size;
        if head.magic != CONFIG_MAGIC || !fits {
            return Err(missing);
        }
        if head.version != bulkhead_abi::VERSION {
            return Err(Refusal::WrongVersion(head.version));
        }
        Ok(Self {
            head,
            blob: memory::bytes(header.config_pa, size),
        })
    }

    /// Digest of blob and tables.
    pub(crate) fn verify(self) -> Result<Self, Refusal> {
        const DIGEST: usize = offset_of!(Config, digest);
        const AFTER: usize = DIGEST + 32;
        let (before, rest) = self.blob.split_at(DIGEST);
        let Some(after) = rest.get(AFTER - DIGEST..) else {
            return Err(Refusal::Damaged);
        };
        let mut hash = Sha256::new();
        hash.update(before);
        hash.update([0; 32]);
        hash.update(after);
        hash.update(memory::bytes(
            self.head.tables_pa,
            self.head.tables_size as usize,
        ));
        if hash.finalize().as_slice() != self.head.digest {
            return Err(Refusal::Damaged);
        }
        Ok(self)
    }

    /// Checksums of the guest images.
    pub(crate) fn verify_images(self) -> Result<(), Refusal> {
        for (index, image) in self
            .slice::<ImageCheck>(self.head.images, "images")?
            .iter()
            .enumerate()
        {
            let words = memory::words(image.pa, image.size as usize);
            let sum = words
                .iter()
                .fold(0, |sum, &word| image_checksum_step(sum, word));
            if sum != image.checksum {
                return Err(Refusal::DamagedImage(index));
            }
        }
        Ok(())
    }

    pub(crate) fn slice<T: FromBytes + Immutable + KnownLayout>(
        self,
        slice: Slice,
        what: &'static str,
    ) -> Result<&'static [T], Refusal> {
        let from = self
            .blob
            .get(slice.offset as usize..)
            .ok_or(Refusal::Malformed(what))?;
        let parsed = <[T]>::ref_from_prefix_with_elems(from, slice.count as usize);
        parsed
            .map(|(elements, _)| elements)
            .map_err(|_| Refusal::Malformed(what))
    }

    pub(crate) fn cores(self) -> Result<&'static [CoreConfig], Refusal> {
        let cores = self.slice::<CoreConfig>(self.head.cores, "cores")?;
        let sound = |core: &CoreConfig| {
            core.stack_top.is_multiple_of(4096) && (core.rank as usize) < MAX_CORES
        };
        let count = (1..=MAX_CORES).contains(&cores.len());
        if count && cores.iter().all(sound) {
            Ok(cores)
        } else {
            Err(Refusal::Malformed("cores"))
        }
    }

    pub(crate) fn partitions(self) -> Result<&'static [PartitionConfig], Refusal> {
        let partitions = self.slice::<PartitionConfig>(self.head.partitions, "partitions")?;
        let sound = |partition: &PartitionConfig| {
            partition.doorbells.count as usize <= MAX_DOORBELLS
                && [partition.state_pa, partition.link_pa, partition.status_pa]
                    .iter()
                    .all(|pa| pa.is_multiple_of(4096))
        };
        if partitions.len() <= MAX_CORES && partitions.iter().all(sound) {
            Ok(partitions)
        } else {
            Err(Refusal::Malformed("partitions"))
        }
    }

    pub(crate) fn lines(self) -> Result<&'static [InterruptLine], Refusal> {
        self.slice(self.head.lines, "interrupt lines")
    }

    pub(crate) fn settings(self) -> Result<&'static [Setting], Refusal> {
        self.slice(self.head.settings, "settings")
    }

    pub(crate) fn clears(self) -> Result<&'static [Clear], Refusal> {
        self.slice(self.head.clears, "cleared regions")
    }
}
