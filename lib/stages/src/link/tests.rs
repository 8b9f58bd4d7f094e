//! Buffers with long messages, on the host

use super::*;
use core::sync::atomic::AtomicU64;

const BYTES: usize = 100;

fn memory(bytes: usize) -> Option<Region<'static>> {
    let words: Vec<AtomicU64> = (0..bytes.div_ceil(64) * 8 + 8)
        .map(|_| AtomicU64::new(0))
        .collect();
    let words = words.leak();
    let from = words.as_ptr().align_offset(64);
    Region::from_words(&words[from..]).part(0, bytes)
}

fn shape(kind: Kind) -> Shape {
    Shape {
        kind,
        message: BYTES as u32,
    }
}

fn message(number: u64) -> Message {
    let mut message = Message::default();
    message.entries[0] = crate::message::Entry { number, at: 1 };
    message
}

fn fill(output: &mut Output, number: u8) {
    output
        .content()
        .expect("a long message")
        .write(&[number; BYTES]);
}

fn content(received: &Received) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let content = received.content.expect("a long message");
    assert_eq!(content.bytes(), BYTES);
    content.read(&mut bytes);
    bytes
}

#[test]
fn a_content_is_where_it_was_written() {
    for kind in [Kind::Newest, Kind::Each(2)] {
        let (mut input, mut output) = make(shape(kind), memory, memory).expect("room");
        let written = output.content().expect("a long message").address();
        fill(&mut output, 1);
        assert!(output.put(&message(1)));
        let received = input.fresh().expect("a message");
        assert_eq!(received.content.expect("a long message").address(), written);
        assert_eq!(content(&received), [1; BYTES]);
    }
}

#[test]
fn a_content_stays_the_readers_until_the_next_message() {
    for kind in [Kind::Newest, Kind::Each(2)] {
        let (mut input, mut output) = make(shape(kind), memory, memory).expect("room");
        fill(&mut output, 1);
        assert!(output.put(&message(1)));
        let held = input.fresh().expect("a message");
        for number in 2..10 {
            fill(&mut output, number);
            output.put(&message(number.into()));
            assert_eq!(content(&held), [1; BYTES], "{kind:?}, {number}");
        }
        assert!(input.held(held).content.is_some());
        let next = input.fresh().expect("a message");
        assert_eq!(content(&next), [next.entries[0].number as u8; BYTES]);
        assert!(input.held(held).content.is_none());
    }
}

#[test]
fn a_full_ring_leaves_room_for_the_message_that_is_made() {
    let (mut input, mut output) = make(shape(Kind::Each(1)), memory, memory).expect("room");
    fill(&mut output, 1);
    assert!(output.put(&message(1)));
    fill(&mut output, 2);
    assert!(!output.put(&message(2)));
    assert_eq!(content(&input.fresh().expect("a message")), [1; BYTES]);
    assert!(output.put(&message(2)));
    assert_eq!(content(&input.fresh().expect("a message")), [2; BYTES]);
}

#[test]
fn a_content_is_copied_once_to_each_further_reader_and_for_one_without_access() {
    for kind in [Kind::Newest, Kind::Each(2)] {
        let (mut first, mut output) = make(shape(kind), memory, memory).expect("room");
        let (mut second, mut further) = make(shape(kind), memory, memory).expect("room");
        let copy = Content::new(memory(BYTES).expect("room"), BYTES).expect("room");
        second.copy_to(copy);
        let written = output.content().expect("a long message");
        written.write(&[7; BYTES]);
        for output in [&mut output, &mut further] {
            output.fill(&written);
            assert!(output.put(&message(1)));
        }
        let [first, second] = [&mut first, &mut second].map(|input| input.fresh().expect("one"));
        let address = |received: &Received| received.content.expect("a long message").address();
        assert_eq!(
            [address(&first), address(&second)],
            [written.address(), copy.address()]
        );
        assert_eq!([content(&first), content(&second)], [[7; BYTES]; 2]);
    }
}

#[test]
fn a_buffer_and_its_contents_lie_in_one_region() {
    for kind in [Kind::Newest, Kind::Each(5)] {
        let shape = shape(kind);
        let region = memory(shape.bytes().expect("a size")).expect("room");
        assert!(
            Input::attach(shape, region.part(0, region.bytes() - 64).expect("a part")).is_none()
        );
        let mut input = Input::attach(shape, region).expect("room");
        let mut output = Output::attach(shape, region).expect("room");
        fill(&mut output, 3);
        assert!(output.put(&message(1)));
        assert_eq!(content(&input.fresh().expect("a message")), [3; BYTES]);
        assert!(output.put(&Message::end(1)));
        assert!(input.fresh().expect("the end").content.is_none());
    }
}
