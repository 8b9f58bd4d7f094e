//! Every kind against a plain model, with restarts, cut-off writes and nonsense in between
#![cfg(not(loom))]

use bulkhead_buffers::recorder::{records, stream};
use bulkhead_buffers::{AtomicU64, Error, Region, four_slot, mailbox, ring};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 4 } else { 500 };
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn words(bytes: usize) -> Vec<AtomicU64> {
    (0..bytes / 8).map(|_| AtomicU64::new(0)).collect()
}

/// A message of `bytes` bytes that depends on its number.
fn message(number: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|at| (number.wrapping_mul(0x9e37_79b9) >> (at % 24) ^ at) as u8)
        .collect()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    In(usize),
    Out(usize),
    CutOff,
    RestartIn,
    RestartOut,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..20_usize).prop_map(Step::In),
        4 => (1..20_usize).prop_map(Step::Out),
        1 => Just(Step::CutOff),
        1 => Just(Step::RestartIn),
        1 => Just(Step::RestartOut),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn four_slot_gives_the_newest(steps in steps(), bytes in 1..150_usize) {
        let layout = four_slot::Layout::for_messages(bytes).unwrap();
        let words = words(layout.bytes());
        let region = Region::from_words(&words);
        let mut writer = four_slot::Writer::attach(region, &layout).unwrap();
        let mut reader = four_slot::Reader::attach(region, &layout).unwrap();
        let (mut written, mut last, mut got) = (0, 0, vec![0; bytes]);
        for step in steps {
            match step {
                Step::In(count) => for _ in 0..count {
                    written += 1;
                    prop_assert_eq!(writer.write(&message(written, bytes)), Ok(written));
                },
                Step::Out(_) if written == 0 => {
                    prop_assert_eq!(reader.read(&mut got), Err(Error::Empty));
                }
                Step::Out(_) => {
                    let freshness = reader.read(&mut got).unwrap();
                    prop_assert_eq!(freshness.sequence, written);
                    prop_assert_eq!(freshness.advanced, written - last);
                    prop_assert_eq!(&got, &message(written, bytes));
                    last = written;
                }
                Step::CutOff => scribble_next_slot(&words, bytes),
                Step::RestartIn => {
                    writer = four_slot::Writer::attach(region, &layout).unwrap();
                    let own = if written == 0 { Err(Error::Empty) } else { Ok(written) };
                    prop_assert_eq!(writer.newest(&mut got), own);
                    prop_assert!(written == 0 || got == message(written, bytes));
                }
                Step::RestartOut => {
                    reader = four_slot::Reader::attach(region, &layout).unwrap();
                    last = 0;
                }
            }
        }
    }

    #[test]
    fn ring_is_a_queue(steps in steps(), bytes in 1..40_usize, capacity in 1..10_usize) {
        let layout = ring::Layout::for_messages(bytes, capacity).unwrap();
        let words = words(layout.bytes());
        let region = Region::from_words(&words);
        let mut producer = ring::Producer::attach(region, &layout).unwrap();
        let mut consumer = ring::Consumer::attach(region, &layout).unwrap();
        let (mut queue, mut next) = (VecDeque::new(), 0);
        for step in steps {
            match step {
                Step::In(1) => {
                    let expected = if queue.len() < capacity { Ok(()) } else { Err(Error::Full) };
                    prop_assert_eq!(producer.try_push(&message(next, bytes)), expected);
                    if expected.is_ok() { queue.push_back(next); next += 1; }
                }
                Step::In(wanted) => {
                    let count = wanted.min(capacity - queue.len());
                    let batch: Vec<u8> =
                        (next..next + wanted as u64).flat_map(|n| message(n, bytes)).collect();
                    let expected = if count == 0 { Err(Error::Full) } else { Ok(count) };
                    prop_assert_eq!(producer.try_push_batch(&batch), expected);
                    for _ in 0..count { queue.push_back(next); next += 1; }
                }
                Step::Out(1) => {
                    let mut got = vec![0; bytes];
                    let expected = queue.pop_front();
                    let popped = consumer.try_pop(&mut got);
                    prop_assert_eq!(popped, expected.map(|_| ()).ok_or(Error::Empty));
                    if let Some(number) = expected { prop_assert_eq!(got, message(number, bytes)); }
                }
                Step::Out(wanted) => {
                    let mut got = vec![0; wanted * bytes];
                    let count = wanted.min(queue.len());
                    let expected = if count == 0 { Err(Error::Empty) } else { Ok(count) };
                    prop_assert_eq!(consumer.try_pop_batch(&mut got), expected);
                    let all: Vec<u8> = queue.drain(..count).flat_map(|n| message(n, bytes)).collect();
                    prop_assert_eq!(&got[..count * bytes], &all[..]);
                }
                Step::CutOff => if queue.len() < capacity {
                    let at = 16 + next as usize % capacity * bytes.div_ceil(8);
                    words[at].store(u64::MAX, Relaxed);
                },
                Step::RestartIn => producer = ring::Producer::attach(region, &layout).unwrap(),
                Step::RestartOut => consumer = ring::Consumer::attach(region, &layout).unwrap(),
            }
            prop_assert_eq!(producer.pushed(), next);
            prop_assert_eq!(consumer.popped(), next - queue.len() as u64);
        }
    }

    #[test]
    fn ring_ends_agree_again_after_nonsense(
        tail in nonsense(), head in nonsense(), capacity in 1..10_usize,
        producer_restarts: bool, consumer_restarts: bool, before in 0..20_u64,
    ) {
        let layout = ring::Layout::for_messages(8, capacity).unwrap();
        let words = words(layout.bytes());
        let region = Region::from_words(&words);
        let mut producer = ring::Producer::attach(region, &layout).unwrap();
        let mut consumer = ring::Consumer::attach(region, &layout).unwrap();
        for number in 0..before {
            producer.try_push(&number.to_ne_bytes()).unwrap();
            consumer.try_pop(&mut [0; 8]).unwrap();
        }
        words[0].store(tail, Relaxed);
        words[8].store(head, Relaxed);
        if producer_restarts { producer = ring::Producer::attach(region, &layout).unwrap(); }
        if consumer_restarts { consumer = ring::Consumer::attach(region, &layout).unwrap(); }
        let mut got = [0; 8];
        for _ in 0..4 * capacity {
            let _ = producer.try_push(&[0; 8]);
            let _ = consumer.try_pop(&mut got);
        }
        while consumer.try_pop(&mut got).is_ok() {}
        for number in 0..3 * capacity as u64 {
            prop_assert_eq!(producer.try_push(&number.to_ne_bytes()), Ok(()));
            prop_assert_eq!(consumer.try_pop(&mut got), Ok(()));
            prop_assert_eq!(u64::from_ne_bytes(got), number);
        }
    }

    #[test]
    fn mailbox_ends_agree_again_after_nonsense(
        posted in [nonsense(), nonsense()], taken in [nonsense(), nonsense()], length in nonsense(),
        restarts: [bool; 2], rounds in 0..4_usize,
    ) {
        let layout = mailbox::Layout::for_slot(24).unwrap();
        let words = words(layout.bytes());
        let region = Region::from_words(&words);
        let attach = |side| mailbox::Mailbox::attach(region, &layout, side).unwrap();
        let mut ends = [attach(mailbox::Side::First), attach(mailbox::Side::Second)];
        for _ in 0..rounds { converse(&mut ends); }
        for side in 0..2 {
            words[8 * side].store(posted[side], Relaxed);
            words[8 * side + 1].store(length, Relaxed);
            words[8 * side + 2].store(taken[side], Relaxed);
        }
        if restarts[0] { ends[0] = attach(mailbox::Side::First); }
        if restarts[1] { ends[1] = attach(mailbox::Side::Second); }
        for _ in 0..8 { converse(&mut ends); }
        for end in &mut ends {
            let _ = end.try_receive(&mut [0; 24]);
        }
        for _ in 0..6 {
            prop_assert!(ends[0].holds_floor() ^ ends[1].holds_floor());
            let (from, to) = if ends[0].holds_floor() { (0, 1) } else { (1, 0) };
            prop_assert_eq!(ends[from].try_send(b"hello", OVER), Ok(()));
            let mut got = [0; 24];
            let part = mailbox::Part { length: 5, flags: OVER };
            prop_assert_eq!(ends[to].try_receive(&mut got), Ok(part));
            prop_assert_eq!(&got[..5], b"hello");
        }
    }

    #[test]
    fn a_one_way_mailbox_works_again_after_its_sender_wrote_nonsense(
        posted in nonsense(), taken in [nonsense(), nonsense()], before in 0..4_usize,
    ) {
        let layout = mailbox::Layout::for_slot(24).unwrap();
        let words = words(layout.bytes());
        let region = Region::from_words(&words);
        let attach = |side| mailbox::Mailbox::attach(region, &layout, side).unwrap();
        let (mut sender, mut receiver) = (attach(mailbox::Side::First), attach(mailbox::Side::Second));
        let keep = mailbox::Flags { over: false, ..OVER };
        let mut got = [0; 24];
        for _ in 0..before {
            sender.try_send(b"before", keep).unwrap();
            receiver.try_receive(&mut got).unwrap();
        }
        // The flag would pass the floor to an end that never sends.
        words[0].store(posted & !4, Relaxed);
        words[2].store(taken[0], Relaxed);
        words[10].store(taken[1], Relaxed);
        sender = attach(mailbox::Side::First);
        for _ in 0..8 {
            let _ = receiver.try_receive(&mut got);
            if sender.try_send(b"again", keep) == Err(Error::Floor) {
                let _ = sender.discard();
            }
        }
        let _ = receiver.try_receive(&mut got);
        prop_assert_eq!(sender.try_send(b"hello", keep), Ok(()));
        prop_assert!(receiver.try_receive(&mut got).is_ok());
        prop_assert_eq!(&got[..5], b"hello");
    }

    #[test]
    fn transactions_arrive_whole(
        lengths in prop::collection::vec(0..100_usize, 1..8), slot in 1..30_usize, cut in 0..200_usize,
    ) {
        let layout = mailbox::Layout::for_slot(slot).unwrap();
        let words = words(layout.bytes());
        let region = Region::from_words(&words);
        let mut sender = mailbox::Mailbox::attach(region, &layout, mailbox::Side::First).unwrap();
        let mut receiver = mailbox::Mailbox::attach(region, &layout, mailbox::Side::Second).unwrap();
        let mut buffer = [0; 80];
        let mut incoming = mailbox::Incoming::new(&mut buffer);
        let mut parts = 0;
        for (number, length) in (0..).zip(lengths) {
            let bytes = message(number, length);
            let mut outgoing = mailbox::Outgoing::new(&bytes, false);
            let mut arrived = None;
            let mut refused = false;
            loop {
                parts += 1;
                if parts == cut {
                    sender = mailbox::Mailbox::attach(region, &layout, mailbox::Side::First).unwrap();
                    outgoing = mailbox::Outgoing::new(&bytes, false);
                    refused = false;
                }
                let last = outgoing.advance(&mut sender).unwrap();
                prop_assert_eq!(sender.try_send(b"", OVER), Err(Error::Full));
                match incoming.advance(&mut receiver) {
                    Ok(whole) => arrived = whole.map(|whole| whole.message.to_vec()),
                    Err(error) => { prop_assert_eq!(error, Error::Length); refused = true; }
                }
                if last { break; }
            }
            prop_assert_eq!(refused, length > 80);
            prop_assert_eq!(arrived, (length <= 80).then_some(bytes));
        }
    }

    #[test]
    fn records_keep_the_newest(steps in steps(), bytes in 1..40_usize, capacity in 1..10_usize) {
        let layout = records::Layout::for_records(bytes, capacity).unwrap();
        let words = words(layout.bytes());
        let region = Region::from_words(&words);
        let mut writer = records::Writer::attach(region, &layout).unwrap();
        let mut reader = records::Reader::attach(region.view(), &layout).unwrap();
        let (mut written, mut valid_from) = (0_u64, 0_u64);
        for step in steps {
            match step {
                Step::In(count) => for _ in 0..count {
                    writer.write(&message(written, bytes)).unwrap();
                    written += 1;
                    valid_from = valid_from.max(written.saturating_sub(capacity as u64));
                },
                Step::Out(room) => {
                    let (mut got, cursor) = (vec![0; room * bytes], reader.position());
                    let read = reader.read(&mut got).unwrap();
                    let first = cursor + read.lost;
                    prop_assert!(read.lost == 0 || first == valid_from || read.count == 0);
                    prop_assert!(read.count == 0 || first >= valid_from);
                    for (number, record) in (first..).zip(got.chunks(bytes)).take(read.count) {
                        prop_assert_eq!(record, &message(number, bytes)[..]);
                    }
                    prop_assert_eq!(reader.position(), first + read.count as u64);
                }
                Step::CutOff => {
                    words[0].store((written + 1).max(words[0].load(Relaxed)), Relaxed);
                    words[8 + written as usize % capacity * bytes.div_ceil(8)].store(!0, Relaxed);
                    valid_from = valid_from.max((written + 1).saturating_sub(capacity as u64));
                    writer = records::Writer::attach(region, &layout).unwrap();
                }
                Step::RestartIn => writer = records::Writer::attach(region, &layout).unwrap(),
                Step::RestartOut => {
                    let position = reader.position();
                    reader = records::Reader::attach(region.view(), &layout).unwrap();
                    reader.seek(position);
                }
            }
        }
        prop_assert_eq!(writer.written(), written);
        let mut rest = vec![0; (capacity + 1) * bytes];
        let (cursor, read) = (reader.position(), reader.read(&mut rest).unwrap());
        prop_assert_eq!(cursor + read.lost + read.count as u64, written);
        prop_assert_eq!(written - read.count as u64, cursor.max(valid_from.min(written)));
    }

    #[test]
    fn stream_keeps_the_newest(steps in steps(), capacity in 1..60_usize) {
        let layout = stream::Layout::for_bytes(capacity).unwrap();
        let words = words(layout.bytes());
        let region = Region::from_words(&words);
        let mut writer = stream::Writer::attach(region, &layout).unwrap();
        let mut reader = stream::Reader::attach(region.view(), &layout).unwrap();
        let mut all = Vec::new();
        for step in steps {
            match step {
                Step::In(count) => {
                    let text = message(all.len() as u64, 3 * count);
                    writer.write(&text);
                    all.extend_from_slice(&text);
                }
                Step::Out(room) => {
                    let (mut got, cursor) = (vec![0; 3 * room], reader.position() as usize);
                    let read = reader.read(&mut got).unwrap();
                    let first = cursor + read.lost as usize;
                    prop_assert_eq!(first, cursor.max(all.len().saturating_sub(layout.capacity())));
                    prop_assert_eq!(&got[..read.count], &all[first..first + read.count]);
                    prop_assert!(read.count == 3 * room || first + read.count == all.len());
                }
                Step::CutOff | Step::RestartIn => {
                    writer = stream::Writer::attach(region, &layout).unwrap();
                }
                Step::RestartOut => {
                    let position = reader.position();
                    reader = stream::Reader::attach(region.view(), &layout).unwrap();
                    reader.seek(position);
                }
            }
            prop_assert_eq!(writer.written(), all.len() as u64);
        }
    }
}

