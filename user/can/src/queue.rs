//! Frames on their way from the driver's thread to one client
//!
//! The driver's thread, which can preempt the client, only writes; the client only reads: each word
//! has one writer, and a place is written only while it is free.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};

/// Frames that wait at most: some ten milliseconds of a full bus.
const PLACES: usize = 32;

struct Place {
    words: [AtomicU64; 2],
    at: AtomicU64,
}

/// A queue.
pub struct Queue {
    open: AtomicBool,
    put: AtomicU64,
    taken: AtomicU64,
    places: [Place; PLACES],
}

impl Queue {
    /// Without a client.
    pub const fn new() -> Self {
        Self {
            open: AtomicBool::new(false),
            put: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            places: [const {
                Place {
                    words: [const { AtomicU64::new(0) }; 2],
                    at: AtomicU64::new(0),
                }
            }; PLACES],
        }
    }

    /// There is a client.
    pub fn open(&self) {
        self.open.store(true, Relaxed);
    }

    /// Appends a frame, by its words; `false` where there is no room and it is dropped.
    pub fn put(&self, words: [u64; 2], at: u64) -> bool {
        if !self.open.load(Relaxed) {
            return true;
        }
        let put = self.put.load(Relaxed);
        if put - self.taken.load(Acquire) == PLACES as u64 {
            return false;
        }
        let place = &self.places[put as usize % PLACES];
        for (word, value) in place.words.iter().zip(words) {
            word.store(value, Relaxed);
        }
        place.at.store(at, Relaxed);
        self.put.store(put + 1, Release);
        true
    }

    /// The oldest frame's words, and when it came.
    pub fn oldest(&self) -> Option<([u64; 2], u64)> {
        let taken = self.taken.load(Relaxed);
        if self.put.load(Acquire) == taken {
            return None;
        }
        let place = &self.places[taken as usize % PLACES];
        let words = [0, 1].map(|word: usize| place.words[word].load(Relaxed));
        Some((words, place.at.load(Relaxed)))
    }

    /// Removes the oldest frame; when it came, or 0.
    pub fn take(&self) -> u64 {
        let Some((_, at)) = self.oldest() else {
            return 0;
        };
        let taken = self.taken.load(Relaxed);
        self.taken.store(taken + 1, Release);
        at
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}
