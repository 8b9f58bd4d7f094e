//! Time partitions: a static cyclic table, TP0 beside it, EDF bands on choice
//!
//! ARINC 653 and PikeOS; papers 002 and 003 §2.1, spec 30-scheduling §5. Threads of TPx run in the
//! slots of x only, those of TP0 whenever they are the most important; inside a partition fixed
//! priorities with round robin; at equal priority TP0 before TPx. A priority of TP0 can be an EDF
//! band: what runs there runs in reservations ([`super::Reservations`]). Without a table and a band
//! this is [`FixedPriority`], decision by decision.

use super::{
    FixedPriority, Membership, Pick, Policy, Priority, Reservations, RoundRobin, ServerId,
};
use crate::budget::Capacity;
use crate::{NEVER, Refusal, ThreadId, Time};

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// End within the major frame; it starts where the one before ends.
    pub end: Time,
    /// Whose threads may run, from 1; 0 = those of TP0 only.
    pub partition: u8,
}

/// Where a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a time partition, 0 = TP0, at a priority that is no band.
    Partition(u8, Priority),
    /// In a reservation of a band: the band's number, the reservation.
    Band(u8, ServerId),
}

#[derive(Clone, Debug)]
struct Band<const N: usize, const R: usize> {
    priority: Priority,
    reservations: Reservations<N, R>,
}

/// Policy of TP0 and TP1 to TP(P − 1), with up to `B` bands of up to `R` reservations each, for up to
/// `N` threads and a table of up to `S` slots.
#[derive(Clone, Debug)]
pub struct TimePartitions<
    const N: usize,
    const P: usize,
    const S: usize,
    const B: usize,
    const R: usize,
> {
    table: [Slot; S],
    slots: usize,
    partitions: [FixedPriority<RoundRobin, N>; P],
    bands: [Option<Band<N, R>>; B],
    places: [Option<Place>; N],
    ready: [bool; N],
}

impl<const N: usize, const P: usize, const S: usize, const B: usize, const R: usize>
    TimePartitions<N, P, S, B, R>
{
    /// Under a table, perhaps empty, whose last slot ends the major frame; equals take turns of
    /// `quantum` ([`NEVER`]: none).
    ///
    /// # Errors
    /// [`Refusal::BadParameters`]: a slot is empty, overlaps the one before, or is of no partition;
    /// [`Refusal::Full`]: too many slots.
    pub fn new(table: &[Slot], quantum: Time) -> Result<Self, Refusal> {
        let mut own = [Slot {
            end: 0,
            partition: 0,
        }; S];
        own.get_mut(..table.len())
            .ok_or(Refusal::Full)?
            .copy_from_slice(table);
        let mut start = 0;
        for slot in table {
            if slot.end <= start || usize::from(slot.partition) >= P || slot.end > Time::MAX >> 2 {
                return Err(Refusal::BadParameters);
            }
            start = slot.end;
        }
        Ok(Self {
            table: own,
            slots: table.len(),
            partitions: core::array::from_fn(|_| FixedPriority::new(RoundRobin(quantum))),
            bands: [const { None }; B],
            places: [None; N],
            ready: [false; N],
        })
    }

    /// Makes a priority of TP0 an EDF band.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`] where it is one already; [`Refusal::Full`].
    pub fn add_band(&mut self, priority: Priority) -> Result<u8, Refusal> {
        if self.band_at(priority) {
            return Err(Refusal::BadParameters);
        }
        let free = self.bands.iter().position(Option::is_none);
        let free = free.ok_or(Refusal::Full)?;
        self.bands[free] = Some(Band {
            priority,
            reservations: Reservations::new(),
        });
        Ok(free as u8)
    }

    /// Adds a reservation to a band.
    ///
    /// # Errors
    /// [`Refusal`]: no such band, C or T are bad, or there is no room.
    pub fn add_reservation(&mut self, band: u8, limits: Capacity) -> Result<ServerId, Refusal> {
        let band = self.bands.get_mut(usize::from(band));
        let band = band.and_then(Option::as_mut);
        band.ok_or(Refusal::BadParameters)?
            .reservations
            .add_reservation(limits)
    }

    fn band_at(&self, priority: Priority) -> bool {
        let mut bands = self.bands.iter().flatten();
        bands.any(|band| band.priority == priority)
    }

    /// The policy that a thread of this place is under, with its parameters there.
    fn route<T>(
        &mut self,
        place: Place,
        fixed: impl FnOnce(&mut FixedPriority<RoundRobin, N>, Priority) -> T,
        band: impl FnOnce(&mut Reservations<N, R>, Membership) -> T,
    ) -> Result<T, Refusal> {
        match place {
            Place::Partition(0, priority) if self.band_at(priority) => None,
            Place::Partition(number, priority) => self
                .partitions
                .get_mut(usize::from(number))
                .map(|policy| fixed(policy, priority)),
            Place::Band(number, id) => self
                .bands
                .get_mut(usize::from(number))
                .and_then(Option::as_mut)
                .map(|policy| band(&mut policy.reservations, Membership(id))),
        }
        .ok_or(Refusal::BadParameters)
    }

    fn each<T>(
        &mut self,
        thread: ThreadId,
        fixed: impl FnOnce(&mut FixedPriority<RoundRobin, N>) -> T,
        band: impl FnOnce(&mut Reservations<N, R>) -> T,
    ) -> Option<T> {
        let place = self.places[thread.index()]?;
        self.route(place, |policy, _| fixed(policy), |policy, _| band(policy))
            .ok()
    }

    /// Whose slot it is, and when that changes.
    fn slot(&self, now: Time) -> (u8, Time) {
        let table = &self.table[..self.slots];
        let Some(frame) = table.last().map(|last| last.end) else {
            return (0, NEVER);
        };
        let place = now % frame;
        let number = table.partition_point(|slot| slot.end <= place);
        let slot = table[number];
        (slot.partition, now - place + slot.end)
    }
}

