//! Data that the first component finds: argument, guest page, archive, timing, shared memory
#![expect(unsafe_code, reason = "mapped addresses become memory")]

use super::First;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::{GuestInfo, GuestPage};
use bulkhead_abi::kernel::{Archive, Rights, Status, first};
use bulkhead_abi::{pipe, repository, timing};
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

/// The VCPUs and tasks of a partition.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// VCPUs, in the order of the description.
    pub vcpus: &'static [timing::Vcpu],
    /// Tasks, in the order of the description.
    pub tasks: &'static [timing::Task],
    /// Scheduling order of VCPUs, unless by rate.
    pub schedule: Option<&'static timing::Schedule>,
    /// Slots of all cores.
    pub slots: &'static [timing::Slot],
    /// Costs of scheduling decisions, if they are known.
    pub costs: Option<&'static timing::Costs>,
    /// Doorbells that ring in the partition.
    pub doorbells: &'static [timing::Doorbell],
    /// Tuned pipes, solved and admitted.
    pub pipes: &'static [pipe::Pipe],
    /// Their stages, those of a pipe together.
    pub stages: &'static [pipe::Stage],
    /// Their edges to and from stages of other partitions.
    pub crossings: &'static [pipe::Crossing],
    /// Pipe functions that components execute.
    pub functions: &'static [pipe::ComponentFunction],
    /// Functions and endpoints for run-time pipes, if there may be any.
    pub repository: Option<repository::Repository<'static>>,
}

impl Timing {
    /// No VCPUs, tasks or pipes.
    pub const NOTHING: Self = Self {
        vcpus: &[],
        tasks: &[],
        schedule: None,
        slots: &[],
        costs: None,
        doorbells: &[],
        pipes: &[],
        stages: &[],
        crossings: &[],
        functions: &[],
        repository: None,
    };

    /// Decodes the timing data; nothing if the bytes have another format.
    #[must_use]
    pub fn read(bytes: &'static [u8]) -> Option<Self> {
        let (head, rest) = timing::Head::ref_from_prefix(bytes).ok()?;
        if head.magic != timing::TIMING_MAGIC {
            return None;
        }
        let counts = [head.vcpus, head.tasks].map(|count| count as usize);
        let (vcpus, rest) = <[timing::Vcpu]>::ref_from_prefix_with_elems(rest, counts[0]).ok()?;
        let (tasks, rest) = <[timing::Task]>::ref_from_prefix_with_elems(rest, counts[1]).ok()?;
        let found = timing::Schedule::ref_from_prefix(rest).ok();
        let found = found.filter(|(schedule, _)| schedule.magic == timing::SCHEDULE_MAGIC);
        let (schedule, slots, rest) = match found {
            Some((schedule, rest)) => {
                let count = schedule.slots as usize;
                let slots = <[timing::Slot]>::ref_from_prefix_with_elems(rest, count).ok()?;
                (Some(schedule), slots.0, slots.1)
            }
            None => (None, &[][..], rest),
        };
        let found = timing::Costs::ref_from_prefix(rest).ok();
        let found = found.filter(|(costs, _)| costs.magic == timing::COSTS_MAGIC);
        let (costs, doorbells, rest) = match found {
            Some((costs, rest)) => {
                let count = costs.doorbells as usize;
                let doorbells =
                    <[timing::Doorbell]>::ref_from_prefix_with_elems(rest, count).ok()?;
                (Some(costs), doorbells.0, doorbells.1)
            }
            None => (None, &[][..], rest),
        };
        let nothing = (pipe::Pipes::NONE, rest);
        let (run, rest) = pipe::Pipes::read_before(rest).unwrap_or(nothing);
        let pipe::Pipes {
            pipes,
            stages,
            crossings,
            functions,
        } = run;
        Some(Self {
            vcpus,
            tasks,
            schedule,
            slots,
            costs,
            doorbells,
            pipes,
            stages,
            crossings,
            functions,
            repository: repository::Repository::read(rest),
        })
    }
}

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
