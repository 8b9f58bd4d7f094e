//! Messages from other machines and programs into pipes with first stages here

use crate::machine::{Machine, free_port, until};
use crate::session::{attachment, heard_by, session};
use bulkhead_linux::{Channel, Description, Kind, Role, frequency_hz};
use bulkhead_stages::link::{self, Input};
use bulkhead_stages::message::{BYTES, Entry, Message};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::{TempDir, tempdir};
use zenoh::Wait;
use zerocopy::IntoBytes;

/// As many as the tests send.
const PLACES: u32 = 64;

/// The buffer of a first stage, as the stage makes and reads it.
struct Stage {
    folder: TempDir,
    kind: Kind,
    input: Input,
    _channel: Channel,
}

impl Stage {
    fn new(kind: Kind) -> Self {
        let folder = tempdir().expect("a folder");
        let of_link = match kind {
            Kind::Ring => link::Kind::Each(PLACES),
            _ => link::Kind::Newest,
        };
        let bytes = of_link.bytes().expect("there is such a buffer");
        let description = Description {
            name: "in".into(),
            peer: String::new(),
            standby: None,
            kind,
            role: Role::Reader,
            message_bytes: BYTES,
            messages: PLACES as usize,
            read_only: false,
        };
        let channel = Channel::create_file(&Self::path(folder.path()), bytes, description);
        let channel = channel.expect("a file");
        let region = channel.region().expect("writable");
        Self {
            folder,
            kind,
            input: Input::attach(of_link, region).expect("as large as it is"),
            _channel: channel,
        }
    }

    fn path(folder: &Path) -> PathBuf {
        folder.join("in")
    }

    /// The bridge with what is said of the stage's input.
    fn bridge(&self, port: u16, words: &str) -> Machine {
        let kind = match self.kind {
            Kind::Ring => "ring",
            _ => "four-slot",
        };
        let file = Self::path(self.folder.path());
        let channel = format!("channel in {kind} {BYTES} {PLACES} {}", file.display());
        let import = format!("import in dock:a:b:c {words}");
        let lines = [format!("listen tcp/127.0.0.1:{port}"), channel, import];
        Machine::start(self.folder.path(), &lines)
    }

    /// The next message.
    fn next(&mut self) -> Message {
        let mut taken = None;
        until("a message", || {
            taken = self.input.fresh();
            taken.is_some()
        });
        taken.expect("it came")
    }
}

/// Of another machine's pipe.
fn message(data: [u64; 2]) -> Message {
    let mut message = Message {
        put: 3,
        data,
        ..Message::default()
    };
    message.entries[1] = Entry { number: 12, at: 2 };
    message
}

#[test]
fn messages_and_bare_data_enter_and_all_else_is_refused() {
    for kind in [Kind::FourSlot, Kind::Ring] {
        let mut stage = Stage::new(kind);
        let port = free_port();
        let mut runs = stage.bridge(port, "stage 1000000");
        let session = session(port);
        let publisher = heard_by(&session, "dock/a/b/c");
        let sound = [
            (message([5, 6]).as_bytes().to_vec(), Some(1), [5, 6]),
            (7_u64.to_le_bytes().to_vec(), None, [0, 7]),
            ([8_u64, 9].as_bytes().to_vec(), None, [8, 9]),
            ([10_u64, 11].as_bytes().to_vec(), Some(2), [10, 11]),
        ];
        let mut last = 0;
        for (payload, number, data) in sound {
            let put = publisher.put(payload);
            match number {
                Some(number) => put.attachment(attachment(number)).wait(),
                None => put.wait(),
            }
            .expect("sent");
            let entered = stage.next();
            assert_eq!(entered.data, data);
            // Written by another process: on a host, the clock began with it.
            assert!(entered.put > last && !entered.is_end(), "{entered:?}");
            last = entered.put;
        }
        let refused = [0, 1, 7, 9, 12, 17, 87, 89, 100_000];
        let refused = refused.map(|length| (vec![1; length], Some(attachment(3))));
        let strange = [
            (message([1, 1]).as_bytes().to_vec(), None),
            (vec![1; 8], Some(vec![1; 23])),
            (vec![1; 16], Some(attachment(0))),
        ];
        for (count, (payload, attached)) in (1..).zip(refused.into_iter().chain(strange)) {
            let put = publisher.put(payload);
            match attached {
                Some(bytes) => put.attachment(bytes).wait(),
                None => put.wait(),
            }
            .expect("sent");
            runs.says(&[&format!("{count} refused")]);
        }
        // Said again, and the end of a task: neither is new.
        for (payload, number) in [(message([10, 11]), 2), (Message::END, 4)] {
            let put = publisher
                .put(payload.as_bytes())
                .attachment(attachment(number));
            put.wait().expect("sent");
        }
        publisher
            .put(9_u64.to_le_bytes().as_slice())
            .wait()
            .expect("sent");
        assert_eq!(stage.next().data, [0, 9], "nothing between");
        runs.says(&[
            "import dock:a:b:c into in: 5 taken",
            "12 refused, 0 dropped",
        ]);
        assert!(runs.is_alive());
    }
}

