//! Values from one machine to the other

use crate::machine::{BYTES, Buffer, Machine, free_port, message, number, until};
use crate::wire::Wire;
use bulkhead_linux::Kind;
use std::thread;
use tempfile::tempdir;

/// More than the bar asks for.
const EACH: u64 = 12_000;

#[test]
fn the_newest_value_arrives() {
    let folder = tempdir().expect("a folder");
    let [here, there] =
        ["here", "there"].map(|name| Buffer::new(folder.path(), name, Kind::FourSlot));
    let port = free_port();
    let connect = format!("connect tcp/127.0.0.1:{port}");
    let import = "import there car:control:app:speed".to_owned();
    let _there = Machine::start(folder.path(), &[connect, there.line(), import]);
    let listen = format!("listen tcp/127.0.0.1:{port}");
    let export = "export here car:control:app:speed".to_owned();
    let _here = Machine::start(folder.path(), &[listen, here.line(), export]);
    let (mut writer, mut reader) = (here.writer(), there.reader());
    let (mut written, mut read) = (0, 0);
    until("the newest", || {
        if written < 2000 {
            written += 1;
            writer.put(&message(written)).expect("four slots have room");
        }
        if let Some((_, bytes)) = reader.take().expect("sound") {
            let received = number(bytes);
            assert!(
                received > read && received <= written,
                "{received} after {read}"
            );
            read = received;
        }
        written == 2000 && read == written
    });
}

#[test]
fn a_late_subscriber_finds_the_newest_value() {
    let folder = tempdir().expect("a folder");
    let [here, there] =
        ["here", "there"].map(|name| Buffer::new(folder.path(), name, Kind::FourSlot));
    let port = free_port();
    let lines = [
        format!("listen tcp/127.0.0.1:{port}"),
        here.line(),
        "export here car:a:b:c".to_owned(),
    ];
    let here_runs = Machine::start(folder.path(), &lines);
    here_runs.says(&["export here as car:a:b:c: 0 sent"]);
    here.writer().put(&message(77)).expect("room");
    let lines = [
        format!("connect tcp/127.0.0.1:{port}"),
        there.line(),
        "import there car:a:b:c".to_owned(),
    ];
    let _there_runs = Machine::start(folder.path(), &lines);
    let mut reader = there.reader();
    until("the value", || {
        reader
            .take()
            .expect("sound")
            .is_some_and(|(_, bytes)| number(bytes) == 77)
    });
}

/// Begins before the subscriber exists: the ring fills, and its writer waits.
#[test]
fn a_ring_loses_nothing() {
    let folder = tempdir().expect("a folder");
    let [here, there] = ["here", "there"].map(|name| Buffer::new(folder.path(), name, Kind::Ring));
    let port = free_port();
    let listen = format!("listen tcp/127.0.0.1:{port}");
    let _here = Machine::start(
        folder.path(),
        &[listen, here.line(), "export here car:a:b:log".to_owned()],
    );
    let mut writer = here.writer();
    let writes = thread::spawn(move || {
        let mut waited = 0_u64;
        for next in 1..=EACH {
            until("room", || match writer.put(&message(next)) {
                Err(error) if error.is_full() => {
                    waited += 1;
                    false
                }
                put => put.map(|()| true).expect("sound"),
            });
        }
        waited
    });
    let connect = format!("connect tcp/127.0.0.1:{port}");
    let import = "import there car:a:b:log".to_owned();
    let there_runs = Machine::start(folder.path(), &[connect, there.line(), import]);
    let mut reader = there.reader();
    let mut read = 0;
    until("all of them", || {
        while let Some((_, bytes)) = reader.take().expect("sound") {
            assert_eq!(number(bytes), read + 1, "each, in its order");
            read += 1;
        }
        read == EACH
    });
    assert!(
        writes.join().expect("it ends") > 0,
        "the ring was full while nobody heard"
    );
    there_runs.says(&[&format!("{EACH} taken, 0 missed, 0 refused, 0 dropped")]);
}

