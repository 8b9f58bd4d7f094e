//! Crates of the workspace, built for their own machines
//!
//! One call of cargo per target. Its messages are shown only when it fails.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use crate::error::BuildError;

/// Machine for which crates are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The monitor: no floating point, linked at an address of the board.
    Monitor,
    /// The kernel of a partition: no floating point.
    Kernel,
    /// Images for a partition, and components.
    Partition,
    /// User space of a Linux partition.
    Linux,
}

impl Target {
    const fn triple(self) -> &'static str {
        match self {
            Self::Monitor | Self::Kernel => "aarch64-unknown-none-softfloat",
            Self::Partition => "aarch64-unknown-none",
            Self::Linux => "aarch64-unknown-linux-musl",
        }
    }

    const fn profile(self) -> &'static str {
        match self {
            Self::Monitor | Self::Kernel | Self::Partition => "bare",
            Self::Linux => "release",
        }
    }
}

/// Default address of the monitor in the linker scripts. A monitor that is linked for another board is built in a
/// separate folder, so that builds for two boards at the same time do not replace each other's files.
const FIRST_BOARD_LOAD: u64 = 0x4020_0000;

/// Executables by crate.
pub type Executables = BTreeMap<String, Vec<PathBuf>>;

/// The part of cargo's messages that says what was built where.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    executable: Option<PathBuf>,
    /// Everything that was made; of a library for C, its archive.
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

impl Message {
    /// The program, or the archive.
    fn product(self) -> Option<PathBuf> {
        let archive = |path: &PathBuf| path.extension().is_some_and(|name| name == "a");
        let archives = self.filenames.into_iter();
        self.executable
            .or_else(|| archives.into_iter().find(archive))
    }
}

/// Builds crates for one target; answers their executables.
///
/// `load` is the address at which [`Target::Monitor`] crates are linked.
///
/// # Errors
/// There is no cargo, or it failed; its messages are the error's detail.
pub fn build(
    root: &Path,
    target: Target,
    crates: &[String],
    load: u64,
) -> Result<Executables, BuildError> {
    if crates.is_empty() {
        return Ok(Executables::new());
    }
    let command = command(root, target, crates, load);
    match target {
        Target::Monitor | Target::Kernel => run_once(root, command, crates),
        Target::Partition | Target::Linux => run(root, command, crates),
    }
}

/// Builds a variant: with features, in a folder of its own, so that it replaces nothing.
///
/// # Errors
/// As for [`build`].
pub fn build_variant(
    root: &Path,
    target: Target,
    crates: &[String],
    features: &[String],
) -> Result<Executables, BuildError> {
    if crates.is_empty() || features.is_empty() {
        return build(root, target, crates, 0);
    }
    let mut command = command(root, target, crates, 0);
    let folder = target_folder(root);
    let features = features.join(",");
    command.args(["--features", &features]);
    command
        .arg("--target-dir")
        .arg(folder.join("variants").join(&features));
    run(root, command, crates)
}

/// Folder in which cargo leaves builds of the checkout.
fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Fails with the name of the folder if cargo cannot leave anything there; its own message would name a file of its own.
fn check_writable(folder: &Path) -> Result<(), BuildError> {
    let written = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    written.map(drop).map_err(|error| BuildError {
        help: "make the checkout writable, or name another folder in the environment variable CARGO_TARGET_DIR"
            .into(),
        ..BuildError::unwritable(folder, &error)
    })
}

fn run(root: &Path, mut command: Command, crates: &[String]) -> Result<Executables, BuildError> {
    check_writable(&target_folder(root))?;
    let output = command.output().map_err(|error| no_cargo(&error))?;
    if !output.status.success() {
        return Err(failed(crates, &output));
    }
    executables(root, &String::from_utf8_lossy(&output.stdout))
}

/// Builds what no other command of this process replaces, once: each image has a monitor, and cargo takes a quarter
/// of a second to find that it is up to date. The sources stay the same while the process runs.
fn run_once(root: &Path, command: Command, crates: &[String]) -> Result<Executables, BuildError> {
    static BUILT: Mutex<BTreeMap<String, Executables>> = Mutex::new(BTreeMap::new());
    let name = format!("{command:?}");
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(executables) = built.get(&name) {
        return Ok(executables.clone());
    }
    let executables = run(root, command, crates)?;
    built.insert(name, executables.clone());
    Ok(executables)
}

/// `cargo build` from the checkout, which says what it built.
fn cargo(root: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command
        .current_dir(root)
        .args(["build", "--message-format=json-render-diagnostics"]);
    // Flags meant for the machine at hand would be wrong for another.
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

fn command(root: &Path, target: Target, crates: &[String], load: u64) -> Command {
    let mut command = cargo(root);
    command.args(["--target", target.triple(), "--profile", target.profile()]);
    if target == Target::Linux {
        // Symbols are a third of a program, and the initial file system is copied at each start.
        command.args(["--config", "profile.release.strip=\"symbols\""]);
    }
    if target == Target::Monitor {
        let flags = format!(
            "target.{}.rustflags=[\"-Clink-arg=--defsym=LOAD_ADDRESS={load:#x}\"]",
            target.triple()
        );
        command.args(["--config", &flags]);
        if load != FIRST_BOARD_LOAD {
            let folder = format!("variants/load-{load:x}");
            let folder = target_folder(root).join(folder);
            command.arg("--target-dir").arg(folder);
        }
    }
    for name in crates {
        command.args(["--package", name]);
    }
    command
}

fn no_cargo(error: &std::io::Error) -> BuildError {
    let message = format!("cannot start `cargo`: {error}");
    BuildError::new(
        "no-cargo",
        message,
        "run `make setup`, which installs the toolchain",
    )
}

fn failed(crates: &[String], output: &Output) -> BuildError {
    let message = format!("building {} failed", crates.join(", "));
    let help = "the compiler's messages are above; a missing target is installed by `make setup`";
    BuildError::new("crate-build", message, help)
        .detail(String::from_utf8_lossy(&output.stderr).into_owned())
}

fn executables(root: &Path, messages: &str) -> Result<Executables, BuildError> {
    let mut found = Executables::new();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Message>(line) else {
            continue;
        };
        if message.reason != "compiler-artifact" {
            continue;
        }
        let manifest = message.manifest_path.clone();
        if let Some(product) = message.product() {
            let name = package_name(root, &manifest)?;
            found.entry(name).or_default().push(product);
        }
    }
    found
        .values_mut()
        .for_each(|executables| executables.sort());
    Ok(found)
}

