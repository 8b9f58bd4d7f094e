//! Answers to commands of components: what one thread prints meanwhile

use crate::runtime::CORE;
use bulkhead_abi::component::pipes::ANSWER_BYTES;
use bulkhead_abi::kernel::MAX_COMPONENTS;
use bulkhead_slite::Mutex;
use core::fmt::{self, Write};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

struct Answer {
    bytes: [u8; ANSWER_BYTES],
    length: usize,
}

/// By number of the component.
static ANSWERS: [Mutex<Answer>; MAX_COMPONENTS] = [const {
    Mutex::new(Answer {
        bytes: [0; ANSWER_BYTES],
        length: 0,
    })
}; MAX_COMPONENTS];
/// Number of the component that is answered.
static CLIENT: AtomicU64 = AtomicU64::new(0);
/// Index of the thread that prints the answer; 0: none.
static SPEAKER: AtomicU64 = AtomicU64::new(0);

impl Write for Answer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let places = self.bytes.iter_mut().skip(self.length);
        for (place, byte) in places.zip(text.bytes()) {
            *place = byte;
            self.length += 1;
        }
        Ok(())
    }
}

/// Begins the answer to a component: the lines of that thread.
pub(crate) fn begin(client: usize, thread: u64) {
    CLIENT.store(client as u64, Relaxed);
    if let Some(answer) = ANSWERS.get(client) {
        let _emptied = answer.with(&CORE.threads, |answer| {
            (answer.bytes, answer.length) = ([0; ANSWER_BYTES], 0);
        });
    }
    follow(thread);
}

/// The lines of that thread are the answer from now on; 0: it is complete.
pub(crate) fn follow(thread: u64) {
    SPEAKER.store(thread, Relaxed);
}

/// Keeps a line that the calling thread prints, if it belongs to the answer.
pub(crate) fn keep(text: fmt::Arguments<'_>) {
    let speaker = SPEAKER.load(Relaxed);
    if speaker != 0 && speaker == CORE.threads.current() {
        let answer = &ANSWERS[CLIENT.load(Relaxed) as usize % MAX_COMPONENTS];
        let _written = answer.with(&CORE.threads, |answer| writeln!(answer, "{text}"));
    }
}

/// Eight bytes of the answer to a component from a place on.
pub(crate) fn eight_of(client: u64, from: u64) -> u64 {
    let answer = ANSWERS.get(client as usize);
    let word = answer.and_then(|answer| {
        let word = answer.with(&CORE.threads, |answer| eight(&answer.bytes, from));
        word.ok()
    });
    word.unwrap_or(0)
}

/// Eight bytes from a place on, with zeros behind the end.
pub(crate) fn eight(bytes: &[u8], from: u64) -> u64 {
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let rest = bytes.get(from..).unwrap_or_default();
    let mut word = [0; 8];
    for (place, byte) in word.iter_mut().zip(rest) {
        *place = *byte;
    }
    u64::from_le_bytes(word)
}
