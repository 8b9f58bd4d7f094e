//! Pools, queues and streams of the RTOS interface over hosted dispatch: order of waiting threads, loss and deletion
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![expect(unsafe_code, reason = "objects that use memory of their maker")]

#[macro_use]
mod scene;

use bulkhead_threads::{
    BlockPool, Framing, Link, MessageQueue, NEVER, NoBlock, StreamBuffer, StreamError, WaitError,
};
use scene::{Api, Log, MILLISECOND, after, run, spin_until};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A pool, a queue and buffers of memory that is never given back.
fn memory(bytes: usize) -> NonNull<u8> {
    let memory: &'static mut [u8] = Vec::leak(vec![0; bytes]);
    NonNull::from(memory).cast()
}

#[test]
fn a_pool_grants_blocks_by_importance() {
    scene!();
    static POOL: std::sync::LazyLock<BlockPool> = std::sync::LazyLock::new(|| {
        let map = Vec::leak(vec![0_u32; BlockPool::map_words(2)]);
        // SAFETY: of the pool alone.
        unsafe { BlockPool::new(memory(48), 24, 2, NonNull::from(map).cast()) }
    });
    extern "C" fn taker(index: u64) -> ! {
        API.block(NEVER);
        let block = POOL.allocate(&API, NEVER);
        match block {
            Ok(_) => LOG.add(index),
            Err(error) => {
                assert_eq!(error, WaitError::Deleted);
                LOG.add(50 + index);
            }
        }
        API.exit()
    }
    thread!(owner, API, {
        let first = POOL.allocate(&API, 0).expect("free").as_ptr();
        let second = POOL.allocate(&API, 0).expect("free").as_ptr();
        assert_eq!(second.addr() - first.addr(), POOL.block_size());
        assert_eq!(POOL.allocate(&API, 0), Err(WaitError::TimedOut));
        for thread in 1..=3 {
            API.wakeup(thread);
        }
        assert_eq!(POOL.free(&API, first.wrapping_add(1)), Err(NoBlock));
        assert_eq!(POOL.free(&API, first.wrapping_sub(24)), Err(NoBlock));
        assert_eq!(POOL.free(&API, second.wrapping_add(24)), Err(NoBlock));
        assert_eq!(POOL.free(&API, first), Ok(()));
        assert_eq!(POOL.free(&API, second), Ok(()));
        assert_eq!(POOL.count(), 2);
        LOG.add(9);
        POOL.delete(&API);
        assert_eq!(POOL.free(&API, first), Ok(()));
        assert_eq!(POOL.free(&API, first), Err(NoBlock));
        assert_eq!(POOL.count(), 1);
    });
    run(&API, &[(3, taker), (1, taker), (2, taker), (5, owner)]);
    assert_eq!(LOG.entries(), [2, 3, 9, 51]);
}

#[test]
fn every_message_arrives_once_among_several_producers_and_consumers() {
    const COUNT: u64 = 3000;
    static API: std::sync::LazyLock<Api> = std::sync::LazyLock::new(|| Api::new(scene::api()));
    static SUMS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
    static QUEUE: std::sync::LazyLock<MessageQueue> = std::sync::LazyLock::new(|| {
        let links = Vec::leak(vec![Link::default(); 3]);
        // SAFETY: of the queue alone.
        unsafe { MessageQueue::new(memory(3 * 12), NonNull::from(links).cast(), 12, 3) }
    });
    extern "C" fn produce(index: u64) -> ! {
        for number in 1..=COUNT {
            let mut message = [0_u8; 12];
            message[..8].copy_from_slice(&number.to_le_bytes());
            message[8] = index as u8;
            // SAFETY: a message of that size.
            let put = unsafe { QUEUE.put(&API, message.as_ptr(), (number % 3) as u8, NEVER) };
            assert_eq!(put, Ok(()));
            if number % 7 == 0 {
                API.sleep_until(after(1000));
            }
        }
        API.exit()
    }
    extern "C" fn consume(_: u64) -> ! {
        loop {
            let mut message = [0_u8; 12];
            // SAFETY: room for a message of that size.
            let got = unsafe { QUEUE.get(&API, message.as_mut_ptr(), NEVER) };
            let number = u64::from_le_bytes(message[..8].try_into().expect("eight bytes"));
            assert_eq!(got, Ok((number % 3) as u8));
            SUMS[usize::from(message[8]) % 2].fetch_add(number, Relaxed);
            if number % 5 == 0 {
                API.sleep_until(after(1500));
            }
        }
    }
    // The run ends when no thread will be ready again: the consumers wait for ever.
    run(
        &API,
        &[
            (3, produce),
            (2, produce),
            (2, consume),
            (4, consume),
            (1, consume),
        ],
    );
    let expected = COUNT * (COUNT + 1) / 2;
    assert_eq!(SUMS.each_ref().map(|sum| sum.load(Relaxed)), [expected; 2]);
    assert_eq!(QUEUE.count(), 0);
}

