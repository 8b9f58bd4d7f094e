//! Announcements of a partition that it is up

use bulkhead_abi::status::{LINK_MAGIC, LinkPage, State};

use crate::ram::Ram;

/// Follows the link page of a partition.
#[derive(Debug)]
pub(super) struct LinkReader {
    pa: u64,
    /// The newest epoch in which the partition announced itself.
    epoch: u32,
}

impl LinkReader {
    /// Follows the link page at `pa`.
    pub(super) const fn new(pa: u64) -> Self {
        Self { pa, epoch: 0 }
    }

    /// Returns the counter value at which the partition announced itself, once for each start. A start that ends between two calls is
    /// not seen.
    pub(super) fn new_up(&mut self, ram: &Ram) -> Option<u64> {
        let read = || ram.read::<LinkPage>(self.pa).ok();
        // The monitor stores time and state one after the other.
        let page = read().zip(read()).filter(|(page, again)| {
            (page.state, page.epoch, page.since_ticks)
                == (again.state, again.epoch, again.since_ticks)
        });
        let (page, _) = page?;
        let is_new =
            page.magic == LINK_MAGIC && page.state == State::Up as u32 && page.epoch != self.epoch;
        is_new.then(|| {
            self.epoch = page.epoch;
            page.since_ticks
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::os::unix::fs::FileExt;

    const BASE: u64 = 0x4000_0000;

    #[test]
    fn each_start_is_announced_once() {
        let region = bulkhead_plan::manifest::Region {
            pa: BASE,
            size: 1 << 16,
        };
        let ram = Ram::create(&std::env::temp_dir(), &[region], 1 << 16, 1 << 16).expect("memory");
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(format!("/proc/self/fd/{}", ram.fd()))
            .expect("the memory");
        let write = |offset: usize, bytes: &[u8]| {
            file.write_all_at(bytes, offset as u64).expect("written");
        };
        let mut reader = LinkReader::new(BASE);
        assert_eq!(reader.new_up(&ram), None);
        write(offset_of!(LinkPage, magic), &LINK_MAGIC.to_le_bytes());
        for (state, epoch, ticks, seen) in [
            (State::Starting, 1_u32, 10_u64, None),
            (State::Up, 1, 20, Some(20)),
            (State::Up, 1, 20, None),
            (State::Down, 1, 30, None),
            (State::Up, 2, 40, Some(40)),
        ] {
            write(offset_of!(LinkPage, state), &(state as u32).to_le_bytes());
            write(offset_of!(LinkPage, epoch), &epoch.to_le_bytes());
            write(offset_of!(LinkPage, since_ticks), &ticks.to_le_bytes());
            assert_eq!(reader.new_up(&ram), seen, "{state:?} {epoch}");
        }
    }
}
