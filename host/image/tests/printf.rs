//! The printf of C programs beside the host's
//!
//! `user/libc/c` is compiled for the host with a program that compares both over random directives
//! (`printf/driver.c`).

use std::path::{Path, PathBuf};
use std::process::Command;

const DIRECTIVES: &str = "500000";

/// Runs a command, which succeeds and has nothing to say on its error stream; its output.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, wrong) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success() && wrong.is_empty(),
        "{command:?}: {printed}{wrong}"
    );
    printed
}

fn compile(root: &Path, folder: &Path) -> PathBuf {
    let objects = ["printf", "float", "lines"].map(|name| {
        let object = folder.join(name).with_extension("o");
        let mut command = Command::new("cc");
        command.args(["-std=gnu11", "-O2", "-ffreestanding", "-Wall", "-Wextra"]);
        command
            .arg("-c")
            .arg(root.join("user/libc/c").join(name).with_extension("c"));
        run(command.arg("-o").arg(&object));
        object
    });
    let program = folder.join("driver");
    let mut command = Command::new("cc");
    // The directives are wrong on purpose, or known only when the program runs.
    command.args(["-std=gnu11", "-O1", "-w"]);
    command.arg("-I").arg(root.join("user/libc/c"));
    command.arg(root.join("host/image/tests/printf/driver.c"));
    run(command.args(&objects).arg("-o").arg(&program));
    program
}

#[test]
fn random_directives_print_as_on_the_host() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("printf");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = compile(&root, &folder);
    for seed in ["1", "2"] {
        let printed = run(Command::new(&program).args([seed, DIRECTIVES]));
        assert_eq!(printed, "0 differences\n");
    }
}
