//! Measured buffers: closures that exchange a number of messages
//!
//! Every peer is used as its documentation advises for messages that are copied in and out. A
//! message is checked by its first byte alone: what is to be timed is the buffer.

use bulkhead_buffers::{AtomicU64, Region, four_slot, ring};
use iceoryx2::prelude::{NodeBuilder, ServiceName, ZeroCopySend, local};
use std::hint::black_box;

const CAPACITY: usize = 64;

/// A buffer that messages go through.
pub struct Subject {
    /// Name of the figure.
    pub name: &'static str,
    /// Put in and take out so many messages.
    pub exchange: Box<dyn FnMut(u32)>,
}

impl Subject {
    fn new<const BYTES: usize>(
        name: &'static str,
        mut once: impl FnMut(&[u8; BYTES]) -> u8 + 'static,
    ) -> Self {
        let message = [0x5a; BYTES];
        let exchange = move |times| {
            for _ in 0..times {
                let got = once(black_box(&message));
                assert_eq!(got, 0x5a, "{name} changed a message");
            }
        };
        Self {
            name,
            exchange: Box::new(exchange),
        }
    }
}

/// Memory for the rest of the program's life, at the beginning of a cache line.
fn memory(bytes: usize) -> Region<'static> {
    const LINE_WORDS: usize = 8;
    let count = bytes / 8;
    let words: &'static [AtomicU64] = (0..count + LINE_WORDS)
        .map(|_| AtomicU64::new(0))
        .collect::<Vec<_>>()
        .leak();
    let start = words.as_ptr().align_offset(64);
    Region::from_words(&words[start..start + count])
}

pub fn four_slot<const BYTES: usize>() -> Subject {
    let layout = four_slot::Layout::for_messages(BYTES).expect("a size");
    let memory = memory(layout.bytes());
    let mut writer = four_slot::Writer::attach(memory, &layout).expect("room");
    let mut reader = four_slot::Reader::attach(memory, &layout).expect("room");
    let mut out = [0; BYTES];
    Subject::new::<BYTES>("four-slot", move |message| {
        let _ = writer.write(message);
        let _ = black_box(reader.read(&mut out));
        black_box(&out)[0]
    })
}

pub fn ring<const BYTES: usize>() -> Subject {
    let layout = ring::Layout::for_messages(BYTES, CAPACITY).expect("a size");
    let memory = memory(layout.bytes());
    let mut producer = ring::Producer::attach(memory, &layout).expect("room");
    let mut consumer = ring::Consumer::attach(memory, &layout).expect("room");
    let mut out = [0; BYTES];
    Subject::new::<BYTES>("ring", move |message| {
        let _ = producer.try_push(message);
        // Looked at as of the peers, and no more.
        if consumer.try_pop(&mut out).is_err() {
            return 0;
        }
        black_box(&out)[0]
    })
}

/// The well-known crates.
pub fn peers<const BYTES: usize>() -> Vec<Subject> {
    vec![
        rtrb::<BYTES>(),
        channel::<BYTES>(),
        queue::<BYTES>(),
        iceoryx::<BYTES>(),
    ]
}

fn rtrb<const BYTES: usize>() -> Subject {
    let (mut producer, mut consumer) = rtrb::RingBuffer::<[u8; BYTES]>::new(CAPACITY);
    let mut out = [0; BYTES];
    Subject::new::<BYTES>("rtrb", move |message| {
        let _ = producer.push(*message);
        if let Ok(message) = consumer.pop() {
            out = message;
        }
        black_box(&out)[0]
    })
}

fn channel<const BYTES: usize>() -> Subject {
    let (sender, receiver) = crossbeam_channel::bounded::<[u8; BYTES]>(CAPACITY);
    let mut out = [0; BYTES];
    Subject::new::<BYTES>("crossbeam-channel", move |message| {
        let _ = sender.try_send(*message);
        if let Ok(message) = receiver.try_recv() {
            out = message;
        }
        black_box(&out)[0]
    })
}

fn queue<const BYTES: usize>() -> Subject {
    let queue = crossbeam_queue::ArrayQueue::<[u8; BYTES]>::new(CAPACITY);
    let mut out = [0; BYTES];
    Subject::new::<BYTES>("crossbeam-queue", move |message| {
        let _ = queue.push(*message);
        if let Some(message) = queue.pop() {
            out = message;
        }
        black_box(&out)[0]
    })
}

/// Within the process, which is its fastest.
fn iceoryx<const BYTES: usize>() -> Subject {
    let name = format!("bulkhead/compare/{BYTES}/{}", std::process::id());
    let name = ServiceName::new(&name).expect("a name");
    let node = NodeBuilder::new()
        .create::<local::Service>()
        .expect("a node");
    let service = node
        .service_builder(&name)
        .publish_subscribe::<Payload<BYTES>>()
        .create()
        .expect("a service");
    let publisher = service.publisher_builder().create().expect("a publisher");
    let subscriber = service.subscriber_builder().create().expect("a subscriber");
    let mut out = [0; BYTES];
    Subject::new::<BYTES>("iceoryx2", move |message| {
        let _kept = (&node, &service);
        if let Ok(sample) = publisher.loan_uninit() {
            let _ = sample.write_payload(Payload(*message)).send();
        }
        if let Ok(Some(sample)) = subscriber.receive() {
            out = sample.payload().0;
        }
        black_box(&out)[0]
    })
}

#[derive(Debug, ZeroCopySend)]
#[repr(C)]
struct Payload<const BYTES: usize>([u8; BYTES]);