#[test]
fn a_queue_hands_messages_over_and_loses_none_at_a_reset() {
    scene!();
    static QUEUE: std::sync::LazyLock<MessageQueue> = std::sync::LazyLock::new(|| {
        let links = Vec::leak(vec![Link::default(); 2]);
        // SAFETY: of the queue alone.
        unsafe { MessageQueue::new(memory(2), NonNull::from(links).cast(), 1, 2) }
    });
    fn put(number: u8, until: u64) -> Result<(), WaitError> {
        // SAFETY: a message of that size.
        unsafe { QUEUE.put(&API, &raw const number, 0, until) }
    }
    fn get(until: u64) -> Result<u8, WaitError> {
        let mut number = 0;
        // SAFETY: room for a message of that size.
        unsafe { QUEUE.get(&API, &raw mut number, until) }.map(|_| number)
    }
    thread!(consumer, API, {
        LOG.add(get(NEVER).expect("a message").into());
        assert_eq!(get(after(MILLISECOND / 10)), Err(WaitError::TimedOut));
        API.block(NEVER);
        assert_eq!(get(NEVER), Ok(7));
        assert_eq!(get(NEVER), Err(WaitError::Deleted));
        LOG.add(90);
    });
    thread!(blocked, API, {
        API.block(NEVER);
        assert_eq!(put(7, NEVER), Ok(()));
        LOG.add(70);
    });
    thread!(producer, API, {
        assert_eq!(put(1, 0), Ok(()));
        LOG.add(10);
        spin_until(after(MILLISECOND));
        assert_eq!((put(2, 0), put(3, 0)), (Ok(()), Ok(())));
        assert_eq!(put(4, 0), Err(WaitError::TimedOut));
        assert_eq!(put(4, after(MILLISECOND / 10)), Err(WaitError::TimedOut));
        API.wakeup(2);
        assert_eq!(QUEUE.count(), 2);
        QUEUE.reset(&API);
        assert_eq!(QUEUE.count(), 1);
        API.wakeup(1);
        LOG.add(11);
        QUEUE.delete(&API);
    });
    run(&API, &[(1, consumer), (2, blocked), (3, producer)]);
    assert_eq!(LOG.entries(), [1, 10, 70, 11, 90]);
}

#[test]
fn a_stream_waits_for_its_trigger_and_for_room() {
    scene!();
    static STREAM: std::sync::LazyLock<StreamBuffer> = std::sync::LazyLock::new(|| {
        // SAFETY: of the buffer alone.
        unsafe { StreamBuffer::new(memory(8), 8, Framing::Stream { trigger: 4 }) }
    });
    thread!(reader, API, {
        let mut place = [0; 16];
        let mut total = 0;
        while total < 40 {
            let count = STREAM.receive(&API, &mut place, NEVER).expect("bytes");
            assert!(count >= 4, "{count} bytes are fewer than the trigger");
            for byte in &place[..count] {
                assert_eq!(usize::from(*byte), total);
                total += 1;
            }
        }
        LOG.add(1);
        // Fewer than the trigger: at the end of the time-out.
        assert_eq!(
            STREAM.receive(&API, &mut place, after(3 * MILLISECOND)),
            Ok(2)
        );
        assert_eq!(
            STREAM.receive(&API, &mut place, 0),
            Err(StreamError::TimedOut)
        );
        LOG.add(2);
        assert_eq!(
            STREAM.receive(&API, &mut place, NEVER),
            Err(StreamError::Deleted)
        );
        LOG.add(3);
    });
    thread!(writer, API, {
        let bytes: [u8; 40] = std::array::from_fn(|number| number as u8);
        assert_eq!(STREAM.send(&API, &bytes, NEVER), Ok(40));
        assert_eq!(STREAM.send(&API, &[1, 2], 0), Ok(2));
        spin_until(after(5 * MILLISECOND));
        LOG.add(10);
        STREAM.delete(&API);
    });
    run(&API, &[(1, reader), (2, writer)]);
    assert_eq!(LOG.entries(), [1, 2, 10, 3]);
}
