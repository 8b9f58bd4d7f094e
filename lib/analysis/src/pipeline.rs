//! Delay, loss and buffering of messages in a pipeline of servers
//!
//! Stages run on servers (C, T) and are released by data, at most m jobs in a period: job j, which reads its inputs once, has its
//! release at v(j) = max(arrival, v(j − m) + T), finds its budget there and ends within the server's response R. Where messages
//! enter a chain at least T/m apart for each of its stages, induction along the chain gives v ≤ entry + Σ R of
//! the stages before, so that the delay is Σ R ≤ Σ T: the paper's bound (003 §3.1.4) with what the servers
//! really take. Two things break the induction and cost a whole period T more: several producers, since a job for one of them
//! may have been released just before the message of another, and, with four-slot buffers, a stage slower than
//! its input. Behind either, the induction starts anew with the releases of that stage; pacing by v and not by the budget alone is what bounds
//! them, since a job that needs less than its WCET leaves budget for another.
//!
//! A stage that runs by the clock, every T, reads up to T after an arrival: its delay is T + R, as if it had several
//! producers. Only stages with input from another address space run so, because only an interrupt could release them by data.

use crate::utilisation::Fraction;
use crate::{Reservation, Time};

/// Messages that arrive at a stage: at most `burst` in any span shorter than `distance` by their virtual
/// releases at the point of reference, which is the entry or the last stage that broke the induction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Stages that produce it.
    pub producers: u32,
    /// b, not 0.
    pub burst: u64,
    /// D, not 0.
    pub distance: Time,
    /// Longest time from the point of reference to the arrival.
    pub since: Time,
    /// Longest time by which a message arrives later than another might have, of the last stage alone.
    pub jitter: Time,
}

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// C, T.
    pub server: Reservation,
    /// m, not 0.
    pub messages: u64,
    /// R of a whole budget.
    pub response: Time,
    /// True if the stage polls every T instead of being released by data.
    pub clocked: bool,
}

/// Effect of a stage on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Longest time from an arrival, if its message is not overwritten, to the output.
    pub delay: Time,
    /// Four-slot: part of a steady stream that is overwritten unread.
    pub loss: Fraction,
    /// FIFO: whether the stage takes messages as fast as they come.
    pub keeps_up: bool,
    /// FIFO: messages that wait at most, those being written included.
    pub waiting: u64,
    /// Stream of the sent messages.
    pub output: Stream,
}

impl Stream {
    /// From a device: messages at least `distance` apart, handed over within `since`.
    #[must_use]
    pub const fn source(distance: Time, since: Time) -> Self {
        Self {
            producers: 1,
            burst: 1,
            distance,
            since,
            jitter: since,
        }
    }

    /// Together with what another stage writes: the worst of both, since each has a buffer of its own.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        Self {
            producers: self.producers.saturating_add(other.producers),
            burst: self.burst.max(other.burst),
            distance: self.distance.min(other.distance),
            since: self.since.max(other.since),
            jitter: self.jitter.max(other.jitter),
        }
    }
}

impl Stage {
    /// From a virtual release to the start of its message, at the latest.
    fn start(&self) -> Time {
        let unit = self.server.capacity / self.messages.max(1);
        self.response.saturating_sub(unit)
    }

    /// Returns whether a job may have been released just before a message arrived.
    const fn may_just_miss(&self, input: Stream) -> bool {
        self.clocked || input.producers > 1
    }

    /// Through a four-slot buffer. `None` where times overflow.
    #[must_use]
    pub fn four_slot(&self, input: Stream) -> Option<Passage> {
        let period = self.server.period;
        let joined = self.may_just_miss(input);
        let slow = period > input.distance;
        let extra = if joined { period } else { 0 };
        // Between two reads of one buffer lie at most this span and the messages that fall into it.
        let span = input.jitter.checked_add(self.start())?.checked_add(extra)?;
        let overwritten = span / input.distance;
        let by_jitter = Fraction::ratio(overwritten, overwritten.checked_add(1)?)?;
        let by_rate = Fraction::ratio(period.saturating_sub(input.distance), period)?;
        let waits = if joined || slow { period } else { 0 };
        Some(Passage {
            delay: self.response.checked_add(waits)?,
            loss: by_jitter.max(by_rate),
            keeps_up: true,
            waiting: 1,
            output: Stream {
                producers: 1,
                burst: 1,
                distance: if joined {
                    period
                } else {
                    period.max(input.distance)
                },
                since: if waits > 0 {
                    self.response
                } else {
                    input.since.checked_add(self.response)?
                },
                jitter: self.response,
            },
        })
    }

