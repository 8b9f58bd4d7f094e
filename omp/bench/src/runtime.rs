//! Runtimes, kernels, and runs of one on the other.

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Reason for a measurement that could not be made.
#[derive(Debug)]
pub(crate) struct Trouble(pub(crate) String);

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what failed, with the system's reason.
pub(crate) fn trouble(what: impl fmt::Display, why: impl fmt::Display) -> Trouble {
    Trouble(format!("{what}: {why}"))
}

/// One way to run a program.
#[derive(Clone, Debug)]
pub(crate) struct Runtime {
    /// Name in tables.
    pub(crate) name: &'static str,
    folder: Option<PathBuf>,
    policy: Option<&'static str>,
}

/// Everything a table needs.
#[derive(Debug)]
pub(crate) struct Bench {
    /// This runtime.
    pub(crate) ours: Runtime,
    /// This runtime, built to trace itself.
    pub(crate) traced: Runtime,
    /// GCC's (default, active, passive) and LLVM's.
    pub(crate) peers: Vec<Runtime>,
    /// Fewer repetitions.
    pub(crate) quick: bool,
    /// Part of the names of the rows that are measured.
    pub(crate) only: String,
    kernels: PathBuf,
    out: PathBuf,
}

/// Debian's folder of LLVM's releases.
const LLVM_FOLDERS: &str = "/usr/lib";

fn absolute(path: &Path) -> Result<PathBuf, Trouble> {
    fs::canonicalize(path).map_err(|why| trouble(path.display(), why))
}

/// LLVM's runtime; of several releases one that is installed.
fn llvm_library() -> Result<PathBuf, Trouble> {
    let folders = fs::read_dir(LLVM_FOLDERS).map_err(|why| trouble(LLVM_FOLDERS, why))?;
    let is_llvm = |folder: &PathBuf| folder.to_string_lossy().contains("/llvm-");
    let folders = folders.flatten().map(|entry| entry.path()).filter(is_llvm);
    let libraries = folders.map(|folder| folder.join("lib/libomp.so.5"));
    let found = libraries.filter(|library| library.exists()).max();
    found.ok_or(Trouble(format!(
        "LLVM's libomp.so.5 is in no {LLVM_FOLDERS}/llvm-*/lib; omp/packages.txt names its package"
    )))
}

/// A folder in which `libgomp.so.1` is LLVM's runtime, through its GOMP layer.
fn llvm_folder(out: &Path) -> Result<PathBuf, Trouble> {
    let library = absolute(&llvm_library()?)?;
    let folder = out.join("libomp");
    fs::create_dir_all(&folder).map_err(|why| trouble(folder.display(), why))?;
    let link = folder.join("libgomp.so.1");
    if !link.exists() {
        std::os::unix::fs::symlink(library, &link).map_err(|why| trouble(link.display(), why))?;
    }
    absolute(&folder)
}

impl Bench {
    /// Finds the runtimes and compiles the kernels.
    pub(crate) fn new(
        runtime: &Path,
        traced: &Path,
        kernels: &Path,
        out: &Path,
        quick: bool,
        only: &str,
    ) -> Result<Self, Trouble> {
        fs::create_dir_all(out).map_err(|why| trouble(out.display(), why))?;
        let folder = |name, folder| Runtime {
            name,
            folder,
            policy: None,
        };
        let gcc = |name, policy| Runtime {
            name,
            folder: None,
            policy,
        };
        let bench = Self {
            ours: folder("ours", Some(absolute(runtime)?)),
            traced: folder("traced", Some(absolute(traced)?)),
            peers: vec![
                gcc("libgomp", None),
                gcc("libgomp_active", Some("active")),
                gcc("libgomp_passive", Some("passive")),
                folder("libomp", Some(llvm_folder(out)?)),
            ],
            quick,
            only: only.to_owned(),
            kernels: absolute(kernels)?,
            out: absolute(out)?,
        };
        bench.compile()?;
        Ok(bench)
    }

    fn compile(&self) -> Result<(), Trouble> {
        let sources = fs::read_dir(&self.kernels).map_err(|why| trouble("kernels", why))?;
        for source in sources.flatten().map(|entry| entry.path()) {
            if source.extension().is_none_or(|extension| extension != "c") {
                continue;
            }
            let program = self.out.join(source.file_stem().unwrap_or_default());
            let done = Command::new("gcc")
                .args(["-std=gnu11", "-O2", "-fopenmp", "-o"])
                .args([&program, &source])
                .arg("-lm")
                .status()
                .map_err(|why| trouble("gcc", why))?;
            if !done.success() {
                return Err(trouble(source.display(), "gcc failed"));
            }
        }
        Ok(())
    }

