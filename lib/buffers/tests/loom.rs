//! Every interleaving and every allowed reordering of a few operations, by the model checker
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p bulkhead-buffers --test loom`
//!
//! Messages have two words, so that a torn one shows.
#![cfg(loom)]

use bulkhead_buffers::{AtomicU64, Error, Region, four_slot, mailbox, recorder, ring};
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

const BYTES: usize = 16;

fn message(number: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&number.to_ne_bytes());
    bytes[8..].copy_from_slice(&(!number).to_ne_bytes());
    bytes
}

fn number(bytes: &[u8]) -> u64 {
    let number = u64::from_ne_bytes(bytes[..8].try_into().expect("eight bytes"));
    assert_eq!(bytes, message(number), "torn message");
    number
}

/// Words of this execution; the model checker keeps its own state of each, so they must be new.
fn region(bytes: usize) -> Region<'static> {
    let words: Vec<_> = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
    Region::from_words(words.leak())
}

fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(check);
}

#[test]
fn four_slot_is_intact_and_fresh() {
    let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
    model(3, move || {
        let region = region(layout.bytes());
        let mut writer = four_slot::Writer::attach(region, &layout).expect("fits");
        let mut reader = four_slot::Reader::attach(region, &layout).expect("fits");
        writer.write(&message(1)).expect("length");
        let writes = thread::spawn(move || {
            for number in 2..=4 {
                writer.write(&message(number)).expect("length");
            }
        });
        let (mut bytes, mut last) = ([0; BYTES], 1);
        for _ in 0..2 {
            let freshness = reader.read(&mut bytes).expect("written");
            assert_eq!(number(&bytes), freshness.sequence);
            assert!(freshness.sequence >= last, "went back");
            last = freshness.sequence;
        }
        writes.join().expect("writer");
        assert_eq!(
            reader.read(&mut bytes).expect("written").sequence,
            4,
            "stale"
        );
    });
}

#[test]
fn four_slot_reader_may_restart_while_written() {
    let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
    model(3, move || {
        let region = region(layout.bytes());
        let mut writer = four_slot::Writer::attach(region, &layout).expect("fits");
        writer.write(&message(1)).expect("length");
        let writes = thread::spawn(move || {
            for number in 2..=3 {
                writer.write(&message(number)).expect("length");
            }
        });
        let mut bytes = [0; BYTES];
        for _ in 0..2 {
            let mut reader = four_slot::Reader::attach(region, &layout).expect("fits");
            let freshness = reader.read(&mut bytes).expect("written");
            assert_eq!(number(&bytes), freshness.sequence);
        }
        writes.join().expect("writer");
    });
}

#[test]
fn ring_loses_nothing() {
    for capacity in 1..=2 {
        let layout = ring::Layout::for_messages(BYTES, capacity).expect("layout");
        model(3, move || {
            let region = region(layout.bytes());
            let mut producer = ring::Producer::attach(region, &layout).expect("fits");
            let pushes = thread::spawn(move || {
                (1..=3)
                    .filter(|number| producer.try_push(&message(*number)).is_ok())
                    .collect()
            });
            let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
            let (mut bytes, mut popped) = ([0; BYTES], Vec::new());
            for _ in 0..3 {
                match consumer.try_pop(&mut bytes) {
                    Ok(()) => popped.push(number(&bytes)),
                    Err(error) => assert_eq!(error, Error::Empty),
                }
            }
            let pushed: Vec<u64> = pushes.join().expect("producer");
            while consumer.try_pop(&mut bytes).is_ok() {
                popped.push(number(&bytes));
            }
            assert_eq!(popped, pushed);
        });
    }
}

/// Data outside of a buffer, a word for each slot.
fn data(slots: usize) -> &'static [AtomicU64] {
    region(slots * 8).words()
}

#[test]
fn data_of_four_slots_stays_while_it_is_used() {
    let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
    model(3, move || {
        let (region, data) = (region(layout.bytes()), data(four_slot::SLOTS));
        let mut writer = four_slot::Writer::attach(region, &layout).expect("fits");
        let mut reader = four_slot::Reader::attach(region, &layout).expect("fits");
        let mut write = move |number| {
            data[writer.reserve()].store(number, Relaxed);
            writer.write(&message(number)).expect("length");
        };
        write(1);
        let writes = thread::spawn(move || (2..=4).for_each(write));
        let mut bytes = [0; BYTES];
        for _ in 0..2 {
            let freshness = reader.read(&mut bytes).expect("written");
            for _ in 0..2 {
                assert_eq!(data[freshness.slot].load(Relaxed), freshness.sequence);
            }
        }
        writes.join().expect("writer");
    });
}

#[test]
fn data_of_a_ring_stays_while_it_is_used() {
    let layout = ring::Layout::in_place(BYTES, 1).expect("layout");
    model(3, move || {
        let (region, data) = (region(layout.bytes()), data(layout.slots()));
        let mut producer = ring::Producer::attach(region, &layout).expect("fits");
        let pushes = thread::spawn(move || {
            let pushed = |number: &u64| {
                data[producer.slot()].store(*number, Relaxed);
                producer.try_push(&message(*number)).is_ok()
            };
            (1..=4).filter(pushed).count()
        });
        let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
        let (mut bytes, mut popped) = ([0; BYTES], 0);
        let mut pop = || {
            if consumer.try_pop(&mut bytes).is_ok() {
                for _ in 0..2 {
                    assert_eq!(data[consumer.slot()].load(Relaxed), number(&bytes));
                }
                popped += 1;
            }
        };
        (0..3).for_each(|_| pop());
        let pushed = pushes.join().expect("producer");
        (0..2).for_each(|_| pop());
        assert_eq!(popped, pushed);
    });
}

#[test]
fn mailbox_passes_the_floor() {
    let layout = mailbox::Layout::for_slot(BYTES).expect("layout");
    let over = mailbox::Flags {
        start: true,
        end: true,
        over: true,
    };
    model(3, move || {
        let region = region(layout.bytes());
        let attach = move |side| mailbox::Mailbox::attach(region, &layout, side).expect("fits");
        let mut first = attach(mailbox::Side::First);
        first
            .try_send(&message(1), over)
            .expect("the floor is ours");
        let answers = thread::spawn(move || {
            let mut second = attach(mailbox::Side::Second);
            let mut bytes = [0; BYTES];
            let part = second.try_receive(&mut bytes).expect("sent before");
            assert_eq!((part.length, number(&bytes)), (BYTES, 1));
            second
                .try_send(&message(2), over)
                .expect("the floor was passed");
        });
        let mut bytes = [0; BYTES];
        let early = first.try_send(&message(3), over);
        assert_eq!(
            early,
            Err(Error::Floor),
            "the floor is the peer's until received"
        );
        let got = first.try_receive(&mut bytes).map(|_| number(&bytes));
        assert!(matches!(got, Ok(2) | Err(Error::Empty)));
        answers.join().expect("answer");
        let late = first.try_receive(&mut bytes).map(|_| number(&bytes));
        assert!(got == Ok(2) || late == Ok(2));
        assert_eq!(first.try_send(&message(3), over), Ok(()));
    });
}

#[test]
fn mailbox_one_way_loses_nothing() {
    let layout = mailbox::Layout::for_slot(BYTES).expect("layout");
    let keep = mailbox::Flags {
        start: true,
        end: true,
        over: false,
    };
    model(3, move || {
        let region = region(layout.bytes());
        let attach = move |side| mailbox::Mailbox::attach(region, &layout, side).expect("fits");
        let mut first = attach(mailbox::Side::First);
        let sends = thread::spawn(move || {
            (1..=3)
                .filter(|number| first.try_send(&message(*number), keep).is_ok())
                .collect()
        });
        let mut second = attach(mailbox::Side::Second);
        let (mut bytes, mut received) = ([0; BYTES], Vec::new());
        for _ in 0..3 {
            if second.try_receive(&mut bytes).is_ok() {
                received.push(number(&bytes));
            }
        }
        let sent: Vec<u64> = sends.join().expect("sender");
        if second.try_receive(&mut bytes).is_ok() {
            received.push(number(&bytes));
        }
        assert_eq!(received, sent);
    });
}

#[test]
fn recorder_delivers_whole_records_or_counts_them() {
    let layout = recorder::records::Layout::for_records(BYTES, 2).expect("layout");
    model(3, move || {
        let region = region(layout.bytes());
        let mut writer = recorder::records::Writer::attach(region, &layout).expect("fits");
        let writes = thread::spawn(move || {
            for number in 0..4 {
                writer.write(&message(number)).expect("length");
            }
        });
        let mut reader = recorder::records::Reader::attach(region.view(), &layout).expect("fits");
        let mut next = reader.position();
        for _ in 0..2 {
            next = read_on(&mut reader, next);
        }
        writes.join().expect("writer");
        assert_eq!(read_on(&mut reader, next), 4);
    });
}

fn read_on(reader: &mut recorder::records::Reader<'_>, next: u64) -> u64 {
    let mut bytes = [0; 2 * BYTES];
    let got = reader.read(&mut bytes).expect("no nonsense");
    let first = next + got.lost;
    for (at, record) in (first..).zip(bytes.chunks_exact(BYTES)).take(got.count) {
        assert_eq!(number(record), at);
    }
    first + got.count as u64
}
