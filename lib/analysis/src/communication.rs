//! Worst-case communication between two VCPUs over a single-slot channel
//!
//! Paper 001 §4.2, equations 4.1–4.4. A channel is half duplex with one slot of B bytes; sender and
//! receiver poll on their own VCPUs.

use crate::{Reservation, Time};

/// One end: its VCPU and its cost per byte moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// C, T.
    pub vcpu: Reservation,
    /// δ, time per byte.
    pub per_byte: Time,
}

/// A channel between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// End that sends the request.
    pub sender: End,
    /// End that sends the reply.
    pub receiver: End,
    /// B, bytes of the slot, not 0.
    pub slot: u64,
    /// K, time the receiver needs to serve one request.
    pub service: Time,
}

impl Channel {
    /// S(N): the sender moves `bytes`.
    fn sender_span(&self, bytes: u64) -> Option<Time> {
        self.sender
            .vcpu
            .span(bytes.checked_mul(self.sender.per_byte)?)
    }

    /// R(N, M), equation 4.1.
    fn receiver_span(&self, request: u64, reply: u64) -> Option<Time> {
        let moved = request
            .checked_add(reply)?
            .checked_mul(self.receiver.per_byte)?;
        self.receiver.vcpu.span(moved.checked_add(self.service)?)
    }

    /// Δ_WC(N, M) where request and reply fit one slot, equation 4.2.
    fn single_slot(&self, request: u64, reply: u64) -> Option<Time> {
        let there = self
            .sender_span(request)?
            .checked_add(self.sender.vcpu.gap())?;
        let served = self
            .receiver_span(request, reply)?
            .checked_add(self.receiver.vcpu.gap())?;
        let back = self
            .sender_span(reply)?
            .checked_add(self.sender.vcpu.gap())?;
        there.checked_add(served)?.checked_add(back)
    }

    /// Bound of a round trip of `request` and `reply` bytes: equation 4.2, and 4.3 where the
    /// request takes several slots.
    #[must_use]
    pub fn round_trip(&self, request: u64, reply: u64) -> Option<Time> {
        if request <= self.slot && reply <= self.slot {
            return self.single_slot(request, reply);
        }
        let slots = request
            .max(1)
            .div_ceil(self.slot)
            .max(reply.div_ceil(self.slot));
        self.single_slot(self.slot, reply.min(self.slot))?
            .checked_mul(slots)
    }

    /// Bound of a one-way transfer of `bytes`, equation 4.4.
    #[must_use]
    pub fn one_way(&self, bytes: u64) -> Option<Time> {
        let sent = self
            .sender_span(self.slot)?
            .checked_add(self.sender.vcpu.gap())?;
        let taken = self
            .receiver_span(self.slot, 0)?
            .checked_add(self.receiver.vcpu.gap())?;
        sent.checked_add(taken)?
            .checked_mul(bytes.div_ceil(self.slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vcpu(capacity: Time, period: Time, per_byte: Time) -> End {
        End {
            vcpu: Reservation::new(capacity, period).expect("valid"),
            per_byte,
        }
    }

    /// Nanoseconds; 4 KiB messages at 500 ns per byte each way (2.048 ms of work per message).
    fn channel(sender: (Time, Time), receiver: (Time, Time)) -> Channel {
        let ms = 1_000_000;
        Channel {
            sender: vcpu(sender.0 * ms, sender.1 * ms, 500),
            receiver: vcpu(receiver.0 * ms, receiver.1 * ms, 500),
            slot: 4096,
            service: 0,
        }
    }

    /// Table 4.1, by hand from equation 4.2: S = 2.048 ms and R = 4.096 ms of work.
    #[test]
    fn table_4_1() {
        let cases = [
            // 2/10: R = ⌊4.096/2⌋·10 + 0.096 = 20.096, gap 8.
            ((2, 10), 2_048 + 80_000 + 20_096 + 8_000 + 2_048 + 80_000),
            ((20, 100), 2_048 + 80_000 + 4_096 + 80_000 + 2_048 + 80_000),
            ((20, 130), 2_048 + 80_000 + 4_096 + 110_000 + 2_048 + 80_000),
            ((20, 200), 2_048 + 80_000 + 4_096 + 180_000 + 2_048 + 80_000),
            ((20, 230), 2_048 + 80_000 + 4_096 + 210_000 + 2_048 + 80_000),
        ];
        for (receiver, microseconds) in cases {
            let bound = channel((20, 100), receiver).round_trip(4096, 4096);
            assert_eq!(bound, Some(microseconds * 1_000), "receiver {receiver:?}");
        }
    }

    /// Table 4.2, by hand from equation 4.4: 4 MiB through a slot of 4 KiB.
    #[test]
    fn table_4_2() {
        let cases = [
            ((20, 50), (20, 50), 2_048 + 30_000 + 2_048 + 30_000),
            ((10, 100), (10, 100), 2_048 + 90_000 + 2_048 + 90_000),
            ((10, 100), (10, 50), 2_048 + 90_000 + 2_048 + 40_000),
            ((10, 100), (10, 200), 2_048 + 90_000 + 2_048 + 190_000),
            ((5, 100), (5, 130), 2_048 + 95_000 + 2_048 + 125_000),
            ((10, 200), (10, 200), 2_048 + 190_000 + 2_048 + 190_000),
        ];
        for (sender, receiver, microseconds) in cases {
            let bound = channel(sender, receiver).one_way(4 << 20);
            assert_eq!(
                bound,
                Some(1024 * microseconds * 1_000),
                "{sender:?} {receiver:?}"
            );
        }
    }

    #[test]
    fn several_slots_are_several_round_trips() {
        let channel = channel((20, 100), (20, 100));
        let one = channel.round_trip(4096, 100).expect("fits");
        assert_eq!(channel.round_trip(4097, 100), Some(2 * one));
        assert_eq!(
            channel.round_trip(u64::MAX, 1),
            None,
            "overflow is not a number"
        );
    }
}
