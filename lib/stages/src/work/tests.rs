//! Jobs of stages, on the host

use super::*;
use crate::functions;
use crate::link::{self, Kind};
use bulkhead_buffers::Region;
use core::sync::atomic::AtomicU64;

fn memory(bytes: usize) -> Option<Region<'static>> {
    let words = bytes.div_ceil(64) * 8 + 8;
    let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    let words = words.leak();
    let from = words.as_ptr().align_offset(64);
    Some(Region::from_words(
        &words[from..from + bytes.div_ceil(64) * 8],
    ))
}

fn of(name: &str, inputs: Vec<Input>) -> Work {
    let mut ends = [const { None }; ENDS];
    ends.iter_mut()
        .zip(inputs)
        .for_each(|(end, input)| *end = Some(input));
    Work::new(functions::named(name).expect(name), ends, 0, 1)
}

#[test]
fn messages_pass_two_stages_with_their_entries() {
    for kind in [Kind::Newest, Kind::Each(2)] {
        let (input, mut output) = link::make(kind, memory, memory).expect("room");
        let mut first = of("can-read", vec![]);
        let mut second = of("can-write", vec![input]);
        assert!(second.waiting().is_none() && second.take(None).is_none());
        let taken = first.take(Some(([7, 8], 100))).expect("a message");
        let message = first.compute(taken, None).expect("an answer");
        assert!(output.put(&Message {
            put: 110,
            ..message
        }));
        assert_eq!(second.waiting(), (kind != Kind::Newest).then_some(110));
        assert_eq!(second.is_four_slot(), kind == Kind::Newest);
        let taken = second.take(None).expect("a message");
        let sent = second.compute(taken, None).expect("an answer");
        assert_eq!(
            (sent.data, sent.entries[0].at, sent.entries[0].number),
            ([7, 8], 100, 1)
        );
        assert!(second.take(None).is_none());
    }
}

#[test]
fn what_was_passed_over_has_a_number_that_is_missing() {
    let mut first = of("can-read", vec![]);
    let mut number = || {
        let taken = first.take(Some(([7, 8], 100))).expect("a message");
        first.pass_over();
        taken.message.entries[0].number
    };
    assert_eq!([number(), number()], [1, 3]);
}

#[test]
fn a_stage_without_news_from_another_partition_falls_back_until_some_come() {
    let (input, mut output) = link::make(Kind::Newest, memory, memory).expect("room");
    let neutral = functions::named("neutral").expect("it is there");
    let mut work = of("emit", vec![input]).remote_inputs(1, 1000, Some((50, neutral)));
    let send = |output: &mut link::Output, number| {
        let mut message = Message {
            data: [number, 7],
            ..Message::default()
        };
        message.entries[0] = Entry { number, at: 1 };
        assert!(output.put(&message));
    };
    assert!(work.look(1050).is_none());
    let stale = work.look(1051).expect("a job");
    assert_eq!(stale.fell_back(), Some(51));
    let sent = work.compute(stale, None).expect("an answer");
    assert!(sent.data == [0; 2] && sent.entries[0].number == 0 && !sent.is_end());
    send(&mut output, 3);
    let fresh = work.look(1100).expect("a job");
    assert_eq!(fresh.fell_back(), None);
    assert_eq!(work.compute(fresh, None).expect("an answer").data, [3, 7]);
    let stale = work.look(1200).expect("a job");
    assert_eq!(stale.inputs[0].expect("the last one").data, [3, 7]);
    assert_eq!(stale.fell_back(), Some(100));
}

#[test]
fn a_task_is_over_once_its_end_came_on_all_inputs() {
    let made: Vec<_> = [Kind::Newest, Kind::Each(2)]
        .map(|kind| link::make(kind, memory, memory).expect("room"))
        .into();
    let (inputs, mut outputs): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let mut fuse = of("fuse", inputs);
    assert!(!fuse.is_over());
    assert!(outputs[0].put(&Message::end(7)));
    assert!(fuse.take(None).is_none() && !fuse.is_over());
    assert!(outputs[1].put(&Message::end(5)));
    assert!(fuse.take(None).is_none() && fuse.is_over());
    assert_eq!([fuse.ended_at(9), fuse.ended_at(3)], [7, 3]);
    fuse.begin_anew(0, 1);
    assert!(!fuse.is_over() && fuse.ended_at(9) == 9);
}

/// A stage that was to end is started again before all ends came: its end is not taken for that of
/// the next task.
#[test]
fn an_end_behind_which_something_comes_is_none() {
    let made: Vec<_> = [(); 2]
        .map(|()| link::make(Kind::Each(4), memory, memory).expect("room"))
        .into();
    let (inputs, mut outputs): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let mut fuse = of("fuse", inputs);
    let [first, second] = &mut outputs[..] else {
        panic!("two")
    };
    let mut sent = Message::default();
    sent.entries[0] = Entry { number: 1, at: 1 };
    assert!(first.put(&Message::end(5)) && fuse.take(None).is_none());
    assert!(first.put(&sent) && fuse.take(None).is_some());
    assert!(second.put(&Message::end(7)) && fuse.take(None).is_none());
    assert!(!fuse.is_over());
    assert!(first.put(&Message::end(9)) && fuse.take(None).is_none());
    assert!(fuse.is_over() && fuse.ended_at(20) == 9);
}