/// The more important; the first of equals.
fn better(
    one: Option<(Priority, Pick)>,
    other: Option<(Priority, Pick)>,
) -> Option<(Priority, Pick)> {
    match (one, other) {
        (Some((a, _)), Some((b, _))) if b < a => other,
        (None, _) => other,
        _ => one,
    }
}

impl<const N: usize, const P: usize, const S: usize, const B: usize, const R: usize> Policy
    for TimePartitions<N, P, S, B, R>
{
    type Parameters = Place;

    fn add(&mut self, thread: ThreadId, place: Place, now: Time) -> Result<(), Refusal> {
        self.route(
            place,
            |policy, priority| policy.add(thread, priority, now),
            |policy, reservation| policy.add(thread, reservation, now),
        )??;
        self.places[thread.index()] = Some(place);
        Ok(())
    }

    fn remove(&mut self, thread: ThreadId) {
        self.each(
            thread,
            |policy| policy.remove(thread),
            |policy| policy.remove(thread),
        );
        self.places[thread.index()] = None;
    }

    fn set_parameters(&mut self, thread: ThreadId, place: Place, now: Time) -> Result<(), Refusal> {
        let stays = match (self.places[thread.index()], place) {
            (Some(Place::Partition(old, _)), Place::Partition(new, _))
            | (Some(Place::Band(old, _)), Place::Band(new, _)) => old == new,
            _ => false,
        };
        self.route(
            place,
            |policy, priority| match stays {
                true => policy.set_parameters(thread, priority, now),
                false => policy.add(thread, priority, now),
            },
            |policy, reservation| match stays {
                true => policy.set_parameters(thread, reservation, now),
                false => policy.add(thread, reservation, now),
            },
        )??;
        if stays {
            self.places[thread.index()] = Some(place);
            return Ok(());
        }
        let ready = self.ready[thread.index()];
        self.block(thread, now);
        self.remove(thread);
        self.places[thread.index()] = Some(place);
        if ready {
            self.wakeup(thread, now);
        }
        Ok(())
    }

    fn wakeup(&mut self, thread: ThreadId, now: Time) {
        self.ready[thread.index()] = true;
        self.each(
            thread,
            |policy| policy.wakeup(thread, now),
            |policy| policy.wakeup(thread, now),
        );
    }

    fn block(&mut self, thread: ThreadId, now: Time) {
        self.ready[thread.index()] = false;
        self.each(
            thread,
            |policy| policy.block(thread, now),
            |policy| policy.block(thread, now),
        );
    }

    fn yield_now(&mut self, thread: ThreadId, now: Time) {
        self.each(
            thread,
            |policy| policy.yield_now(thread, now),
            |policy| policy.yield_now(thread, now),
        );
    }

    fn charge(&mut self, thread: ThreadId, from: Time, until: Time) {
        self.each(
            thread,
            |policy| policy.charge(thread, from, until),
            |policy| policy.charge(thread, from, until),
        );
    }

    fn pick(&mut self, now: Time) -> Option<Pick> {
        let (partition, slot_end) = self.slot(now);
        let mut best = None;
        for band in self.bands.iter_mut().flatten() {
            let pick = band.reservations.pick(now);
            best = better(best, pick.map(|pick| (band.priority, pick)));
        }
        let numbers = [0, usize::from(partition)];
        for &number in &numbers[..1 + usize::from(partition != 0)] {
            let policy = self.partitions.get_mut(number)?;
            let pick = policy.pick(now).map(|mut pick| {
                if number != 0 {
                    pick.until = pick.until.min(slot_end);
                }
                (policy.priority(pick.thread), pick)
            });
            best = better(best, pick);
        }
        best.map(|(_, pick)| pick)
    }

    fn next_event(&self, now: Time) -> Time {
        let bands = self.bands.iter().flatten();
        let replenishment = bands.map(|band| band.reservations.next_event(now));
        replenishment.min().unwrap_or(NEVER).min(self.slot(now).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheduler;
    use crate::harness::Random;

    type Plain = TimePartitions<8, 1, 0, 0, 0>;
    type Full = TimePartitions<8, 3, 4, 1, 2>;

    /// A life without a table and a band, beside fixed priorities with round robin.
    #[test]
    fn without_a_band_nothing_changes() {
        let mut random = Random::new(11);
        let mut plain = Scheduler::<_, 8>::new(FixedPriority::<_, 8>::new(RoundRobin(10)));
        let mut with = Scheduler::<_, 8>::new(Plain::new(&[], 10).expect("valid"));
        for _ in 0..8 {
            let priority = Priority(random.below(4) as u8);
            plain.add(priority, 0).expect("room");
            with.add(Place::Partition(0, priority), 0).expect("room");
        }
        let mut now = 0;
        for _ in 0..50_000 {
            let thread = ThreadId(random.below(8) as u16);
            match random.below(3) {
                0 => {
                    let until = now + 1 + random.below(60);
                    assert_eq!(
                        plain.block(thread, until, now),
                        with.block(thread, until, now)
                    );
                }
                1 => {
                    plain.wakeup(thread, now);
                    with.wakeup(thread, now);
                }
                _ => {}
            }
            let decision = plain.decide(now);
            assert_eq!(decision, with.decide(now), "at {now}");
            plain.dispatched(decision.thread, now);
            with.dispatched(decision.thread, now);
            now = decision.timer.min(now + 1 + random.below(15));
        }
    }

    fn run(scheduler: &mut Scheduler<Full, 8>, now: Time, thread: Option<ThreadId>, timer: Time) {
        let decision = scheduler.decide(now);
        assert_eq!(
            (decision.thread, decision.timer),
            (thread, timer),
            "at {now}"
        );
        scheduler.dispatched(decision.thread, now);
    }

    #[test]
    fn slots_tp0_and_a_band() {
        let slot = |end, partition| Slot { end, partition };
        let mut policy = Full::new(&[slot(50, 1), slot(100, 2)], NEVER).expect("valid");
        let band = policy.add_band(Priority(3)).expect("room");
        let limits = Capacity {
            capacity: 5,
            period: 40,
        };
        let echo = policy.add_reservation(band, limits).expect("room");
        let mut scheduler = Scheduler::<_, 8>::new(policy);
        let mut add = |place| scheduler.add(place, 0).expect("room");
        let one = add(Place::Partition(1, Priority(4)));
        let two = add(Place::Partition(2, Priority(4)));
        let tp0 = add(Place::Partition(0, Priority(4)));
        let l3c = add(Place::Band(band, echo));
        for thread in [one, two, l3c] {
            scheduler.wakeup(thread, 0);
        }
        run(&mut scheduler, 0, Some(l3c), 5);
        run(&mut scheduler, 5, Some(one), 40);
        run(&mut scheduler, 40, Some(l3c), 45);
        run(&mut scheduler, 45, Some(one), 50);
        run(&mut scheduler, 50, Some(two), 80);
        scheduler.wakeup(tp0, 60);
        run(&mut scheduler, 60, Some(tp0), 80);
        scheduler.block(tp0, NEVER, 70);
        run(&mut scheduler, 70, Some(two), 80);
        run(&mut scheduler, 80, Some(l3c), 85);
    }

    #[test]
    fn what_is_wrong_is_refused_and_disturbs_nothing() {
        let slot = |end, partition| Slot { end, partition };
        let bad = |table: &[Slot]| Full::new(table, NEVER).err();
        assert_eq!(
            bad(&[slot(50, 1), slot(50, 2)]),
            Some(Refusal::BadParameters)
        );
        assert_eq!(bad(&[slot(50, 3)]), Some(Refusal::BadParameters));
        assert_eq!(bad(&[slot(1, 1); 5]), Some(Refusal::Full));
        let mut policy = Full::new(&[], NEVER).expect("valid");
        let band = policy.add_band(Priority(3)).expect("room");
        assert_eq!(policy.add_band(Priority(3)), Err(Refusal::BadParameters));
        let limits = |capacity, period| Capacity { capacity, period };
        for bad in [
            limits(0, 1),
            limits(2, 1),
            limits(0, 0),
            limits(1, Time::MAX),
        ] {
            assert_eq!(
                policy.add_reservation(band, bad),
                Err(Refusal::BadParameters)
            );
        }
        assert_eq!(
            policy.add_reservation(7, limits(1, 2)),
            Err(Refusal::BadParameters)
        );
        let mut scheduler = Scheduler::<_, 8>::new(policy);
        let no_band = Place::Partition(0, Priority(3));
        assert_eq!(scheduler.add(no_band, 0), Err(Refusal::BadParameters));
    }
}
