//! Time tables: slots of time partitions in a frame that repeats for ever
//!
//! ARINC 653 and `PikeOS`; papers 002 and 003 §2.1, spec 30-scheduling §5. Frames are counted from the
//! clock's zero. Time partition 0 (TP0) has no slots: its threads may run in all of them.

use crate::thread::{NEVER, Refusal, Time};

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// End within the frame, cycles; it starts where the one before ends.
    pub end: Time,
    /// The time partition that runs beside TP0, from 1; 0 = none.
    pub partition: u8,
}

/// A table of up to `S` slots, perhaps empty.
#[derive(Clone, Copy, Debug)]
pub struct TimeTable<const S: usize> {
    slots: [Slot; S],
    len: usize,
}

impl<const S: usize> TimeTable<S> {
    /// No slots: TP0 alone.
    #[must_use]
    pub const fn new() -> Self {
        const NOBODY: Slot = Slot {
            end: 0,
            partition: 0,
        };
        Self {
            slots: [NOBODY; S],
            len: 0,
        }
    }

    /// These slots, the last of which ends the frame.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`]: a slot is empty or overlaps the one before; [`Refusal::Full`]: too
    /// many slots.
    pub fn of(slots: &[Slot]) -> Result<Self, Refusal> {
        let mut table = Self::new();
        let places = table.slots.get_mut(..slots.len()).ok_or(Refusal::Full)?;
        let mut start = 0;
        for (place, slot) in places.iter_mut().zip(slots) {
            if slot.end <= start || slot.end > Time::MAX >> 2 {
                return Err(Refusal::BadParameters);
            }
            start = slot.end;
            *place = *slot;
        }
        table.len = slots.len();
        Ok(table)
    }

    /// Highest number of a partition that has a slot.
    #[must_use]
    pub fn partitions(&self) -> u8 {
        let slots = self.slots.iter().take(self.len);
        slots.map(|slot| slot.partition).max().unwrap_or(0)
    }

    /// Returns the time partition of the current slot, and the end of the slot.
    #[must_use]
    pub fn at(&self, now: Time) -> (u8, Time) {
        let table = self.slots.get(..self.len).unwrap_or(&[]);
        let Some(frame) = table.last().map(|last| last.end) else {
            return (0, NEVER);
        };
        let place = now % frame;
        let number = table.partition_point(|slot| slot.end <= place);
        let slot = table.get(number).copied();
        slot.map_or((0, NEVER), |slot| (slot.partition, now - place + slot.end))
    }
}

impl<const S: usize> Default for TimeTable<S> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_each_other_frame_after_frame() {
        let slot = |end, partition| Slot { end, partition };
        let table = TimeTable::<4>::of(&[slot(50, 1), slot(60, 0), slot(100, 2)]).expect("valid");
        for (now, expected) in [
            (0, (1, 50)),
            (49, (1, 50)),
            (50, (0, 60)),
            (60, (2, 100)),
            (130, (1, 150)),
        ] {
            assert_eq!(table.at(now), expected, "at {now}");
        }
        assert_eq!(TimeTable::<0>::new().at(7), (0, NEVER));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let slot = |end| Slot { end, partition: 1 };
        let refused = |slots: &[Slot]| TimeTable::<4>::of(slots).err();
        for bad in [&[slot(50), slot(50)][..], &[slot(0)], &[slot(NEVER)]] {
            assert_eq!(refused(bad), Some(Refusal::BadParameters));
        }
        let many = [1, 2, 3, 4, 5].map(slot);
        assert_eq!(refused(&many), Some(Refusal::Full));
    }
}
