//! Invalid input from the network

use crate::machine::{BYTES, Buffer, Machine, free_port, message, number, until};
use crate::session::{attachment, heard_by, session};
use bulkhead_linux::Kind;
use std::io::Write;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;
use tempfile::tempdir;
use zenoh::Wait;

/// Fault, payload, attachment.
type Garbage = (&'static str, Vec<u8>, Option<Vec<u8>>);

/// Samples that no bridge sends, each with its fault.
fn garbage() -> Vec<Garbage> {
    let lengths = [0, 1, BYTES - 1, BYTES + 1, 100_000].into_iter();
    let lengths = lengths.map(|length| ("length", vec![1; length], Some(attachment(1))));
    let attachments = [0, 23, 25, 1000].into_iter();
    let attachments =
        attachments.map(|length| ("attachment", message(1).into(), Some(vec![1; length])));
    let more = [
        ("no attachment", message(1).into(), None),
        ("no number", message(1).into(), Some(attachment(0))),
    ];
    lengths.chain(attachments).chain(more).collect()
}

#[test]
fn garbage_is_refused_and_counted() {
    for kind in [Kind::FourSlot, Kind::Ring] {
        let folder = tempdir().expect("a folder");
        let there = Buffer::new(folder.path(), "there", kind);
        let port = free_port();
        let import = "import there car:a:b:c".to_owned();
        let lines = [format!("listen tcp/127.0.0.1:{port}"), there.line(), import];
        let mut runs = Machine::start(folder.path(), &lines);
        runs.says(&["import car:a:b:c into there: 0 taken"]);
        // What is not Zenoh at all ends its own connection.
        let mut stranger = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stranger.write_all(&[0xff; 4096]).expect("it takes that");
        let session = session(port);
        let publisher = heard_by(&session, "car/a/b/c");
        let all = garbage();
        for (refused, (what, payload, attached)) in (1..).zip(&all) {
            let put = publisher.put(payload.as_slice());
            let put = match attached {
                Some(bytes) => put.attachment(bytes.as_slice()),
                None => put,
            };
            put.wait().expect("sent");
            runs.says(&[&format!("{refused} refused")]);
            assert!(runs.is_alive(), "after wrong {what}");
        }
        publisher.delete().wait().expect("sent");
        runs.says(&["12 refused"]);
        let sound = publisher.put(message(5)).attachment(attachment(u64::MAX));
        sound.wait().expect("sent");
        let mut reader = there.reader();
        until("what is sound", || {
            let read = reader.take().expect("sound");
            read.is_some_and(|(_, bytes)| number(bytes) == 5)
        });
        runs.says(&["1 taken, 0 missed, 12 refused"]);
    }
}

/// A channel with an invalid writer affects that channel alone.
#[test]
fn a_damaged_channel_is_counted_and_goes_on() {
    let folder = tempdir().expect("a folder");
    let [here, there] = ["here", "there"].map(|name| Buffer::new(folder.path(), name, Kind::Ring));
    let port = free_port();
    let lines = [
        format!("listen tcp/127.0.0.1:{port}"),
        here.line(),
        "export here car:a:b:c".to_owned(),
    ];
    let here_runs = Machine::start(folder.path(), &lines);
    let lines = [
        format!("connect tcp/127.0.0.1:{port}"),
        there.line(),
        "import there car:a:b:c".to_owned(),
    ];
    let _there_runs = Machine::start(folder.path(), &lines);
    let mut writer = here.writer();
    writer.put(&message(1)).expect("room");
    let mut reader = there.reader();
    until("the first", || reader.take().expect("sound").is_some());
    // The writer's word of the ring, from outside.
    let path = folder.path().join("here");
    let mut file = std::fs::File::options()
        .write(true)
        .open(path)
        .expect("the file");
    file.write_all(&[0x7f; 8]).expect("its first word");
    here_runs.says(&["damaged in the channel"]);
    until("a sound message", || {
        sleep(Duration::from_millis(1));
        let _until_both_agree = here.writer().put(&message(2));
        reader
            .take()
            .expect("sound")
            .is_some_and(|(_, bytes)| number(bytes) == 2)
    });
}