/// Builds the crate of a folder outside the workspace, for a partition; where its program is. Its
/// `Cargo.toml` has a profile of its own.
///
/// # Errors
/// As for [`build`]; or it has no program, or several.
pub fn build_outside(root: &Path, folder: &Path) -> Result<PathBuf, BuildError> {
    outside(root, folder, Target::Partition, &[])
}

/// Builds a program for Linux that has a workspace of its own in the checkout; where it is.
///
/// # Errors
/// As for [`build`]; or it has no program, or several.
pub fn build_workspace(root: &Path, folder: &str) -> Result<PathBuf, BuildError> {
    let target = target_folder(root);
    let more = [
        OsString::from("--locked"),
        OsString::from("--target-dir"),
        target.into(),
    ];
    outside(root, &root.join(folder), Target::Linux, &more)
}

/// Builds crates for this machine.
///
/// # Errors
/// As for [`build_workspace`].
pub fn build_for_host(root: &Path, folder: &str) -> Result<PathBuf, BuildError> {
    let manifest = root.join(folder).join("Cargo.toml");
    let name = package_name(root, &manifest)?;
    let mut command = cargo(root);
    command
        .arg("--locked")
        .arg("--manifest-path")
        .arg(&manifest);
    command.arg("--target-dir").arg(target_folder(root));
    let output = command.output().map_err(|error| no_cargo(&error))?;
    if !output.status.success() {
        return Err(failed(&[name], &output));
    }
    let built = executables(root, &String::from_utf8_lossy(&output.stdout))?;
    only_executable(&built, &name).map(Path::to_path_buf)
}

fn outside(
    root: &Path,
    folder: &Path,
    target: Target,
    more: &[OsString],
) -> Result<PathBuf, BuildError> {
    let manifest = folder.join("Cargo.toml");
    let manifest =
        fs::canonicalize(&manifest).map_err(|error| BuildError::unreadable(&manifest, &error))?;
    let name = package_name(root, &manifest)?;
    let mut command = cargo(root);
    command.args(["--target", target.triple(), "--release"]);
    command.arg("--manifest-path").arg(&manifest).args(more);
    let output = command.output().map_err(|error| no_cargo(&error))?;
    if !output.status.success() {
        return Err(failed(&[name], &output));
    }
    let built = executables(root, &String::from_utf8_lossy(&output.stdout))?;
    only_executable(&built, &name).map(Path::to_path_buf)
}

/// The package of a manifest.
fn package_name(root: &Path, manifest: &Path) -> Result<String, BuildError> {
    let text = fs::read_to_string(root.join(manifest))
        .map_err(|error| BuildError::unreadable(manifest, &error))?;
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.map(str::to_owned)
        .ok_or_else(|| BuildError::internal(format!("`{}` has no name", manifest.display())))
}

/// The only executable of a crate.
///
/// # Errors
/// The crate has no executable, or several.
pub fn only_executable<'a>(built: &'a Executables, name: &str) -> Result<&'a Path, BuildError> {
    match built.get(name).map(Vec::as_slice) {
        Some([executable]) => Ok(executable),
        _ => {
            let message = format!("crate `{name}` does not build exactly one program");
            Err(BuildError::new(
                "crate-program",
                message,
                "name a crate with one `main`",
            ))
        }
    }
}

/// Ending of the name of a crate's second program: it is used where the partition has no VCPUs.
const WITHOUT_VCPUS: &str = "-priorities";

/// The program of a crate: the only one, or of one with a second program for partitions without VCPUs the one that
/// fits.
///
/// # Errors
/// The crate has no program, or others.
pub fn executable_for<'a>(
    built: &'a Executables,
    name: &str,
    has_vcpus: bool,
) -> Result<&'a Path, BuildError> {
    let second = format!("{name}{WITHOUT_VCPUS}");
    let found = built.get(name).map_or(&[][..], Vec::as_slice);
    let named = |program: &str| {
        found
            .iter()
            .find(|path| path.file_stem().is_some_and(|stem| stem == program))
    };
    match (found.len(), named(name), named(&second)) {
        (2, Some(_), Some(second)) if !has_vcpus => Ok(second),
        (2, Some(first), Some(_)) => Ok(first),
        _ => only_executable(built, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let folder = std::env::temp_dir().join(format!("bulkhead-target-{}", std::process::id()));
        assert!(check_writable(&folder).is_ok());
        assert_eq!(fs::read_dir(&folder).expect("its own").count(), 0);
        fs::remove_dir(&folder).expect("its own");
        // No user, root included, can make a folder below a file.
        fs::write(&folder, "").expect("a file");
        let error = check_writable(&folder.join("target")).expect_err("no folder");
        assert!(
            error.message.contains(&folder.display().to_string()),
            "{}",
            error.message
        );
        assert!(error.help.contains("CARGO_TARGET_DIR"), "{}", error.help);
        fs::remove_file(&folder).expect("its own");
    }
}