/// Simulates a writer that dies in a write: garbage in the slot it had chosen.
fn scribble_next_slot(words: &[AtomicU64], bytes: usize) {
    let pair = words[8].load(Relaxed) & 1 ^ 1;
    let slot = words[0].load(Relaxed) >> pair & 1 ^ 1;
    let index = (2 * pair + slot) as usize;
    words[1 + index].store(u64::MAX, Relaxed);
    words[16 + index * bytes.div_ceil(64) * 8].store(u64::MAX, Relaxed);
}

/// Values near the boundaries and anything else.
fn nonsense() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..20_u64,
        (0..20_u64).prop_map(|low| !low),
        (0..40_u64).prop_map(|low| (1 << 62) - 20 + low),
        (any::<u8>(), 0..8_u64)
            .prop_map(|(low, eighth)| (eighth << 61).wrapping_add(low.into()).wrapping_sub(128)),
    ]
}

const OVER: mailbox::Flags = mailbox::Flags {
    start: true,
    end: true,
    over: true,
};

/// Each end receives what there is, and sends and passes the floor if it has it.
fn converse(ends: &mut [mailbox::Mailbox<'_>; 2]) {
    for end in ends {
        let _ = end.try_receive(&mut [0; 24]);
        let _ = end.try_send(b"again", OVER);
    }
}

#[test]
fn wrong_shapes_are_refused() {
    use bulkhead_buffers::{AttachError, LayoutError};
    assert_eq!(four_slot::Layout::for_messages(0), Err(LayoutError::Zero));
    assert_eq!(
        four_slot::Layout::for_messages(usize::MAX),
        Err(LayoutError::TooLarge)
    );
    assert_eq!(ring::Layout::for_messages(8, 0), Err(LayoutError::Zero));
    assert_eq!(
        ring::Layout::for_messages(8, usize::MAX),
        Err(LayoutError::TooLarge)
    );
    assert_eq!(mailbox::Layout::for_slot(0), Err(LayoutError::Zero));
    assert_eq!(
        mailbox::Layout::for_slot((1 << 24) + 1),
        Err(LayoutError::TooLarge)
    );
    assert_eq!(
        records::Layout::for_records(usize::MAX, 2),
        Err(LayoutError::TooLarge)
    );
    assert_eq!(
        stream::Layout::for_bytes(usize::MAX),
        Err(LayoutError::TooLarge)
    );
    let layout = ring::Layout::for_messages(8, 2).unwrap();
    let words = words(layout.bytes() - 8);
    let attached = ring::Producer::attach(Region::from_words(&words), &layout);
    let expected = AttachError::TooSmall {
        needed: 144,
        given: 136,
    };
    assert_eq!(attached.err(), Some(expected));
}

#[test]
fn wrong_lengths_change_nothing() {
    let layout = four_slot::Layout::for_messages(8).unwrap();
    let words = words(layout.bytes());
    let mut writer = four_slot::Writer::attach(Region::from_words(&words), &layout).unwrap();
    assert_eq!(writer.write(&[0; 7]), Err(Error::Length));
    let mut end = mailbox::Mailbox::attach(
        Region::from_words(&words),
        &mailbox::Layout::for_slot(8).unwrap(),
        mailbox::Side::First,
    )
    .unwrap();
    assert_eq!(end.try_send(&[0; 9], OVER), Err(Error::Length));
    assert!(words.iter().all(|word| word.load(Relaxed) == 0));
}

#[test]
fn raw_memory_must_be_aligned() {
    #[repr(align(64))]
    struct Page([u8; 256]);
    let mut page = Page([0; 256]);
    let base = page.0.as_mut_ptr();
    assert!(raw::attach(base, 256).is_ok());
    assert!(raw::attach(base.wrapping_add(8), 248).is_err());
}

mod raw {
    #![expect(unsafe_code, reason = "an address becomes a region")]
    use bulkhead_buffers::{AttachError, Region};

    /// The caller passes memory of its own that is `bytes` long.
    pub(super) fn attach(base: *mut u8, bytes: usize) -> Result<usize, AttachError> {
        // SAFETY: the caller's memory, and the region does not leave this function.
        unsafe { Region::from_raw(base, bytes) }.map(|_| bytes)
    }
}

#[test]
fn a_ring_takes_and_gives_messages_of_its_length_alone() {
    let layout = ring::Layout::for_messages(8, 4).unwrap();
    let words = words(layout.bytes());
    let region = Region::from_words(&words);
    let mut producer = ring::Producer::attach(region, &layout).unwrap();
    let mut consumer = ring::Consumer::attach(region, &layout).unwrap();
    for bytes in [0, 7, 9, 16] {
        assert_eq!(producer.try_push(&[0; 16][..bytes]), Err(Error::Length));
    }
    assert_eq!(producer.try_push(&[1; 8]), Ok(()));
    for bytes in [0, 7, 9, 16] {
        let message = &mut [0; 16][..bytes];
        assert_eq!(consumer.try_pop(message), Err(Error::Length));
    }
    let mut message = [0; 8];
    assert_eq!(consumer.try_pop(&mut message), Ok(()));
    assert_eq!(message, [1; 8]);
}
