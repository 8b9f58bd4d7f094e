//! Components built from a folder of one's own: a Rust crate, or C and C++ files
//!
//! A folder with a `Cargo.toml` is a crate outside the workspace; it is built by the checkout's
//! toolchain. C and C++ files are compiled against the headers of a runtime, those of the C library and
//! the compiler's own, and no others, and linked with that runtime: the one of [`RUNTIMES`] that their
//! text asks for (`bulkhead_model::program`). The commands are left beside the sources for editors.

use bulkhead_model::program::{CPP, Runtime as Kind, c_files};
use bulkhead_model::system::Folder;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::crates::{self, Target};
use crate::error::BuildError;
use crate::output;

/// Runtime of C programs; paths are below the checkout.
struct Runtime {
    /// Runtime that the sources of a program ask for.
    kind: Kind,
    /// The static library.
    library: &'static str,
    /// Folders of its headers.
    include: &'static [&'static str],
    /// Parts of it that are C.
    sources: &'static [&'static str],
    flags: &'static [&'static str],
}

const RUNTIMES: [Runtime; 5] = [
    // Programs are the user's, and often not new: only their errors matter.
    Runtime {
        kind: Kind::OpenMp,
        library: "bulkhead-omp-c",
        include: &["user/omp/include"],
        sources: &["omp/libgomp.c"],
        flags: &["-fopenmp", "-fno-math-errno", "-DBULKHEAD_OMP_STATIC"],
    },
    // Functions of tuned pipes.
    Runtime {
        kind: Kind::Pipes,
        library: "bulkhead-pipes-c",
        include: &["user/pipe-functions/include"],
        sources: &[],
        flags: &["-Wall", "-Wextra"],
    },
    // The same, executed by a component.
    Runtime {
        kind: Kind::PipeFunctions,
        library: "bulkhead-pipe-functions-c",
        include: &["user/pipe-functions/include"],
        sources: &[],
        flags: &["-Wall", "-Wextra"],
    },
    // Threads of SliteOS.
    Runtime {
        kind: Kind::Slite,
        library: "bulkhead-slite-c",
        include: &["user/c/include"],
        sources: &[],
        flags: &["-Wall", "-Wextra"],
    },
    // One thread beside other components.
    Runtime {
        kind: Kind::Component,
        library: "bulkhead-component-c",
        include: &["user/c/include"],
        sources: &[],
        flags: &["-Wall", "-Wextra"],
    },
];

/// The project's part of the C library.
const LIBRARY_SOURCES: [&str; 5] = [
    "user/libc/c/float.c",
    "user/libc/c/lines.c",
    "user/libc/c/printf.c",
    "user/libc/c/process.c",
    "user/libc/c/streams.c",
];
/// The C library that the set-up fetches, from the root of the checkout.
const PICOLIBC: &str = ".cache/debian-arm64/picolibc";

/// Names of the cross compilers, C and C++, in the order of preference.
const COMPILERS: [[&str; 2]; 6] = [
    ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"],
    ["aarch64-linux-gnu-gcc-14", "aarch64-linux-gnu-g++-14"],
    ["aarch64-linux-gnu-gcc-13", "aarch64-linux-gnu-g++-13"],
    ["aarch64-linux-gnu-gcc-12", "aarch64-linux-gnu-g++-12"],
    ["aarch64-linux-gnu-gcc-11", "aarch64-linux-gnu-g++-11"],
    ["aarch64-linux-gnu-gcc-10", "aarch64-linux-gnu-g++-10"],
];
const COMPILE: &[&str] = &[
    "-O2",
    "-g1",
    "-fno-pic",
    "-fno-stack-protector",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-asynchronous-unwind-tables",
    "-mno-outline-atomics",
    "-nostdinc",
    // The clocks of `time.h`.
    "-D_POSIX_TIMERS=200112L",
    "-D_POSIX_MONOTONIC_CLOCK=200112L",
    "-D_POSIX_CPUTIME=200112L",
    "-c",
];
const C: &[&str] = &["-std=gnu11"];
/// There is no unwinder, and components have one thread while constructors run.
const CXX: &[&str] = &[
    "-std=gnu++17",
    "-nostdinc++",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
];
const LINK: &[&str] = &[
    "-nostdlib",
    "-static",
    "-no-pie",
    "-Wl,--gc-sections,--build-id=none,-z,max-page-size=4096,--no-warn-rwx-segments,-u,_start",
];

/// An entry of `compile_commands.json` (Clang, *JSON Compilation Database Format Specification*).
#[derive(Serialize)]
struct CompileCommand {
    directory: PathBuf,
    file: PathBuf,
    arguments: Vec<String>,
}

