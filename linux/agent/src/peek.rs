//! `bulkhead-agent peek CHANNEL`: shows the memory of a channel
//!
//! For debugging: prints the words that are not zero. A channel on demand is requested and
//! returned.

use crate::console::say;
use bulkhead_linux::{Error, Partition};

const WORD_BYTES: usize = 8;
/// Words that are shown.
const SHOWN: usize = 16;

/// Shows the first words of the channel `name` that are not zero.
pub(crate) fn peek(name: &str) -> Result<(), Error> {
    let memory = Partition::open()?.channel(name)?.copy();
    say(format_args!("{name}: {} bytes", memory.len()));
    let words = memory.as_chunks::<WORD_BYTES>().0.iter().enumerate();
    let words = words.map(|(index, bytes)| (index * WORD_BYTES, u64::from_ne_bytes(*bytes)));
    for (offset, word) in words.filter(|(_, word)| *word != 0).take(SHOWN) {
        say(format_args!("{name}: +{offset:#x} {word:#x}"));
    }
    Ok(())
}