/// A hanging reader loses its own messages, which are counted, and no others.
#[test]
fn a_full_ring_delays_no_other_endpoint() {
    let folder = tempdir().expect("a folder");
    let [log, log_there] =
        ["log", "log-there"].map(|name| Buffer::new(folder.path(), name, Kind::Ring));
    let [speed, speed_there] =
        ["speed", "speed-there"].map(|name| Buffer::new(folder.path(), name, Kind::FourSlot));
    let port = free_port();
    let imports = [
        "import log-there car:a:b:log",
        "import speed-there car:a:b:speed",
    ]
    .map(str::to_owned);
    let mut lines = vec![
        format!("listen tcp/127.0.0.1:{port}"),
        log_there.line(),
        speed_there.line(),
    ];
    lines.extend(imports);
    let there_runs = Machine::start(folder.path(), &lines);
    let exports = ["export log car:a:b:log", "export speed car:a:b:speed"].map(str::to_owned);
    let mut lines = vec![
        format!("connect tcp/127.0.0.1:{port}"),
        log.line(),
        speed.line(),
    ];
    lines.extend(exports);
    let _here = Machine::start(folder.path(), &lines);
    let (mut log, mut speed, mut reader) = (log.writer(), speed.writer(), speed_there.reader());
    let (mut logged, mut written, mut read) = (0, 0, 0);
    until("both", || {
        logged += u64::from(logged < 500 && log.put(&message(logged + 1)).is_ok());
        written += 1;
        speed.put(&message(written)).expect("room");
        read = reader
            .take()
            .expect("sound")
            .map_or(read, |(_, bytes)| number(bytes));
        logged == 500 && read > 500
    });
    there_runs
        .says(&["import car:a:b:log into log-there: 64 taken, 0 missed, 0 refused, 436 dropped"]);
}

/// The other machine dies, and comes back; and it lives while what it sends grows old.
#[test]
fn what_is_old_raises_the_fallback_until_something_comes() {
    let folder = tempdir().expect("a folder");
    let [here, there] =
        ["here", "there"].map(|name| Buffer::new(folder.path(), name, Kind::FourSlot));
    let port = free_port();
    let fallback = "ff".repeat(BYTES);
    let import = format!("import there car:a:b:c max-age 400000000 fallback {fallback}");
    let lines = [
        format!("connect tcp/127.0.0.1:{port}"),
        there.line(),
        import,
    ];
    let there_runs = Machine::start(folder.path(), &lines);
    let mut reader = there.reader();
    let mut newest = |expected: &[u8]| {
        reader
            .take()
            .expect("sound")
            .is_some_and(|(_, bytes)| bytes == expected)
    };
    until("the fallback, while nobody is there", || {
        newest(&[0xff; BYTES])
    });
    let lines = [
        format!("listen tcp/127.0.0.1:{port}"),
        here.line(),
        "export here car:a:b:c".to_owned(),
    ];
    let mut writer = here.writer();
    for start in 1..=2 {
        let here_runs = Machine::start(folder.path(), &lines);
        until("a value", || {
            writer.put(&message(start)).expect("room");
            newest(&message(start))
        });
        there_runs.says(&["goes on"]);
        match start {
            1 => drop(here_runs),
            // It repeats what it has, and says how old that is.
            _ => drop(here_runs.says(&["repeated"])),
        }
        until("the fallback", || newest(&[0xff; BYTES]));
    }
    there_runs.says(&["falls back: nothing younger than 400ms was heard"]);
}

/// Messages under way when the wire is cut are lost and counted: each message arrives or is counted as missed.
#[test]
fn what_a_cut_wire_loses_is_counted() {
    let folder = tempdir().expect("a folder");
    let [here, there] = ["here", "there"].map(|name| Buffer::new(folder.path(), name, Kind::Ring));
    let port = free_port();
    let wire = Wire::to(port);
    let lines = [
        format!("listen tcp/127.0.0.1:{port}"),
        here.line(),
        "export here car:a:b:log".to_owned(),
    ];
    let _here_runs = Machine::start(folder.path(), &lines);
    let lines = [
        format!("connect tcp/127.0.0.1:{}", wire.port),
        there.line(),
        "import there car:a:b:log".to_owned(),
    ];
    let there_runs = Machine::start(folder.path(), &lines);
    let (mut writer, mut reader) = (here.writer(), there.reader());
    let (mut written, mut read, mut last, mut cuts) = (0, 0, 0, 0);
    until("the last", || {
        // The end is written after the last cut, so that something tells of what that lost.
        let most = if cuts < 3 { EACH - 3000 } else { EACH };
        for _ in 0..4 {
            written += u64::from(written < most && writer.put(&message(written + 1)).is_ok());
        }
        while let Some((_, bytes)) = reader.take().expect("sound") {
            let received = number(bytes);
            assert!(
                received > last && received <= written,
                "{received} after {last}"
            );
            (read, last) = (read + 1, received);
        }
        if read > 2000 * (cuts + 1) && cuts < 3 {
            wire.cut();
            cuts += 1;
        }
        // Without a subscriber the ring keeps its messages; so the last one arrives.
        last == EACH
    });
    assert_eq!(cuts, 3);
    there_runs.says(&[&format!(
        "{read} taken, {} missed, 0 refused, 0 dropped",
        EACH - read
    )]);
}