    /// Through a ring. `None` where times overflow.
    #[must_use]
    pub fn fifo(&self, input: Stream) -> Option<Passage> {
        let period = self.server.period;
        let joined = self.may_just_miss(input);
        let extra = if joined { period } else { 0 };
        let delay = self.response.checked_add(extra)?;
        let in_buffer = input.since.checked_add(self.start())?.checked_add(extra)?;
        let spans = (in_buffer / input.distance).checked_add(1)?;
        let taken = (self.messages / input.burst).checked_mul(input.distance)?;
        let output = if joined {
            Stream {
                producers: 1,
                burst: self.messages,
                distance: period,
                since: self.response,
                jitter: self.response,
            }
        } else {
            Stream {
                since: input.since.checked_add(self.response)?,
                jitter: self.response,
                ..input
            }
        };
        Some(Passage {
            delay,
            loss: Fraction(0),
            keeps_up: taken >= period,
            waiting: spans.checked_mul(input.burst)?,
            output,
        })
    }
}

impl Stream {
    /// Longest time through a server that handles one message in each `period` within `response`, for this stream and
    /// `sharers` − 1 others alike. Returns `None` if the stream is too fast: with
    /// other streams, two of its messages must never fall into one busy period.
    #[must_use]
    pub fn after_device(self, period: Time, sharers: u64, response: Time) -> Option<Time> {
        let ahead = sharers.checked_mul(self.burst)?;
        let busy = ahead.checked_mul(period)?;
        let slow_enough = match sharers {
            1 => busy <= self.distance,
            _ => busy.checked_add(self.since)? < self.distance,
        };
        let waits = (ahead - 1).checked_mul(period)?;
        slow_enough.then(|| waits.checked_add(response))?
    }
}

/// Messages that the buffer between two stages holds by the paper's rule:
/// 2·⌈m_c·T_c / (m_p·T_p)⌉ (003 §3.1.4); what can really wait is [`Passage::waiting`].
#[must_use]
pub fn buffer_by_rates(producer: (u64, Time), consumer: (u64, Time)) -> Option<u64> {
    let sent = producer.0.checked_mul(producer.1)?;
    let taken = consumer.0.checked_mul(consumer.1)?;
    if sent == 0 {
        return None;
    }
    taken.div_ceil(sent).checked_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(capacity: Time, period: Time, messages: u64, response: Time) -> Stage {
        Stage {
            server: Reservation::new(capacity, period).expect("valid"),
            messages,
            response,
            clocked: false,
        }
    }

    /// Pipelines 1 and 2 of paper 003, §4.2: buffers of 4, 2 and 4 messages.
    #[test]
    fn buffers_of_table_4() {
        assert_eq!(buffer_by_rates((1, 20), (1, 40)), Some(4));
        assert_eq!(buffer_by_rates((1, 40), (1, 40)), Some(2));
        assert_eq!(buffer_by_rates((1, 20), (1, 25)), Some(4));
    }

    #[test]
    fn a_stage_as_fast_as_its_input_costs_its_response() {
        let input = Stream::source(20, 3);
        let passage = stage(2, 20, 1, 5).four_slot(input).expect("fits");
        assert_eq!((passage.delay, passage.loss), (5, Fraction(0)));
        let passage = stage(2, 20, 1, 5).fifo(input).expect("fits");
        assert_eq!(
            (passage.delay, passage.keeps_up, passage.waiting),
            (5, true, 1)
        );
        assert_eq!(passage.output.since, 8);
    }

    /// Table 3: 2 ms feeds 2.5 ms, a loss of 20 %.
    #[test]
    fn a_slower_stage_loses_by_its_rate_and_waits_a_period() {
        let passage = stage(2, 25, 1, 5)
            .four_slot(Stream::source(20, 3))
            .expect("fits");
        assert_eq!(passage.delay, 30);
        assert_eq!(passage.loss, Fraction::ratio(5, 25).expect("valid"));
        assert_eq!(passage.output.distance, 25);
        assert!(
            !stage(2, 25, 1, 5)
                .fifo(Stream::source(20, 3))
                .expect("fits")
                .keeps_up
        );
    }

    #[test]
    fn lateness_alone_can_overwrite() {
        let passage = stage(2, 20, 1, 15)
            .four_slot(Stream::source(20, 10))
            .expect("fits");
        assert_eq!(passage.loss, Fraction::ratio(1, 2).expect("valid"));
    }

    #[test]
    fn a_reader_by_the_clock_waits_a_period() {
        let clocked = Stage {
            clocked: true,
            ..stage(2, 10, 1, 4)
        };
        let input = Stream::source(20, 3);
        let passage = clocked.four_slot(input).expect("fits");
        assert_eq!((passage.delay, passage.loss), (14, Fraction(0)));
        assert_eq!((passage.output.since, passage.output.distance), (4, 10));
        let passage = clocked.fifo(input).expect("fits");
        assert_eq!((passage.delay, passage.keeps_up), (14, true));
        assert_eq!((passage.output.burst, passage.output.distance), (1, 10));
    }

    #[test]
    fn a_join_waits_a_period() {
        let both = Stream::source(20, 1).beside(Stream::source(30, 3));
        let passage = stage(2, 10, 1, 4).four_slot(both).expect("fits");
        assert_eq!((passage.delay, passage.loss), (14, Fraction(0)));
        assert_eq!(passage.output.distance, 10);
    }
}