/// Bare data say no age: where one is asked for they are none.
#[test]
fn what_is_to_be_young_has_to_say_its_age() {
    let mut stage = Stage::new(Kind::FourSlot);
    let port = free_port();
    let runs = stage.bridge(port, "stage 1000000 max-age 5000000000");
    let session = session(port);
    let publisher = heard_by(&session, "dock/a/b/c");
    publisher
        .put(7_u64.to_le_bytes().as_slice())
        .wait()
        .expect("sent");
    runs.says(&["refused 8 bytes", "say their number and age"]);
    let put = publisher.put(7_u64.to_le_bytes().as_slice());
    put.attachment(attachment(1)).wait().expect("sent");
    assert_eq!(stage.next().data, [0, 7]);
}

/// Ten times too fast: messages enter no closer than they may, the newest of four slots, the first of a ring.
#[test]
fn a_flood_is_dropped_and_counted() {
    const APART: Duration = Duration::from_millis(20);
    for kind in [Kind::FourSlot, Kind::Ring] {
        let mut stage = Stage::new(kind);
        let port = free_port();
        let runs = stage.bridge(port, &format!("stage {}", APART.as_nanos()));
        let session = session(port);
        let publisher = heard_by(&session, "dock/a/b/c");
        let (began, mut sent, mut entered) = (Instant::now(), 0_u64, Vec::new());
        while began.elapsed() < 50 * APART {
            // Paced by the clock alone, however late this thread is.
            if began.elapsed() > sent as u32 * APART / 10 {
                sent += 1;
                publisher
                    .put(sent.to_le_bytes().as_slice())
                    .wait()
                    .expect("sent");
            }
            entered.extend(stage.input.fresh());
        }
        until("the last", || {
            entered.extend(stage.input.fresh());
            let last = entered.last().is_some_and(|one| one.data[1] == sent);
            last || kind == Kind::Ring && runs.said_count("dropped") + entered.len() as u64 == sent
        });
        let distance = u128::from(frequency_hz()) * APART.as_nanos() / 1_000_000_000;
        for pair in entered.windows(2) {
            assert!(
                u128::from(pair[1].put - pair[0].put) >= distance,
                "{pair:?}"
            );
            assert!(pair[1].data[1] > pair[0].data[1], "in their order");
        }
        let dropped = sent - entered.len() as u64;
        assert!(
            dropped > sent / 2 && entered.len() > 10,
            "{dropped} of {sent}"
        );
        runs.says(&[&format!(
            "{} taken, 0 missed, 0 refused, {dropped} dropped",
            entered.len()
        )]);
    }
}

/// A bridge that dies and comes back goes on in the same buffer.
#[test]
fn a_bridge_that_starts_anew_goes_on() {
    for kind in [Kind::FourSlot, Kind::Ring] {
        let mut stage = Stage::new(kind);
        for start in 1..=3_u64 {
            let port = free_port();
            let runs = stage.bridge(port, "stage 1000000");
            let session = session(port);
            let publisher = heard_by(&session, "dock/a/b/c");
            publisher
                .put(start.to_le_bytes().as_slice())
                .wait()
                .expect("sent");
            assert_eq!(stage.next().data, [0, start]);
            drop(runs);
        }
    }
}