    /// Lines that `kernel` prints on `runtime` with `threads` threads: a line of numbers each.
    pub(crate) fn run(
        &self,
        runtime: &Runtime,
        threads: u32,
        kernel: &str,
        arguments: &[&str],
        variables: &[(&str, &Path)],
    ) -> Result<Vec<Vec<f64>>, Trouble> {
        let mut command = self.command(runtime, threads, kernel, arguments);
        command.envs(variables.iter().copied());
        let what = format!("{kernel} on {} with {threads} threads", runtime.name);
        let output = command.output().map_err(|why| trouble(&what, why))?;
        if !output.status.success() {
            return Err(trouble(
                what,
                format!("{}: {}", output.status, lossy(&output.stderr)),
            ));
        }
        Ok(lossy(&output.stdout).lines().map(numbers).collect())
    }

    fn command(
        &self,
        runtime: &Runtime,
        threads: u32,
        kernel: &str,
        arguments: &[&str],
    ) -> Command {
        let mut command = Command::new("timeout");
        command
            .arg("300")
            .arg(self.out.join(kernel))
            .args(arguments);
        // The C library's trimming adapts itself to the order of frees, which differs among runtimes:
        // by that alone a kernel takes a tenth more or less in page faults.
        let keep = (1u32 << 30).to_string();
        command
            .env_clear()
            .env("MALLOC_TRIM_THRESHOLD_", &keep)
            .env("MALLOC_MMAP_THRESHOLD_", &keep)
            .env("OMP_NUM_THREADS", threads.to_string())
            .env("PATH", "/usr/bin:/bin");
        if let Some(folder) = &runtime.folder {
            command.env("LD_LIBRARY_PATH", folder);
        }
        if let Some(policy) = runtime.policy {
            command.env("OMP_WAIT_POLICY", policy);
        }
        command
    }

    /// A process that runs `kernel` on `runtime` at each of its turns, and is stopped between them.
    pub(crate) fn player(
        &self,
        runtime: &Runtime,
        threads: u32,
        kernel: &str,
        arguments: &[&str],
    ) -> Result<Player, Trouble> {
        let what = format!("{kernel} {} on {}", arguments.join(" "), runtime.name);
        let mut command = self.command(runtime, threads, kernel, arguments);
        command
            .env("BENCH_TURNS", "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|why| trouble(&what, why))?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(turns), Some(lines)) => Ok(Player {
                what,
                process,
                turns: Some(turns),
                lines: BufReader::new(lines),
            }),
            _ => Err(trouble(what, "it has no pipes")),
        }
    }

    /// Place for a file of a run.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }
}

/// A process that runs a kernel turn by turn with others.
#[derive(Debug)]
pub(crate) struct Player {
    what: String,
    process: Child,
    turns: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl Player {
    /// The numbers of its next run. Afterwards the process is stopped: idle threads of some runtimes spin for a while.
    pub(crate) fn play(&mut self) -> Result<Vec<f64>, Trouble> {
        let mut line = String::new();
        self.signal(Signal::SIGCONT)?;
        let sent = self.turns.as_mut().map(|turns| turns.write_all(b"."));
        let received = sent
            .transpose()
            .and_then(|_| self.lines.read_line(&mut line));
        received.map_err(|why| trouble(&self.what, why))?;
        self.signal(Signal::SIGSTOP)?;
        Ok(numbers(&line))
    }

    /// Sends a signal to the process group of `timeout`, which leads one.
    fn signal(&self, signal: Signal) -> Result<(), Trouble> {
        let group = Pid::from_raw(self.process.id() as i32);
        match killpg(group, signal) {
            // `timeout` has not made its group yet.
            Err(Errno::ESRCH) if signal == Signal::SIGCONT => Ok(()),
            sent => sent.map_err(|why| trouble(&self.what, why)),
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // It ends with its turns; a status says nothing that the lines did not.
        self.turns = None;
        let _ended_already = self.signal(Signal::SIGCONT);
        let _status = self.process.wait();
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// The middle of some numbers.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The least of some numbers.
pub(crate) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}