/// Builds the program of a folder as `name` in `out`, if it is of C files, for a component that is a scheduler or not. Returns its
/// path.
///
/// # Errors
/// There is no program, no compiler, or it failed: its messages are the error's detail.
pub fn build(
    root: &Path,
    folder: &Folder,
    is_scheduler: bool,
    [out, name]: [&Path; 2],
) -> Result<PathBuf, BuildError> {
    let path = &folder.path;
    if path.join("Cargo.toml").is_file() {
        return crates::build_outside(root, path);
    }
    fs::read_dir(path).map_err(|error| BuildError::unreadable(path, &error))?;
    let Some(kind) = Kind::of(path).map(|kind| kind.in_component(is_scheduler)) else {
        let message = format!("`{}` has no program", path.display());
        let help = "a folder holds either a crate, with its Cargo.toml, or C or C++ files";
        return Err(BuildError::new("source-empty", message, help));
    };
    let mut runtimes = RUNTIMES.iter();
    let runtime = runtimes.find(|runtime| runtime.kind == kind);
    let runtime = runtime.ok_or_else(|| BuildError::internal("a runtime is missing".into()))?;
    fs::create_dir_all(out).map_err(|error| BuildError::unwritable(out, &error))?;
    let program = out.join(name).with_added_extension("elf");
    let build = Build {
        root,
        folder,
        runtime,
        tools: Tools::find(root)?,
    };
    build.write_commands()?;
    let built = crates::build(root, Target::Partition, &[runtime.library.to_owned()], 0)?;
    let library = crates::only_executable(&built, runtime.library)?;
    build.link(&build.compile(&program)?, library, &program)?;
    Ok(program)
}

/// Compilers and their folders of headers.
struct Tools {
    compilers: [OsString; 2],
    /// Of the compiler itself: `omp.h`, `stdint.h`, `stdarg.h` …
    own_headers: PathBuf,
    library: PathBuf,
}

impl Tools {
    fn find(root: &Path) -> Result<Self, BuildError> {
        let compilers = compilers()?;
        let output = Command::new(&compilers[0])
            .arg("-print-file-name=include")
            .output();
        let output = output.map_err(|_| no_compiler())?;
        let library = root.join(PICOLIBC);
        if !library.join("lib/libc.a").is_file() {
            return Err(BuildError::new(
                "no-c-library",
                "the C library of components is not there yet".into(),
                "run `make setup`, which fetches it",
            ));
        }
        Ok(Self {
            compilers,
            own_headers: String::from_utf8_lossy(&output.stdout).trim().into(),
            library,
        })
    }
}

struct Build<'a> {
    root: &'a Path,
    folder: &'a Folder,
    runtime: &'a Runtime,
    tools: Tools,
}

