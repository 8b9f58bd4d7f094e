//! Which servers may run, and in which order

use crate::budget::Budget;
use crate::policy::interface::Pick;
use crate::policy::server::{Running, Server, ServerId, Servers, as_thread};
use crate::queue::LEVELS;
use crate::thread::{NEVER, Time};

/// Importance among the servers that may run: the priority, then whether it is of another time partition
/// than TP0.
type Rank = (u8, bool);

impl<B: Budget + Copy, const N: usize, const M: usize, const P: usize, const S: usize>
    Servers<B, N, M, P, S>
{
    /// Puts a server with ready threads where its budget says.
    pub(super) fn place(&mut self, id: ServerId, now: Time) {
        let Some(Some(server)) = self.servers.get(usize::from(id.0)) else {
            return;
        };
        let Some(lane) = self.lanes.get_mut(usize::from(server.partition)) else {
            return;
        };
        let (name, level) = (as_thread(id), server.priority.0);
        lane.eligible.remove(name);
        lane.exhausted.disarm(name);
        self.band.disarm(name);
        let is_band = server.partition == 0 && self.bands >> level & 1 != 0;
        if server.budget.available(now) == 0 {
            let when = server.budget.next_replenishment(now);
            lane.exhausted.arm(name, level, when);
        } else if is_band {
            self.band.arm(name, (level, server.budget.deadline()));
        } else {
            lane.eligible.push_back(name, level);
        }
    }

    pub(super) fn withdraw(&mut self, id: ServerId) {
        let partition = self.server(id).map_or(0, |server| server.partition);
        if let Some(lane) = self.lanes.get_mut(usize::from(partition)) {
            lane.eligible.remove(as_thread(id));
            lane.exhausted.disarm(as_thread(id));
        }
        self.band.disarm(as_thread(id));
    }

    /// The deadline of a server may have changed.
    #[inline(always)]
    pub(super) fn reorder(&mut self, id: ServerId) {
        if self.bands != 0
            && self.band.is_armed(as_thread(id))
            && let Some(server) = self.server(id)
        {
            let key = (server.priority.0, server.budget.deadline());
            self.band.arm(as_thread(id), key);
        }
    }

    /// The server that runs used so much: its equals may have their turn.
    #[inline(always)]
    pub(super) fn end_turn(&mut self, id: ServerId, used: Time) {
        if self.quantum == NEVER {
            return;
        }
        self.turn += used;
        if self.turn >= self.quantum {
            self.turn = 0;
            let partition = self.server(id).map_or(0, |server| server.partition);
            if let Some(lane) = self.lanes.get_mut(usize::from(partition)) {
                lane.eligible.rotate(as_thread(id));
            }
        }
    }

    /// How long the server may run before an equal has its turn.
    #[inline(always)]
    pub(super) fn turn_left(&self, id: ServerId) -> Time {
        let partition = self.server(id).map_or(0, |server| server.partition);
        let lane = self.lanes.get(usize::from(partition));
        let alone = lane.is_none_or(|lane| !lane.eligible.has_equal(as_thread(id)));
        if self.quantum == NEVER || alone {
            NEVER
        } else {
            self.quantum.saturating_sub(self.turn)
        }
    }

    fn rank(&self, server: &Server<B>) -> Rank {
        (server.priority.0, server.partition != 0)
    }

    /// Time partitions with servers that may run in the slot of `current`: TP0, and itself.
    #[inline(always)]
    fn open(current: u8) -> impl Iterator<Item = u8> {
        core::iter::once(0).chain((current != 0).then_some(current))
    }

    /// The most important server that has, or had, budget.
    #[inline(always)]
    fn best(&self, current: u8) -> Option<(Rank, ServerId)> {
        let of_band = self.band.first().zip(self.band.earliest());
        let mut best = of_band.map(|(first, (level, _))| ((level, false), first));
        for number in Self::open(current) {
            let lane = self.lanes.get(usize::from(number))?;
            if let Some((first, level)) = lane.eligible.first_and_level() {
                let rank = (level, number != 0);
                if best.is_none_or(|(other, _)| rank < other) {
                    best = Some((rank, first));
                }
            }
        }
        best.map(|(rank, first)| (rank, ServerId(first.0)))
    }

    /// Levels above this one are more important than `rank` for a server of that time partition. A server
    /// on the same level of a band may have an earlier deadline.
    fn above(&self, rank: Option<Rank>, partition: u8) -> usize {
        let Some((level, other)) = rank else {
            return LEVELS;
        };
        let band = !other && self.bands >> level & 1 != 0;
        usize::from(level) + usize::from(partition == 0 && (other || band))
    }

    /// A server that has its budget again and is more important than `rank`.
    fn due(&self, current: u8, rank: Option<Rank>, now: Time) -> Option<ServerId> {
        Self::open(current).find_map(|number| {
            let lane = self.lanes.get(usize::from(number))?;
            let (level, server) = lane.exhausted.due(now)?;
            let above = usize::from(level) < self.above(rank, number);
            above.then_some(ServerId(server.0))
        })
    }

    pub(super) fn first_eligible(&mut self, now: Time) -> Option<(ServerId, Time)> {
        let (current, _) = self.table.at(now);
        for _ in 0..2 * M {
            let best = self.best(current);
            if let Some(due) = self.due(current, best.map(|(rank, _)| rank), now) {
                self.place(due, now);
                continue;
            }
            let (_, id) = best?;
            let available = self.server(id)?.budget.available(now);
            if available > 0 {
                return Some((id, available));
            }
            self.place(id, now);
        }
        None
    }

    /// Returns the time at which a server of TP0 or of `current` that is more important than the running one has its budget again.
    pub(super) fn next_replenishment(&self, current: u8) -> Time {
        let running = match self.running {
            Running::Foreground(id) => self.server(id).map(|server| self.rank(server)),
            Running::Background | Running::Nobody => None,
        };
        let lanes = Self::open(current).filter_map(|number| {
            let lane = self.lanes.get(usize::from(number))?;
            Some(lane.exhausted.earliest_before(self.above(running, number)))
        });
        lanes.min().unwrap_or(NEVER)
    }

    pub(super) fn background_pick(&self, now: Time) -> Option<Pick> {
        if !self.background {
            return None;
        }
        let (current, _) = self.table.at(now);
        let lanes = Self::open(current).filter_map(|number| {
            let first = self.lanes.get(usize::from(number))?.exhausted.first()?;
            let id = ServerId(first.0);
            Some((self.rank(self.server(id)?), id))
        });
        let (_, id) = lanes.min_by_key(|&(rank, _)| rank)?;
        Some(Pick {
            thread: self.threads.first_of(id.0 as u8)?,
            until: NEVER,
            server: None,
        })
    }
}
