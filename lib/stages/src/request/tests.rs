//! Requests and answers between both sides, and invalid ones

use super::*;
use bulkhead_abi::pipe::Pipes;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

fn channel() -> Region<'static> {
    let bytes = channel_bytes(2).expect("a channel");
    let words: Vec<AtomicU64> = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
    Region::from_words(words.leak())
}

fn both(channel: Region<'static>) -> (Requester, Responder) {
    let answerer = Responder::attach(channel).expect("who answers");
    (Requester::attach(channel).expect("who asks"), answerer)
}

fn request(id: u64) -> Packed {
    let stages = (0..2).map(|from| Stage {
        from,
        ..Stage::default()
    });
    let none = core::iter::empty();
    Packed::run(id, &Pipe::default(), stages, none, guarantees())
}

fn guarantees() -> impl Iterator<Item = PathGuarantee> {
    (1..3).map(|tail| PathGuarantee {
        tail,
        bound_ns: 7,
        ..PathGuarantee::default()
    })
}

fn done(id: u64) -> Answer {
    Answer {
        id,
        ..Answer::default()
    }
}

#[test]
fn what_is_asked_is_answered() {
    let (mut asker, mut answerer) = both(channel());
    let (mut message, mut text) = ([0; MESSAGE_BYTES], [0; TEXT_BYTES]);
    for id in 1..5 {
        assert!(asker.ask(&request(id)) && !asker.ask(&request(9)));
        assert_eq!(asker.answer(id, &mut text), None);
        let (taken, length) = answerer.take(&mut message).expect("a request");
        assert_eq!((taken.id, Verb::of(taken.verb)), (id, Some(Verb::Run)));
        let bytes = &message[size_of::<Request>()..length];
        assert!(path_guarantees(bytes).eq(guarantees()));
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("a word")))
            .collect();
        let packed = Pipes::read(words.as_bytes()).expect("pipes");
        let from: Vec<_> = packed.stages.iter().map(|stage| stage.from).collect();
        assert_eq!((packed.pipes.len(), from), (1, vec![0, 1]));
        let refused = u32::from(id == 2);
        let answer = Answer {
            refused,
            ..done(id)
        };
        assert!(answerer.answer(&answer, "no"));
        let expected = match refused {
            0 => Reply::Done,
            _ => Reply::Refused(2),
        };
        assert_eq!(asker.answer(id, &mut text), Some(expected));
    }
    assert_eq!(&text[..2], b"no");
}

#[test]
fn a_request_that_went_with_its_reader_is_answered_by_the_next() {
    let channel = channel();
    let (mut asker, mut answerer) = both(channel);
    let (mut message, mut text) = ([0; MESSAGE_BYTES], [0; TEXT_BYTES]);
    assert!(asker.ask(&request(1)) && answerer.take(&mut message).is_some());
    let mut answerer = Responder::attach(channel).expect("who answers");
    assert_eq!(asker.answer(1, &mut text), Some(Reply::Lost));
    assert!(asker.ask(&request(2)));
    assert_eq!(
        answerer.take(&mut message).map(|(taken, _)| taken.id),
        Some(2)
    );
}

#[test]
fn an_answer_to_a_former_start_is_passed_over() {
    let channel = channel();
    let (mut asker, mut answerer) = both(channel);
    let (mut message, mut text) = ([0; MESSAGE_BYTES], [0; TEXT_BYTES]);
    assert!(asker.ask(&request(1)));
    let mut asker = Requester::attach(channel).expect("who asks");
    assert!(!asker.ask(&request(2)) && answerer.take(&mut message).is_some());
    assert!(answerer.answer(&done(1), "") && asker.ask(&request(2)));
    assert_eq!(asker.answer(2, &mut text), None);
    assert_eq!(
        answerer.take(&mut message).map(|(taken, _)| taken.id),
        Some(2)
    );
    assert!(answerer.answer(&done(2), ""));
    assert_eq!(asker.answer(2, &mut text), Some(Reply::Done));
}

/// The name of a static pipe is complete, with nothing behind it.
#[test]
fn a_pipe_is_forgotten_by_its_name() {
    let (mut asker, mut answerer) = both(channel());
    let mut message = [0; MESSAGE_BYTES];
    let name = bulkhead_abi::name_field("steer");
    assert!(asker.ask(&Packed::forget(3, &name, 77)));
    let (taken, length) = answerer.take(&mut message).expect("a request");
    assert_eq!((taken.id, taken.ended), (3, 77));
    assert_eq!(Verb::of(taken.verb), Some(Verb::Forget));
    let body = &message[size_of::<Request>()..length];
    assert_eq!(static_pipe(body), Some(name));
    for cut in 0..body.len() {
        assert_eq!(static_pipe(&body[..cut]), None);
    }
    assert_eq!(static_pipe(&message[size_of::<Request>()..=length]), None);
}

