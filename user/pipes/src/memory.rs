//! Memory of the buffers between stages

use bulkhead_buffers::Region;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Words of all buffers.
const WORDS: usize = 8192;

/// Buffers begin with a cache line.
#[repr(align(64))]
struct Arena([AtomicU64; WORDS]);

static ARENA: Arena = Arena([const { AtomicU64::new(0) }; WORDS]);
/// Words that are given away.
static USED: AtomicU64 = AtomicU64::new(0);

/// So many bytes that nobody else has; nothing where there is no room.
pub(crate) fn take(bytes: usize) -> Option<Region<'static>> {
    let words = bytes.div_ceil(64) * 8;
    let from = USED.fetch_add(words as u64, Relaxed) as usize;
    Some(Region::from_words(ARENA.0.get(from..from + words)?))
}
