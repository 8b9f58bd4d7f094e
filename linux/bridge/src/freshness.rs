//! How old the newest message of another machine is
//!
//! Only this machine's clock is read: a message is as old as was said when it came, and what has passed since. The network's
//! share is not in it.

use crate::Attachment;
use std::time::{Duration, Instant};

/// Relation of a message to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A new message; the given number before it are missing.
    New {
        /// Numbers that never came.
        missed: u64,
    },
    /// The one that came last, again: only its age is new.
    Again,
}

/// Last message and its time.
pub struct Watch {
    max_age: Option<Duration>,
    last: Option<Attachment>,
    /// The moment from which its age counts: a bound from below on when it was written, as far as is known.
    written: Option<Instant>,
    /// Since when it listens.
    began: Instant,
    /// When it fell back last, while nothing fresh came.
    fell_back: Option<Instant>,
}

impl Watch {
    /// Nothing was heard yet at `now`.
    #[must_use]
    pub fn new(max_age: Option<Duration>, now: Instant) -> Self {
        Self {
            max_age,
            last: None,
            written: None,
            began: now,
            fell_back: None,
        }
    }

    /// Notes a message that came.
    pub fn hear(&mut self, attachment: Attachment, now: Instant) -> Arrival {
        let arrival = match self.last {
            Some(last) if last.start == attachment.start => {
                match attachment.number.checked_sub(last.number) {
                    Some(0) => Arrival::Again,
                    Some(ahead) => Arrival::New { missed: ahead - 1 },
                    None => Arrival::New { missed: 0 },
                }
            }
            _ => Arrival::New { missed: 0 },
        };
        self.last = Some(attachment);
        self.written = attachment.age.and_then(|age| now.checked_sub(age));
        arrival
    }

    /// Age of the last message; `None` without a message or with an unknown age.
    #[must_use]
    pub fn age(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_duration_since(self.written?))
    }

    /// Returns true if the last message is too old, or silence lasted as long.
    #[must_use]
    pub fn is_stale(&self, now: Instant) -> bool {
        let Some(max_age) = self.max_age else {
            return false;
        };
        match (self.last, self.age(now)) {
            (Some(_), age) => age.is_none_or(|age| age > max_age),
            (None, _) => now.saturating_duration_since(self.began) > max_age,
        }
    }

    /// Returns true if the fallback replaces the value now: at once when the value is too old, then once per `max_age`.
    pub fn falls_back(&mut self, now: Instant) -> bool {
        let passed = |at: Instant| Some(now.saturating_duration_since(at)) > self.max_age;
        let due = self.is_stale(now) && self.fell_back.is_none_or(passed);
        if due {
            self.fell_back = Some(now);
        }
        due
    }

    /// Returns true from a fallback until the next fresh message.
    #[must_use]
    pub fn has_fallen_back(&self) -> bool {
        self.fell_back.is_some()
    }

    /// Returns true at the first fresh message after a fallback.
    pub fn goes_on(&mut self, now: Instant) -> bool {
        !self.is_stale(now) && self.fell_back.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Watch};
    use crate::Attachment;
    use std::time::{Duration, Instant};

    const MS: Duration = Duration::from_millis(1);

    fn message(start: u64, number: u64, age: Duration) -> Attachment {
        Attachment {
            start,
            number,
            age: Some(age),
        }
    }

    #[test]
    fn gaps_are_counted_within_a_start() {
        let now = Instant::now();
        let mut watch = Watch::new(None, now);
        let mut hear = |start, number| watch.hear(message(start, number, MS), now);
        assert_eq!(
            hear(1, 7),
            Arrival::New { missed: 0 },
            "who joins has missed nothing"
        );
        assert_eq!(hear(1, 8), Arrival::New { missed: 0 });
        assert_eq!(hear(1, 8), Arrival::Again);
        assert_eq!(hear(1, 12), Arrival::New { missed: 3 });
        assert_eq!(
            hear(1, 3),
            Arrival::New { missed: 0 },
            "its channel began anew"
        );
        assert_eq!(hear(2, 3), Arrival::New { missed: 0 }, "another start");
        assert!(
            !watch.is_stale(now + 1000 * MS),
            "without a limit nothing is"
        );
    }

    #[test]
    fn age_is_what_was_said_and_what_passed() {
        let now = Instant::now() + 1000 * MS;
        let mut watch = Watch::new(Some(100 * MS), now);
        watch.hear(message(1, 1, 40 * MS), now);
        assert_eq!(watch.age(now + 20 * MS), Some(60 * MS));
        assert!(!watch.is_stale(now + 60 * MS) && watch.is_stale(now + 61 * MS));
        let unknown = Attachment {
            start: 1,
            number: 2,
            age: None,
        };
        watch.hear(unknown, now);
        assert!(watch.is_stale(now) && watch.age(now).is_none());
    }

    #[test]
    fn it_falls_back_once_in_each_age_and_goes_on() {
        let now = Instant::now() + 1000 * MS;
        let mut watch = Watch::new(Some(100 * MS), now);
        assert!(!watch.falls_back(now + 100 * MS) && !watch.goes_on(now + 100 * MS));
        assert!(watch.falls_back(now + 101 * MS) && !watch.falls_back(now + 150 * MS));
        assert!(!watch.goes_on(now + 150 * MS), "nobody was heard");
        assert!(watch.falls_back(now + 202 * MS));
        watch.hear(message(1, 1, MS), now + 210 * MS);
        assert!(watch.goes_on(now + 210 * MS) && !watch.goes_on(now + 210 * MS));
        watch.hear(message(1, 1, 150 * MS), now + 300 * MS);
        assert!(
            watch.falls_back(now + 300 * MS),
            "who repeats what is old is heard, and stale"
        );
    }
}
