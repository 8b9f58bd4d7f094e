//! Guests without support for Bulkhead, compiled from sources in the folder of a test

use crate::expectation::{Form, Guest};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Link address: the start of RAM of QEMU `virt`.
const LOAD_ADDRESS: &str = "-Ttext=0x40000000";
const OPTIONS: [&str; 10] = [
    "-nostdlib",
    "-nostartfiles",
    "-static",
    "-ffreestanding",
    "-fno-pic",
    "-mgeneral-regs-only",
    // Without translation all memory is of the kind of devices.
    "-mstrict-align",
    "-O1",
    "-Wl,--build-id=none",
    "-Wl,--omagic",
];

/// Compiles `guest` from the sources in `folder` into the file `output`.
pub(crate) fn compile(guest: &Guest, folder: &Path, output: &Path) -> Result<(), String> {
    let prefix = cross_prefix();
    let linked = output.with_extension("linked");
    let mut compiler = Command::new(compiler(prefix));
    compiler
        .args(OPTIONS)
        .arg(LOAD_ADDRESS)
        .arg("-o")
        .arg(&linked);
    for include in &guest.include {
        compiler.arg("-I").arg(folder.join(include));
    }
    compiler.args(guest.define.iter().map(|name| format!("-D{name}")));
    compiler.args(guest.sources.iter().map(|source| folder.join(source)));
    execute(&mut compiler)?;
    match guest.form {
        Form::Elf => std::fs::rename(&linked, output).map_err(|error| error.to_string()),
        Form::Flat => {
            let mut copy = Command::new(format!("{prefix}objcopy"));
            execute(copy.args(["-O", "binary"]).arg(&linked).arg(output))
        }
    }
}

/// Prefix of the cross compiler; empty on an arm64 host.
const fn cross_prefix() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        ""
    } else {
        "aarch64-linux-gnu-"
    }
}

/// The cross compiler's package follows the packaged kernel's, so its name may end with a version.
fn compiler(prefix: &str) -> PathBuf {
    let plain = format!("{prefix}gcc");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs: Vec<PathBuf> = std::env::split_paths(&path)
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|program| is_compiler(program, &plain))
        .collect();
    programs.sort();
    programs.into_iter().next().unwrap_or(plain.into())
}

fn is_compiler(program: &Path, plain: &str) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let version = name
        .strip_prefix(plain)
        .map(|rest| rest.trim_start_matches('-'));
    version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
}

fn execute(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}
