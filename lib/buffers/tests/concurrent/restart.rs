//! One end is a process, killed at any instant and started anew, a thousand times in all
//!
//! The other end lives on and must lose nothing, see nothing twice and nothing torn. The messages
//! carry their number, which a new instance takes from what it finds in shared memory.
#![expect(unsafe_code, reason = "fork")]

use crate::memory;
use crate::message::{BYTES, message, number, whole};
use bulkhead_buffers::{Error, four_slot, mailbox, recorder, ring};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

const RESTARTS: usize = 150;

/// Start a process that repeats `operation` until it is killed, or ends by itself when that is
/// false.
fn start(mut operation: impl FnMut() -> bool) -> Pid {
    // SAFETY: the child neither allocates nor locks: it moves messages on its stack and exits.
    match unsafe { fork() }.expect("fork") {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            // Should the test die, so does the child.
            let bound = set_pdeathsig(Signal::SIGKILL).is_ok();
            while bound && operation() {}
            // SAFETY: ends the child without running what the parent had registered.
            unsafe { nix::libc::_exit(1) }
        }
    }
}

/// Returns true for success and for the permitted refusal, after which the processor yields to the
/// other end.
fn may_wait<T>(result: &Result<T, Error>, refusal: Error) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => {
            std::thread::yield_now();
            *error == refusal
        }
    }
}

/// Kill it wherever it stands; it must not have ended by itself.
fn stop(child: Pid) {
    kill(child, Signal::SIGKILL).expect("kill");
    let status = waitpid(child, None).expect("wait");
    assert_eq!(
        status,
        WaitStatus::Signaled(child, Signal::SIGKILL, false),
        "the peer saw an error"
    );
}

/// Per instance, let this end do `work(instance)` while the peer runs.
fn restart(mut peer: impl FnMut() -> Pid, mut work: impl FnMut(usize)) {
    for instance in 0..RESTARTS {
        let child = peer();
        // Different amounts of work, so that kills fall everywhere.
        work(10 + instance % 97);
        stop(child);
    }
}

#[test]
fn four_slot_writer() {
    let _turn = crate::alone();
    let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
    let region = memory::guarded(layout.bytes());
    let mut reader = four_slot::Reader::attach(region, &layout).expect("fits");
    let (mut bytes, mut last) = ([0; BYTES], 0);
    let peer = || {
        let mut writer = four_slot::Writer::attach(region, &layout).expect("fits");
        start(move || writer.write(&message(writer.sequence() + 1)).is_ok())
    };
    restart(peer, |work| {
        let goal = last + work as u64;
        while last < goal {
            let Ok(freshness) = reader.read(&mut bytes) else {
                continue;
            };
            assert_eq!(number(&bytes), freshness.sequence);
            assert!(freshness.sequence >= last);
            last = freshness.sequence;
        }
    });
}

#[test]
fn four_slot_reader() {
    let _turn = crate::alone();
    let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
    let region = memory::guarded(layout.bytes());
    let mut writer = four_slot::Writer::attach(region, &layout).expect("fits");
    writer.write(&message(1)).expect("length");
    let peer = || {
        let mut reader = four_slot::Reader::attach(region, &layout).expect("fits");
        let mut bytes = [0; BYTES];
        start(move || reader.read(&mut bytes).map(|got| got.sequence).ok() == whole(&bytes))
    };
    restart(peer, |work| {
        for _ in 0..100 * work {
            writer
                .write(&message(writer.sequence() + 1))
                .expect("length");
        }
    });
}

#[test]
fn ring_producer() {
    let _turn = crate::alone();
    let layout = ring::Layout::for_messages(BYTES, 5).expect("layout");
    let region = memory::guarded(layout.bytes());
    let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
    let mut bytes = [0; BYTES];
    let peer = || {
        let mut producer = ring::Producer::attach(region, &layout).expect("fits");
        start(move || may_wait(&producer.try_push(&message(producer.pushed())), Error::Full))
    };
    restart(peer, |work| {
        let goal = consumer.popped() + work as u64;
        while consumer.popped() < goal {
            let expected = consumer.popped();
            let popped = consumer.try_pop(&mut bytes);
            assert!(may_wait(&popped, Error::Empty), "{popped:?}");
            assert!(popped.is_err() || number(&bytes) == expected);
        }
    });
}