impl Build<'_> {
    /// The program's own files, then those of its libraries.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = c_files(&self.folder.path);
        for source in &self.folder.sources {
            match source.is_dir() {
                true => files.extend(c_files(source)),
                false => files.push(source.clone()),
            }
        }
        files
    }

    /// The command that compiles a file.
    fn command(&self, file: &Path) -> Command {
        let suffix = file.extension().unwrap_or_default();
        let is_cxx = CPP.iter().any(|one| suffix == *one);
        let mut command = Command::new(&self.tools.compilers[usize::from(is_cxx)]);
        command.args(COMPILE).args(if is_cxx { CXX } else { C });
        command.args(self.runtime.flags);
        for name in &self.folder.define {
            command.arg(format!("-D{name}"));
        }
        let runtime = self.runtime.include.iter().map(|one| self.root.join(one));
        let program = std::iter::once(self.folder.path.clone());
        for include in program
            .chain(self.folder.include.iter().cloned())
            .chain(runtime)
        {
            command.arg("-I").arg(include);
        }
        for system in [&self.tools.own_headers, &self.tools.library.join("include")] {
            command.arg("-isystem").arg(system);
        }
        command.arg(file);
        command
    }

    /// Leaves the commands beside the sources, where editors look for them. A folder that cannot be written has none.
    fn write_commands(&self) -> Result<(), BuildError> {
        let directory = std::env::current_dir().unwrap_or_default();
        let commands = self.files().into_iter().map(|file| {
            let command = self.command(&file);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            CompileCommand {
                directory: directory.clone(),
                arguments: words.map(|word| word.to_string_lossy().into()).collect(),
                file,
            }
        });
        let commands: Vec<_> = commands.collect();
        let text = serde_json::to_string_pretty(&commands)
            .map_err(|error| BuildError::internal(error.to_string()))?;
        let path = self.folder.path.join("compile_commands.json");
        let is_same = fs::read(&path).is_ok_and(|old| old == text.as_bytes());
        if !is_same {
            let _read_only = output::write(&path, text.as_bytes());
        }
        Ok(())
    }

    /// Compiles all files; the objects.
    fn compile(&self, program: &Path) -> Result<Vec<PathBuf>, BuildError> {
        let parts = self.runtime.sources.iter().chain(&LIBRARY_SOURCES);
        let parts = parts.map(|source| self.root.join(source));
        let files: Vec<_> = self.files().into_iter().chain(parts).collect();
        let object = |number| program.with_extension(format!("{number}.o"));
        let objects: Vec<_> = (0..files.len()).map(object).collect();
        let work: Vec<_> = files.iter().zip(&objects).collect();
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let share = work.len().div_ceil(workers).max(1);
        std::thread::scope(|scope| {
            let compile = |work: &[(&PathBuf, &PathBuf)]| {
                work.iter().try_for_each(|(file, object)| {
                    let mut command = self.command(file);
                    command.arg("-o").arg(object);
                    self.run(command)
                })
            };
            let workers = work
                .chunks(share)
                .map(|work| scope.spawn(move || compile(work)));
            let workers: Vec<_> = workers.collect();
            let ended = workers.into_iter().map(|worker| worker.join());
            let ended =
                ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended
                .collect::<Vec<_>>()
                .into_iter()
                .collect::<Result<(), _>>()
        })?;
        Ok(objects)
    }

    fn link(&self, objects: &[PathBuf], library: &Path, program: &Path) -> Result<(), BuildError> {
        // Linked without the languages' flags: with them the compiler asks for libraries of its own.
        let mut command = Command::new(&self.tools.compilers[0]);
        command.args(LINK);
        let script = self.root.join("user/rt/bulkhead-component.ld");
        command.arg("-T").arg(script).args(objects);
        command.arg("-Wl,--start-group").arg(library);
        command.args(["libc.a", "libm.a"].map(|name| self.tools.library.join("lib").join(name)));
        command.arg("-Wl,--end-group").arg("-o").arg(program);
        self.run(command)?;
        let remove = |object: &PathBuf| fs::remove_file(object);
        let mut objects = objects.iter();
        objects
            .try_for_each(remove)
            .map_err(|error| BuildError::unreadable(program, &error))
    }

    /// Runs the compiler and shows its warnings to the author of the program.
    fn run(&self, mut command: Command) -> Result<(), BuildError> {
        let output = command.output().map_err(|_| no_compiler())?;
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            eprint!("{messages}");
            return Ok(());
        }
        let message = format!("compiling `{}` failed", self.folder.path.display());
        let header = self.runtime.kind.header();
        let help = format!(
            "the compiler's messages are above; `{header}` and the headers of the C library declare what there is"
        );
        Err(BuildError::new("source-build", message, &help).detail(messages))
    }
}

/// The cross compilers: what `BULKHEAD_CC` and `BULKHEAD_CXX` name, or the first that there are.
fn compilers() -> Result<[OsString; 2], BuildError> {
    let named = |variable, usual: &str| std::env::var_os(variable).unwrap_or_else(|| usual.into());
    let is_there = |name: &OsStr| Command::new(name).arg("--version").output().is_ok();
    let native = cfg!(target_arch = "aarch64").then_some(["gcc", "g++"]);
    let pairs = native.into_iter().chain(COMPILERS);
    let mut pairs = pairs.map(|[c, cxx]| [named("BULKHEAD_CC", c), named("BULKHEAD_CXX", cxx)]);
    let [c, cxx] = pairs.find(|[c, _]| is_there(c)).ok_or_else(no_compiler)?;
    // A C++ compiler may be there under another name than the C compiler's.
    let mut others = COMPILERS.iter().map(|[_, cxx]| OsString::from(cxx));
    let cxx = match is_there(&cxx) {
        true => cxx,
        false => others.find(|name| is_there(name)).unwrap_or(cxx),
    };
    Ok([c, cxx])
}

fn no_compiler() -> BuildError {
    BuildError::new(
        "no-compiler",
        "there is no C or C++ compiler for the board's processor".into(),
        "run `make setup`, which installs them, or name them in the environment variables BULKHEAD_CC and BULKHEAD_CXX",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_program_is_refused() {
        let folder = std::env::temp_dir().join(format!("bulkhead-sources-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let empty = Folder {
            path: folder.clone(),
            sources: Vec::new(),
            include: Vec::new(),
            define: Vec::new(),
        };
        let refused = build(Path::new("."), &empty, false, [&folder, Path::new("x")])
            .expect_err("nothing there");
        assert_eq!(refused.id, "source-empty");
        fs::remove_dir_all(&folder).expect("its own");
    }
}