#[test]
fn a_partition_with_first_stages_learns_their_start_and_stop() {
    let (mut asker, mut answerer) = both(channel());
    let (mut message, mut text) = ([0; MESSAGE_BYTES], [0; TEXT_BYTES]);
    for (request, verb, at) in [
        (Packed::start(4, 99), Verb::Start, 99),
        (Packed::stop(4), Verb::Stop, 0),
        (Packed::end(4, 120), Verb::End, 120),
    ] {
        assert!(asker.ask(&request));
        let (taken, length) = answerer.take(&mut message).expect("a request");
        assert_eq!((Verb::of(taken.verb), taken.ended), (Some(verb), at));
        assert_eq!((taken.id, length), (4, size_of::<Request>()));
        answerer.settle(4, None);
        assert_eq!(asker.answer(4, &mut text), Some(Reply::Done));
    }
    assert_eq!([0, 6, u32::MAX].map(Verb::of), [None; 3]);
}

/// With a name they mean a static pipe, without one the requested pipe, and with other bytes none.
#[test]
fn a_static_pipe_is_begun_and_stopped_by_its_name() {
    let (mut asker, mut answerer) = both(channel());
    let (mut message, mut text) = ([0; MESSAGE_BYTES], [0; TEXT_BYTES]);
    let name = bulkhead_abi::name_field("in");
    for (request, verb, at) in [
        (Packed::start(6, 99).named(&name), Verb::Start, 99),
        (Packed::stop(6).named(&name), Verb::Stop, 0),
    ] {
        assert!(asker.ask(&request));
        let (taken, length) = answerer.take(&mut message).expect("a request");
        assert_eq!((Verb::of(taken.verb), taken.ended), (Some(verb), at));
        let body = &message[size_of::<Request>()..length];
        assert_eq!(target(body), Some(Target::Static(name)));
        assert_eq!(target(&body[..0]), Some(Target::Requested));
        for cut in 1..body.len() {
            assert_eq!(target(&body[..cut]), None);
        }
        assert_eq!(target(&message[size_of::<Request>()..=length]), None);
        answerer.settle(6, None);
        assert_eq!(asker.answer(6, &mut text), Some(Reply::Done));
    }
}

/// A text that is too long is cut, and an invalid message does not stop the responder.
#[test]
fn nonsense_is_answered() {
    let (mut asker, mut answerer) = both(channel());
    let (mut message, mut text) = ([0; MESSAGE_BYTES], [0; TEXT_BYTES]);
    let short = Packed {
        length: 5,
        ..request(1)
    };
    assert!(asker.ask(&short) && answerer.take(&mut message).is_none());
    assert_eq!(asker.answer(1, &mut text), Some(Reply::Lost));
    assert!(asker.ask(&request(1)) && answerer.take(&mut message).is_some());
    let refused = Answer {
        refused: 1,
        ..done(1)
    };
    assert!(answerer.answer(&refused, &"x".repeat(1000)));
    let answered = asker.answer(1, &mut text);
    assert_eq!(answered, Some(Reply::Refused(TEXT_BYTES)));
}

/// Whatever the peer writes, both ends continue, and agree again.
#[test]
fn arbitrary_words_stop_no_other_partition() {
    let mut seed = 1u64;
    for _ in 0..2000 {
        let bytes = channel_bytes(0).expect("a channel");
        let words: Vec<AtomicU64> = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
        let words: &'static [AtomicU64] = words.leak();
        let (mut asker, mut answerer) = both(Region::from_words(words));
        let (mut message, mut text) = ([0; MESSAGE_BYTES], [0; TEXT_BYTES]);
        for word in &words[..16] {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let kept = [seed >> 32, seed >> 60, 0, u64::MAX][(seed >> 40) as usize % 4];
            word.store(kept, Relaxed);
        }
        let agree = (2..40).any(|id| {
            let _sent = asker.ask(&request(id));
            if let Some((taken, _)) = answerer.take(&mut message) {
                let _answered = answerer.answer(&done(taken.id), "");
            }
            asker.answer(id, &mut text) == Some(Reply::Done)
        });
        assert!(agree);
    }
}

#[test]
fn buffers_are_those_of_the_channel() {
    let channel = channel();
    assert!(
        [0, 1]
            .into_iter()
            .all(|number| buffer(channel, number).is_some())
    );
    assert!(buffer(channel, 2).is_none() && buffer(channel, usize::MAX).is_none());
    assert_eq!(buffer_number(name_text(&buffer_name(47))), Some(47));
    assert_eq!(buffer_number("steer.1-2"), None);
}