#[test]
fn ring_consumer() {
    let _turn = crate::alone();
    let layout = ring::Layout::for_messages(BYTES, 5).expect("layout");
    let region = memory::guarded(layout.bytes());
    let mut producer = ring::Producer::attach(region, &layout).expect("fits");
    let peer = || {
        let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
        let mut bytes = [0; BYTES];
        start(move || {
            let expected = consumer.popped();
            let popped = consumer.try_pop(&mut bytes);
            may_wait(&popped, Error::Empty) && (popped.is_err() || whole(&bytes) == Some(expected))
        })
    };
    restart(peer, |work| {
        let goal = producer.pushed() + work as u64;
        while producer.pushed() < goal {
            let pushed = producer.try_push(&message(producer.pushed()));
            assert!(may_wait(&pushed, Error::Full), "{pushed:?}");
        }
    });
}

const ONE_PART: mailbox::Flags = mailbox::Flags {
    start: true,
    end: true,
    over: false,
};

#[test]
fn mailbox_sender() {
    let _turn = crate::alone();
    let layout = mailbox::Layout::for_slot(BYTES).expect("layout");
    let region = memory::guarded(layout.bytes());
    let attach = |side| mailbox::Mailbox::attach(region, &layout, side).expect("fits");
    let mut receiver = attach(mailbox::Side::Second);
    let (mut bytes, mut expected) = ([0; BYTES], 1);
    let peer = || {
        let mut sender = attach(mailbox::Side::First);
        start(move || {
            let next = message(sender.sequence() + 1);
            may_wait(&sender.try_send(&next, ONE_PART), Error::Full)
        })
    };
    restart(peer, |work| {
        let goal = expected + work as u64;
        while expected < goal {
            match receiver.try_receive(&mut bytes) {
                Ok(part) => {
                    assert_eq!(
                        part,
                        mailbox::Part {
                            length: BYTES,
                            flags: ONE_PART
                        }
                    );
                    assert_eq!(number(&bytes), expected);
                    expected += 1;
                }
                Err(error) => assert_eq!(error, Error::Empty),
            }
        }
    });
}

#[test]
fn mailbox_server() {
    let _turn = crate::alone();
    let layout = mailbox::Layout::for_slot(BYTES).expect("layout");
    let region = memory::guarded(layout.bytes());
    let attach = |side| mailbox::Mailbox::attach(region, &layout, side).expect("fits");
    let mut client = attach(mailbox::Side::First);
    let over = mailbox::Flags {
        over: true,
        ..ONE_PART
    };
    let (mut bytes, mut answered, mut aborted) = ([0; BYTES], 0, 0);
    let peer = || {
        let mut server = attach(mailbox::Side::Second);
        // An instance that finds itself with the floor has lost the request: an empty answer.
        let mut bytes = [0; BYTES];
        let mut answer = server.holds_floor().then_some(0);
        start(move || {
            if let Some(length) = answer {
                answer = server
                    .try_send(&bytes[..length], over)
                    .err()
                    .map(|_| length);
                return true;
            }
            let received = server.try_receive(&mut bytes);
            answer = received.ok().map(|part| part.length);
            may_wait(&received, Error::Empty)
        })
    };
    let mut waiting = false;
    let mut request = 0;
    restart(peer, |work| {
        let goal = answered + work;
        while answered + aborted < goal {
            if !waiting {
                waiting = client.try_send(&message(request), over).is_ok();
            }
            let received = client.try_receive(&mut bytes);
            assert!(may_wait(&received, Error::Empty), "{received:?}");
            let Ok(part) = received else { continue };
            if part.length == 0 {
                aborted += 1;
            } else {
                assert_eq!(number(&bytes), request);
                answered += 1;
            }
            request += 1;
            waiting = false;
        }
    });
    assert!(answered > aborted, "{answered} answered, {aborted} aborted");
}

#[test]
fn recorder_writer() {
    let _turn = crate::alone();
    let layout = recorder::records::Layout::for_records(BYTES, 50).expect("layout");
    let region = memory::guarded(layout.bytes());
    let mut reader = recorder::records::Reader::attach(region.view(), &layout).expect("fits");
    let mut bytes = [0; 4 * BYTES];
    let peer = || {
        let mut writer = recorder::records::Writer::attach(region, &layout).expect("fits");
        start(move || writer.write(&message(writer.written())).is_ok())
    };
    restart(peer, |work| {
        let goal = reader.position() + work as u64;
        while reader.position() < goal {
            let before = reader.position();
            let got = reader.read(&mut bytes).expect("no nonsense");
            let first = before + got.lost;
            for (at, record) in (first..).zip(bytes.chunks_exact(BYTES)).take(got.count) {
                assert_eq!(number(record), at);
            }
            assert_eq!(reader.position(), first + got.count as u64);
        }
    });
}
