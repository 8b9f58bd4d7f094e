//! Counters of sent, received and lost messages
//!
//! The thread of each endpoint counts, another thread prints. A line equal to the last printed one is left out.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Declares the counts of an endpoint with what each is called.
macro_rules! counts {
    ($(#[$of:meta])* $name:ident { $($(#[$what:meta])* $field:ident: $said:literal,)* }) => {
        $(#[$of])*
        #[derive(Debug, Default)]
        pub(crate) struct $name {
            $($(#[$what])* pub(crate) $field: AtomicU64,)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let all = [$((self.$field.load(Relaxed), $said),)*];
                for (index, (count, said)) in all.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{count} {said}")?;
                }
                Ok(())
            }
        }
    };
}

counts! {
    /// Of an endpoint that is published.
    Exported {
        /// Messages.
        sent: "sent",
        /// Of them, the newest once more, with its age.
        repeated: "repeated",
        /// Refused by Zenoh.
        refused: "not taken by Zenoh",
        /// Nonsense in the channel.
        nonsense: "damaged in the channel",
    }
}

counts! {
    /// Of an endpoint of another machine.
    Imported {
        /// Messages written into the channel.
        taken: "taken",
        /// By their numbers, messages that were sent and did not come.
        missed: "missed",
        /// Of another length, without number and age, or no value at all.
        refused: "refused",
        /// For which the channel had no room, or that came too close together for the stage that reads it.
        dropped: "dropped",
        /// Times that the fallback took their place.
        fallbacks: "fallbacks",
    }
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// A line of the program, whole.
pub(crate) fn say(text: fmt::Arguments<'_>) {
    println!("bridge: {text}");
}

#[cfg(test)]
mod tests {
    use super::{Imported, count};

    #[test]
    fn a_count_says_itself() {
        let counts = Imported::default();
        count(&counts.taken);
        assert_eq!(
            counts.to_string(),
            "1 taken, 0 missed, 0 refused, 0 dropped, 0 fallbacks"
        );
    }
}
