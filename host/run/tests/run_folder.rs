//! The run folder's lock
//!
//! A test in a process of its own: a child that another test starts holds every open lock until its
//! `exec`.

use bulkhead_run::RunError;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::{RunFolder, Session};

#[test]
fn one_runs_and_others_find_it() {
    let out = std::env::temp_dir().join(format!("bulkhead-one-{}", std::process::id()));
    let folder = RunFolder::new(&out, "drive");
    assert!(matches!(folder.running(), Err(RunError::NotRunning { .. })));
    let lock = folder.take().unwrap();
    folder
        .announce(&Session {
            pid: 42,
            ram_fd: 5,
            kind: Kind::Virtual,
        })
        .unwrap();
    assert_eq!(folder.running().unwrap().pid, 42);
    assert!(matches!(
        folder.take(),
        Err(RunError::AlreadyRunning { pid: 42, .. })
    ));
    drop(lock);
    assert!(matches!(folder.running(), Err(RunError::NotRunning { .. })));
    drop(folder.take().unwrap());
    std::fs::remove_dir_all(folder.path().parent().unwrap()).unwrap();
}
