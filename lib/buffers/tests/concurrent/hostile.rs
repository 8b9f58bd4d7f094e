//! A hostile peer rewrites every word at random, all the time
//!
//! The region lies between guard pages and ends at one, so a stray access kills the test; a
//! watchdog of operations done, not of time, shows that nothing hangs. What is read may be
//! nonsense, but its length, its count and its error are those of the interface.

use crate::End;
use crate::memory;
use bulkhead_buffers::{AtomicU64, Error, four_slot, mailbox, recorder, ring};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const OPERATIONS: usize = 100_000;
/// No multiple of a word, so that every copy has a tail.
const BYTES: usize = 61;

/// Marsaglia's xorshift generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Nonsense of the kinds that matter: anything, small, near the ends, one bit.
    fn nonsense(&mut self) -> u64 {
        let value = self.next();
        match value % 5 {
            0 => value,
            1 => value >> 56,
            2 => !(value >> 56),
            3 => 1 << (value >> 58),
            _ => (1 << 62) - (value >> 60),
        }
    }
}

/// Run `operation` while a second thread scribbles all over `words`.
fn under_attack(words: &[AtomicU64], mut operation: impl FnMut(&mut Random)) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random(0x1234_5678_9abc_def1);
            while !over.load(Ordering::Relaxed) {
                for word in words.iter().take(24) {
                    word.store(random.nonsense(), Ordering::Relaxed);
                }
                let any = random.next() as usize % words.len();
                words[any].store(random.nonsense(), Ordering::Relaxed);
            }
        });
        let _end = End(&over);
        let mut random = Random(0xfeed_beef_dead_c0de);
        (0..OPERATIONS).for_each(|_| operation(&mut random));
    });
}

fn only<T>(result: Result<T, Error>, allowed: &[Error]) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(allowed.contains(&error), "{error:?}");
            None
        }
    }
}

#[test]
fn four_slot_survives() {
    let _turn = crate::alone();
    let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
    let (region, words) = memory::guarded_words(layout.bytes());
    let mut writer = four_slot::Writer::attach(region, &layout).expect("fits");
    let mut reader = four_slot::Reader::attach(region, &layout).expect("fits");
    let (mut bytes, mut written) = ([0; BYTES], writer.sequence());
    under_attack(words, |random| {
        only(reader.read(&mut bytes), &[Error::Empty]);
        written += 1;
        assert_eq!(
            writer.write(&bytes),
            Ok(written),
            "the writer's count is its own"
        );
        if random.next() % 64 == 0 {
            reader = four_slot::Reader::attach(region, &layout).expect("fits");
            writer = four_slot::Writer::attach(region, &layout).expect("fits");
            written = writer.sequence();
        }
    });
}

#[test]
fn ring_survives() {
    let _turn = crate::alone();
    let layout = ring::Layout::for_messages(BYTES, 7).expect("layout");
    let (region, words) = memory::guarded_words(layout.bytes());
    let mut producer = ring::Producer::attach(region, &layout).expect("fits");
    let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
    let mut bytes = [0; 10 * BYTES];
    under_attack(words, |random| {
        let (pushed, full) = (producer.pushed(), [Error::Full, Error::Corrupt]);
        let done = only(producer.try_push(&bytes[..BYTES]), &full).map_or(0, |()| 1);
        assert_eq!(
            producer.pushed(),
            pushed.wrapping_add(done),
            "the cursor is its own"
        );
        let batch = only(producer.try_push_batch(&bytes), &full);
        assert!(batch.unwrap_or(0) <= 7);
        only(
            consumer.try_pop(&mut bytes[..BYTES]),
            &[Error::Empty, Error::Corrupt],
        );
        let batch = only(
            consumer.try_pop_batch(&mut bytes),
            &[Error::Empty, Error::Corrupt],
        );
        assert!(batch.unwrap_or(0) <= 7);
        if random.next() % 64 == 0 {
            producer = ring::Producer::attach(region, &layout).expect("fits");
            consumer = ring::Consumer::attach(region, &layout).expect("fits");
        }
    });
}

#[test]
fn mailbox_survives() {
    let _turn = crate::alone();
    let layout = mailbox::Layout::for_slot(BYTES).expect("layout");
    let (region, words) = memory::guarded_words(layout.bytes());
    let attach = |side| mailbox::Mailbox::attach(region, &layout, side).expect("fits");
    let mut ends = [attach(mailbox::Side::First), attach(mailbox::Side::Second)];
    let mut bytes = [0; BYTES];
    let mut buffer = [0; 5 * BYTES];
    let mut incoming = mailbox::Incoming::new(&mut buffer);
    under_attack(words, |random| {
        for end in &mut ends {
            let over = random.next() % 2 == 0;
            let flags = mailbox::Flags {
                start: true,
                end: over,
                over,
            };
            only(end.try_send(&bytes, flags), &[Error::Full, Error::Floor]);
            let part = only(end.try_receive(&mut bytes), &[Error::Empty, Error::Corrupt]);
            assert!(part.is_none_or(|part| part.length <= BYTES));
            let allowed = [Error::Empty, Error::Corrupt, Error::Length];
            let whole = only(incoming.advance(end), &allowed).flatten();
            assert!(whole.is_none_or(|whole| whole.message.len() <= 5 * BYTES));
        }
        if random.next() % 64 == 0 {
            ends = [attach(mailbox::Side::First), attach(mailbox::Side::Second)];
        }
    });
}

#[test]
fn records_survive() {
    let _turn = crate::alone();
    let layout = recorder::records::Layout::for_records(BYTES, 7).expect("layout");
    let (region, words) = memory::guarded_words(layout.bytes());
    let mut writer = recorder::records::Writer::attach(region, &layout).expect("fits");
    let mut reader = recorder::records::Reader::attach(region.view(), &layout).expect("fits");
    let mut bytes = [0; 10 * BYTES];
    under_attack(words, |random| {
        assert_eq!(writer.write(&bytes[..BYTES]), Ok(()));
        let got = only(reader.read(&mut bytes), &[Error::Corrupt]);
        assert!(got.is_none_or(|got| got.count <= 7));
        if random.next() % 64 == 0 {
            writer = recorder::records::Writer::attach(region, &layout).expect("fits");
            reader.seek(random.nonsense());
        }
    });
}

#[test]
fn stream_survives() {
    let _turn = crate::alone();
    let layout = recorder::stream::Layout::for_bytes(200).expect("layout");
    let (region, words) = memory::guarded_words(layout.bytes());
    let mut writer = recorder::stream::Writer::attach(region, &layout).expect("fits");
    let mut reader = recorder::stream::Reader::attach(region.view(), &layout).expect("fits");
    let mut bytes = [0; 500];
    under_attack(words, |random| {
        writer.write(&bytes[..random.next() as usize % 500]);
        let got = only(reader.read(&mut bytes), &[Error::Corrupt]);
        assert!(got.is_none_or(|got| got.count <= 200));
        if random.next() % 64 == 0 {
            writer = recorder::stream::Writer::attach(region, &layout).expect("fits");
            reader.seek(random.nonsense());
        }
    });
}
