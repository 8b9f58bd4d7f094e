//! Both ends at full speed on two threads: nothing lost, torn, stale or out of order

use bulkhead_buffers::{Error, Region, four_slot, mailbox, recorder, ring};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::End;
use crate::memory;
use crate::message::{BYTES, message, number, whole};

fn backoff(result: &Result<impl Sized, Error>) {
    if result.is_err() {
        thread::yield_now();
    }
}

#[test]
fn four_slot_is_fresh_and_intact() {
    let _turn = crate::alone();
    const READS: u64 = 2_000_000;
    const DIFFERENT: u64 = 10_000;
    let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
    let region = memory::guarded(layout.bytes());
    let (completed, over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = four_slot::Writer::attach(region, &layout).expect("fits");
            while !over.load(Ordering::Relaxed) {
                let sequence = writer.sequence() + 1;
                assert_eq!(writer.write(&message(sequence)), Ok(sequence));
                completed.store(sequence, Ordering::Release);
            }
        });
        let _end = End(&over);
        let mut reader = four_slot::Reader::attach(region, &layout).expect("fits");
        let (mut bytes, mut last, mut reads, mut different) = ([0; BYTES], 0, 0, 0);
        while reads < READS || different < DIFFERENT {
            let before = completed.load(Ordering::Acquire);
            let Ok(freshness) = reader.read(&mut bytes) else {
                assert_eq!(before, 0, "empty after a completed write");
                continue;
            };
            assert_eq!(whole(&bytes), Some(freshness.sequence));
            assert!(freshness.sequence >= before, "stale");
            assert_eq!(freshness.advanced, freshness.sequence - last);
            reads += 1;
            different += u64::from(freshness.advanced > 0);
            last = freshness.sequence;
        }
    });
}

#[test]
fn ring_loses_nothing() {
    let _turn = crate::alone();
    const MESSAGES: u64 = 4_000_000;
    for capacity in [1, 3, 64] {
        let layout = ring::Layout::for_messages(BYTES, capacity).expect("layout");
        let region = memory::guarded(layout.bytes());
        let messages = if capacity == 64 {
            MESSAGES
        } else {
            MESSAGES / 100
        };
        thread::scope(|scope| {
            scope.spawn(|| push_all(region, &layout, messages));
            let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
            let mut bytes = [0; BYTES];
            for expected in 1..=messages {
                while let popped @ Err(error) = consumer.try_pop(&mut bytes) {
                    assert_eq!(error, Error::Empty);
                    backoff(&popped);
                }
                assert_eq!(number(&bytes), expected);
            }
            assert_eq!(consumer.try_pop(&mut bytes), Err(Error::Empty));
        });
    }
}

fn push_all(region: Region<'_>, layout: &ring::Layout, messages: u64) {
    let mut producer = ring::Producer::attach(region, layout).expect("fits");
    for number in 1..=messages {
        while let pushed @ Err(error) = producer.try_push(&message(number)) {
            assert_eq!(error, Error::Full);
            backoff(&pushed);
        }
    }
}

#[test]
fn ring_batches_lose_nothing() {
    let _turn = crate::alone();
    const MESSAGES: u64 = 4_000_000;
    let layout = ring::Layout::for_messages(BYTES, 50).expect("layout");
    let region = memory::guarded(layout.bytes());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut producer = ring::Producer::attach(region, &layout).expect("fits");
            let mut next = 1;
            while next <= MESSAGES {
                let last = (next + 15).min(MESSAGES);
                let batch: Vec<u8> = (next..=last).flat_map(message).collect();
                let pushed = producer.try_push_batch(&batch);
                backoff(&pushed);
                next += pushed.unwrap_or(0) as u64;
            }
        });
        let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
        let (mut bytes, mut expected) = ([0; 20 * BYTES], 1);
        while expected <= MESSAGES {
            let popped = consumer.try_pop_batch(&mut bytes);
            backoff(&popped);
            for bytes in bytes.chunks_exact(BYTES).take(popped.unwrap_or(0)) {
                assert_eq!(number(bytes), expected);
                expected += 1;
            }
        }
    });
}

