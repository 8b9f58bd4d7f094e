//! Errors at the start

use crate::machine::{Buffer, Machine, free_port, message, number, until};
use bulkhead_linux::Kind;
use std::net::TcpListener;
use tempfile::tempdir;

/// Checks the last words of a bridge with these lines.
fn refused(lines: &[&str], says: &[&str]) {
    let folder = tempdir().expect("a folder");
    let there = Buffer::new(folder.path(), "there", Kind::Ring);
    let mut all: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    all.push(there.line());
    let runs = Machine::start(folder.path(), &all);
    runs.says(says);
    runs.fails();
}

#[test]
fn each_failure_has_its_sentence() {
    refused(&["export nowhere car:a:b:c"], &["no channel \"nowhere\""]);
    refused(
        &["export there car:a:b"],
        &["`car:a:b` is no endpoint: host:partition:address-space:endpoint"],
    );
    refused(
        &["listen tcp/127.0.0.1"],
        &["`tcp/127.0.0.1` is no place on a network"],
    );
    refused(
        &["import there car:a:b:c max-age 1 fallback 00"],
        &["fallback of `there` has 1 bytes, its messages have 12"],
    );
    refused(
        &["import there car:a:b:c stage 1000000"],
        &["`there` is no channel of a stage: its messages have 12 bytes, a pipe's have 88"],
    );
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = format!("listen tcp/{}", taken.local_addr().expect("its address"));
    refused(
        &[&listen],
        &[
            "nobody can be heard at tcp/127.0.0.1:",
            "another program may have the port",
        ],
    );
}

#[test]
fn a_file_that_is_too_small_is_refused() {
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("small");
    std::fs::write(&file, [0; 64]).expect("a file");
    let line = format!("channel small ring 12 64 {}", file.display());
    let runs = Machine::start(folder.path(), &[line, "export small car:a:b:c".to_owned()]);
    runs.says(&[
        "channel \"small\"",
        "needs",
        "bytes of shared memory but has 64",
    ]);
    runs.fails();
}

#[test]
fn an_absent_peer_is_named_and_tried_again() {
    let folder = tempdir().expect("a folder");
    let [here, there] =
        ["here", "there"].map(|name| Buffer::new(folder.path(), name, Kind::FourSlot));
    let port = free_port();
    let lines = [
        format!("connect tcp/127.0.0.1:{port}"),
        there.line(),
        "import there car:a:b:c".to_owned(),
    ];
    let runs = Machine::start(folder.path(), &lines);
    runs.says(&["nobody answers at tcp/127.0.0.1:", "tried again"]);
    let lines = [
        format!("listen tcp/127.0.0.1:{port}"),
        here.line(),
        "export here car:a:b:c".to_owned(),
    ];
    let _here = Machine::start(folder.path(), &lines);
    runs.says(&["1 others are connected"]);
    here.writer().put(&message(3)).expect("room");
    let mut reader = there.reader();
    until("the value", || {
        reader
            .take()
            .expect("sound")
            .is_some_and(|(_, bytes)| number(bytes) == 3)
    });
}
