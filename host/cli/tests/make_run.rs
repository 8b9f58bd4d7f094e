//! The variables of `make run` become arguments: `setup/run.sh` with a tool and a set-up that only print their arguments

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Prints its name and its arguments, each in brackets.
const SAYS: &str = "#!/bin/sh\nprintf '%s' \"${0##*/}\"\nprintf ' [%s]' \"$@\"\nprintf '\\n'\n";

/// A checkout of nothing but `run.sh`, gone afterwards.
struct Checkout(PathBuf);

impl Checkout {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bulkhead-make-run-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(root.join("setup")).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../setup/run.sh");
        fs::copy(script, root.join("setup/run.sh")).unwrap();
        for program in ["setup/setup.sh", "bulkhead"] {
            let path = root.join(program);
            fs::write(&path, SAYS).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        Self(root.canonicalize().unwrap())
    }

    /// Exit status, and what was said; `ROOT` stands for the checkout. Variables are separated by semicolons.
    fn run(&self, variables: &str) -> (i32, String) {
        let root = self.0.display().to_string();
        let variables = variables.replace("ROOT", &root);
        let mut command = Command::new(self.0.join("setup/run.sh"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path);
        command.envs(variables.split(';').filter_map(|text| text.split_once('=')));
        let output = command.current_dir(&self.0).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text.replace(&root, "ROOT"))
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Variables, what the set-up is called with, what follows `run` and the system.
#[rustfmt::skip]
const CASES: [[&str; 3]; 12] = [
    ["", "[]", ""],
    ["FOR=20s", "[]", "[--for] [20s]"],
    ["FAULT=linux-panic", "[]", "[--fault] [linux-panic]"],
    ["KERNEL=debian-rt", "[debian-rt]", "[--set] [partition.linux.image.kernel=debian-rt]"],
    ["KERNEL=pseudo-nmi", "[pseudo-nmi]", "[--set] [partition.linux.image.kernel=pseudo-nmi]"],
    ["KERNEL=my kernels/Image", "[]", "[--set] [partition.linux.image.kernel=ROOT/my kernels/Image]"],
    ["KERNEL=/a/linux.deb", "[debian] [/a/linux.deb]",
     "[--set] [partition.linux.image.kernel=ROOT/.cache/debian-arm64/kernel/linux/Image]"],
    ["KERNEL=linux-image-6", "[debian] [linux-image-6]",
     "[--set] [partition.linux.image.kernel=ROOT/.cache/debian-arm64/kernel/linux-image-6/Image]"],
    ["INITRD=./own.cpio", "[]", "[--set] [partition.linux.image.initrd=ROOT/own.cpio]"],
    ["LINUX_CORES=2", "[]", "[--set] [partition.linux.cores=2] [--set] [system.cores=5]"],
    ["REALTIME=1", "[]", "[--real] [--for] [forever] [--set] [partition.control.heartbeat=5 s] \
                          [--set] [partition.plant.heartbeat=5 s]"],
    ["REALTIME=1;FOR=5s;SYSTEM=ROOT/systems/drive", "[]", "[--for] [5s] [--real]"],
];

/// One test: a program just written cannot be run while another thread's child still has it open.
#[test]
fn variables_become_arguments() {
    let checkout = Checkout::new();
    for [variables, setup, arguments] in CASES {
        let (status, text) = checkout.run(variables);
        let tool = format!("bulkhead [run] [ROOT/systems/drive] {arguments}");
        assert_eq!(status, 0, "{variables}: {text}");
        let expected = format!("setup.sh {setup}\n{}\n", tool.trim_end());
        assert_eq!(text, expected, "{variables}");
    }
    let (status, text) = checkout.run("LINUX_CORES=two");
    assert_eq!(status, 2);
    assert!(
        text.contains("LINUX_CORES=two: not a number of cores"),
        "{text}"
    );
}