#[test]
fn mailbox_requests_and_replies_alternate() {
    let _turn = crate::alone();
    const ROUNDS: u64 = 20_000;
    let layout = mailbox::Layout::for_slot(BYTES / 2).expect("layout");
    let region = memory::guarded(layout.bytes());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut end = attach(region, &layout, mailbox::Side::Second);
            for round in 0..ROUNDS {
                assert_eq!(receive(&mut end), message(round));
                send(&mut end, &message(!round));
            }
        });
        let mut end = attach(region, &layout, mailbox::Side::First);
        for round in 0..ROUNDS {
            send(&mut end, &message(round));
            assert_eq!(receive(&mut end), message(!round));
        }
    });
}

fn attach<'m>(
    region: Region<'m>,
    layout: &mailbox::Layout,
    side: mailbox::Side,
) -> mailbox::Mailbox<'m> {
    mailbox::Mailbox::attach(region, layout, side).expect("fits")
}

fn send(end: &mut mailbox::Mailbox<'_>, message: &[u8]) {
    let mut outgoing = mailbox::Outgoing::new(message, true);
    loop {
        match outgoing.advance(end) {
            Ok(true) => return,
            Ok(false) => (),
            Err(error) => {
                assert_eq!(error, Error::Full);
                thread::yield_now();
            }
        }
    }
}

fn receive(end: &mut mailbox::Mailbox<'_>) -> Vec<u8> {
    let mut buffer = [0; BYTES];
    let mut incoming = mailbox::Incoming::new(&mut buffer);
    loop {
        match incoming.advance(end) {
            Ok(Some(transaction)) => {
                assert!(transaction.over);
                return transaction.message.to_vec();
            }
            Ok(None) => (),
            Err(error) => {
                assert_eq!(error, Error::Empty);
                thread::yield_now();
            }
        }
    }
}

#[test]
fn recorder_counts_every_lost_record() {
    let _turn = crate::alone();
    const RECORDS: u64 = 2_000_000;
    let layout = recorder::records::Layout::for_records(BYTES, 30).expect("layout");
    let region = memory::guarded(layout.bytes());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut readers: Vec<_> = (0..2)
            .map(|_| recorder::records::Reader::attach(region.view(), &layout).expect("fits"))
            .collect();
        scope.spawn(|| {
            let mut writer = recorder::records::Writer::attach(region, &layout).expect("fits");
            (0..RECORDS).for_each(|at| writer.write(&message(at)).expect("length"));
            done.store(true, Ordering::Release);
        });
        for mut reader in readers.drain(..) {
            let done = &done;
            scope.spawn(move || {
                let (mut bytes, mut next, mut read) = ([0; 10 * BYTES], 0, 0_u64);
                loop {
                    let last = done.load(Ordering::Acquire);
                    let got = reader.read(&mut bytes).expect("no nonsense");
                    next += got.lost;
                    for record in bytes.chunks_exact(BYTES).take(got.count) {
                        assert_eq!(number(record), next);
                        next += 1;
                    }
                    read += got.count as u64;
                    assert_eq!(reader.position(), next);
                    if last && got.count == 0 && got.lost == 0 {
                        break;
                    }
                }
                assert_eq!(next, RECORDS);
                assert!(read >= 30, "read {read}");
            });
        }
    });
}

#[test]
fn recorder_counts_every_lost_byte() {
    let _turn = crate::alone();
    const TOTAL: u64 = 20_000_000;
    let layout = recorder::stream::Layout::for_bytes(1000).expect("layout");
    let region = memory::guarded(layout.bytes());
    let done = AtomicBool::new(false);
    let byte = |position: u64| (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    // Joined before anything is written, so that it counts from 0.
    let mut reader = recorder::stream::Reader::attach(region.view(), &layout).expect("fits");
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = recorder::stream::Writer::attach(region, &layout).expect("fits");
            while writer.written() < TOTAL {
                let from = writer.written();
                let text: Vec<u8> = (from..from + 1 + from % 71).map(byte).collect();
                writer.write(&text);
            }
            done.store(true, Ordering::Release);
        });
        let (mut bytes, mut next, mut read) = ([0; 333], 0, 0_u64);
        loop {
            let last = done.load(Ordering::Acquire);
            let got = reader.read(&mut bytes).expect("no nonsense");
            next += got.lost;
            for (at, held) in (next..).zip(&bytes[..got.count]) {
                assert_eq!(*held, byte(at), "at {at}");
            }
            next += got.count as u64;
            read += got.count as u64;
            if last && got.count == 0 && got.lost == 0 {
                break;
            }
        }
        assert!(next >= TOTAL);
        assert!(read > 1_000, "read {read}");
    });
}