#[test]
fn what_entered_before_the_task_began_is_passed_over() {
    let (input, mut output) = link::make(Kind::Each(4), memory, memory).expect("room");
    let mut send = |at: u64| {
        let mut sent = Message::default();
        sent.entries[0] = Entry { number: at, at };
        assert!(output.put(&sent));
    };
    let mut work = of("emit", vec![input])
        .remote_inputs(1, 100, None)
        .begun_here(100);
    [98, 99, 100].into_iter().for_each(&mut send);
    let taken = work.look(110).expect("a message");
    assert_eq!(taken.message.entries[0].at, 100);
    work.begin_anew(200, 0);
    [150, 151].into_iter().for_each(&mut send);
    assert!(work.waiting().is_none() && work.look(210).is_none());
    assert!(output.put(&Message::END) && work.look(220).is_none() && work.is_over());
}

/// A first stage that reads messages of other machines: numbers and times are its own.
#[test]
fn what_is_taken_out_of_a_buffer_before_the_first_stage_enters_there() {
    for kind in [Kind::Newest, Kind::Each(4)] {
        let (input, mut output) = link::make(kind, memory, memory).expect("room");
        let mut work = of("emit", vec![input])
            .remote_inputs(1, 100, None)
            .entering(100);
        let mut send = |put| {
            let mut sent = Message {
                put,
                data: [put, 7],
                ..Message::default()
            };
            // As another machine, or the bridge, writes them.
            sent.entries[0] = Entry { number: 900, at: 1 };
            assert!(output.put(&sent));
        };
        assert!(work.look(200).is_none());
        send(250);
        let taken = work.look(300).expect("a message");
        let entry = taken.message.entries[0];
        assert_eq!((entry.number, entry.at), (1, 250));
        assert_eq!(work.compute(taken, None).expect("an answer").data, [250, 7]);
        assert!(work.waiting().is_none());
        work.found_nothing(310);
        // The writer was preempted after it had read the clock.
        send(260);
        let entry = work.look(400).expect("a message").message.entries[0];
        let empty = [300, 310][usize::from(kind != Kind::Newest)];
        assert_eq!((entry.number, entry.at), (2, empty));
        [410, 420].into_iter().for_each(&mut send);
        let taken = work.look(500).expect("a message");
        let first = [4, 3][usize::from(kind != Kind::Newest)];
        let entry = taken.message.entries[0];
        assert_eq!(entry.number, first, "what was overwritten has a number");
        assert_eq!(work.look(600).is_some(), kind != Kind::Newest);
    }
}

/// A pipe that is started right behind its end loses nothing.
#[test]
fn what_comes_behind_an_end_is_the_next_tasks() {
    let (input, mut output) = link::make(Kind::Each(4), memory, memory).expect("room");
    let mut work = of("emit", vec![input]).remote_inputs(1, 100, None);
    let mut message = Message::default();
    message.entries[0] = Entry { number: 1, at: 105 };
    assert!(output.put(&Message::END) && output.put(&message));
    assert!(work.look(110).is_none() && work.is_over());
    work.resume(110);
    let taken = work.look(120).expect("the next task's");
    assert_eq!(
        (taken.message.entries[0].number, work.is_over()),
        (1, false)
    );
}

/// Messages that waited too long at the first poll are dropped, and no others; a task that ended in
/// the meantime is over.
#[test]
fn messages_for_a_restarted_stage_are_passed_over() {
    for kind in [Kind::Newest, Kind::Each(4)] {
        let (input, mut output) = link::make(kind, memory, memory).expect("room");
        let mut work = of("emit", vec![input]).remote_inputs(1, 100, None);
        let mut put = |put: u64| {
            let mut message = Message {
                put,
                ..Message::default()
            };
            message.entries[0] = Entry {
                number: put,
                at: put,
            };
            assert!(output.put(&message));
        };
        put(90);
        work.pass_over_late(100, 4);
        assert!(work.look(110).is_none());
        put(99);
        put(100);
        work.pass_over_late(100, 4);
        let taken = work.look(120).expect("in time");
        assert_eq!(taken.message.entries[0].number, 100);
        assert!(work.look(130).is_none());
        assert!(output.put(&Message::END));
        work.pass_over_late(200, 4);
        assert!(work.look(210).is_none() && work.is_over());
    }
}

#[test]
fn names_of_both_inputs_are_joined_and_kept() {
    let made: Vec<_> = (0..2)
        .map(|_| link::make(Kind::Newest, memory, memory).expect("room"))
        .collect();
    let (inputs, mut outputs): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let mut fuse = of("fuse", inputs);
    let mut pass = |place: usize, word: u64| {
        let mut sent = Message {
            data: [0, word],
            ..Message::default()
        };
        sent.entries[place].number = 1;
        assert!(outputs[place].put(&sent));
        let taken = fuse.take(None).expect("a message");
        fuse.compute(taken, None).expect("an answer").data[1] & 0xffff_ffff
    };
    assert_eq!(pass(0, 5), 5);
    assert_eq!(pass(1, 7 << 16), 7 << 16 | 5);
    assert_eq!(pass(0, 6), 7 << 16 | 6);
}
