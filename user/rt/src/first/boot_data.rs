//! Data that the first component finds: argument, guest page, archive, timing, shared memory
#![expect(unsafe_code, reason = "mapped addresses become memory")]

use super::First;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::{GuestInfo, GuestPage};
use bulkhead_abi::kernel::{Archive, Rights, Status, first};
use bulkhead_abi::timing_data::TimingData;
use bulkhead_buffers::Region;
use zerocopy::{FromBytes, FromZeros};

/// The number of the argument word `key=number`.
#[must_use]
pub fn argument(info: &GuestInfo, key: &str) -> Option<u64> {
    argument_text(info, key)?.parse().ok()
}

/// The text of the argument word `key=text`.
#[must_use]
pub fn argument_text<'a>(info: &'a GuestInfo, key: &str) -> Option<&'a str> {
    let text = info.argument.get(..info.argument_len as usize)?;
    let mut words = core::str::from_utf8(text).ok()?.split_whitespace();
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// The VCPUs and tasks of a partition, as its archive has them.
pub type Timing = TimingData<'static>;

impl First {
    /// Returns a copy of the guest information page.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn guest_info(&mut self) -> Result<GuestInfo, Status> {
        let mut info = GuestInfo::new_zeroed();
        self.copy_guest(&mut info)?;
        Ok(info)
    }

    /// Returns the page with all entries of the window.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn guest(&mut self) -> Result<GuestPage, Status> {
        let mut page = GuestPage::new_zeroed();
        self.copy_guest(&mut page)?;
        Ok(page)
    }

    /// Copies the guest information page, or its first part, into `into`, for callers with a small
    /// stack.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn copy_guest<T: FromBytes>(&mut self, place: &mut T) -> Result<(), Status> {
        const { assert!(size_of::<T>() <= PAGE_SIZE as usize, "it is one page") };
        let number = (self.guest_page - self.window) / PAGE_SIZE;
        let address = self.map_briefly(first::WINDOW, number, Rights::Read)?;
        let page: *const T = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: mapped above; every bit pattern is a value; no other thread writes it.
        unsafe { core::ptr::copy_nonoverlapping(page, place, 1) };
        self.unmap(address)
    }

    /// The archive of components.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn archive(&mut self) -> Result<&'static Archive, Status> {
        let address = self.map(first::ARCHIVE, 0, 1, Rights::Read)?;
        let archive: *const Archive = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: mapped above for good; the kernel has checked it; it is never written.
        Ok(unsafe { &*archive })
    }

    /// The VCPUs and tasks of the partition; empty if the description has none.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn timing(&mut self, archive: &Archive) -> Result<Timing, Status> {
        let [page, pages] = archive.timing.map(u64::from);
        if pages == 0 {
            return Ok(Timing::NOTHING);
        }
        let address = self.map(first::ARCHIVE, page, pages, Rights::Read)?;
        let bytes: *const u8 = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: mapped above for good; it is never written.
        let bytes = unsafe { core::slice::from_raw_parts(bytes, (pages * PAGE_SIZE) as usize) };
        Timing::read(bytes).ok_or(Status::BadArgument)
    }

    /// Finds a shared memory of the window. Returns its guest-physical address and bytes.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn window(&mut self, [at, bytes]: [u64; 2]) -> Result<Region<'static>, Status> {
        let number = self.window_page(at)?;
        let pages = bytes.div_ceil(PAGE_SIZE);
        let address = self.map(first::WINDOW, number, pages, Rights::Write)?;
        let base = core::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: mapped above for good; reached through regions alone.
        unsafe { Region::from_raw(base, bytes as usize) }.map_err(|_| Status::BadArgument)
    }
}
