//! Components built from a folder of one's own: a Rust crate, or C files
//!
//! A folder with a `Cargo.toml` is a crate outside the workspace; it is built by the checkout's
//! toolchain. C files are compiled against the headers of a runtime and linked with it: the one of
//! [`RUNTIMES`] that their text asks for (`bulkhead_model::program`).

use bulkhead_model::program::{Runtime as Kind, c_files};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::crates::{self, Target};
use crate::error::BuildError;

/// Runtime of C programs; paths are below the checkout.
struct Runtime {
    /// Runtime that the sources of a program ask for.
    kind: Kind,
    /// The static library.
    library: &'static str,
    include: &'static str,
    /// Parts of it that are C.
    sources: &'static [&'static str],
    flags: &'static [&'static str],
    /// Header that declares its functions.
    header: &'static str,
    /// The compiler's own headers are all that there are beside `include`.
    alone: bool,
}

const RUNTIMES: [Runtime; 3] = [
    // Programs are the user's, and often not new: only their errors matter.
    Runtime {
        kind: Kind::OpenMp,
        library: "bulkhead-omp-c",
        include: "user/omp/include",
        sources: &[
            "user/c/libc/printf.c",
            "user/c/libc/float.c",
            "user/omp/libc/stdio.c",
            "omp/libgomp.c",
        ],
        flags: &[
            "-fopenmp",
            "-fbuiltin",
            "-fno-math-errno",
            "-DBULKHEAD_OMP_STATIC",
            "-nostdinc",
        ],
        header: "user/omp/include",
        alone: true,
    },
    // Functions of tuned pipes.
    Runtime {
        kind: Kind::Pipes,
        library: "bulkhead-pipes-c",
        include: "user/pipes/c/include",
        sources: &[],
        flags: &["-Wall", "-Wextra"],
        header: "pipe.h",
        alone: false,
    },
    // Threads of SliteOS.
    Runtime {
        kind: Kind::Slite,
        library: "bulkhead-slite-c",
        include: "user/c/include",
        sources: &["user/c/libc/printf.c", "user/c/libc/float.c"],
        flags: &["-Wall", "-Wextra"],
        header: "slite.h",
        alone: false,
    },
];

/// Names of the cross compiler, in the order of preference.
const COMPILERS: [&str; 6] = [
    "aarch64-linux-gnu-gcc",
    "aarch64-linux-gnu-gcc-14",
    "aarch64-linux-gnu-gcc-13",
    "aarch64-linux-gnu-gcc-12",
    "aarch64-linux-gnu-gcc-11",
    "aarch64-linux-gnu-gcc-10",
];
/// For the bare machine: what it lacks is not called, and every function can be left out.
const COMPILE: &[&str] = &[
    "-std=gnu11",
    "-O2",
    "-g1",
    "-ffreestanding",
    "-fno-pic",
    "-fno-stack-protector",
    "-ffunction-sections",
    "-fdata-sections",
    "-mno-outline-atomics",
    "-c",
];
const LINK: &[&str] = &[
    "-nostdlib",
    "-static",
    "-no-pie",
    "-Wl,--gc-sections,--build-id=none,-z,max-page-size=4096,--no-warn-rwx-segments,-u,_start",
];

/// Builds the program of `folder`; where it is. C programs are left in `out`.
///
/// # Errors
/// There is no program, no compiler, or it failed: its messages are the error's detail.
pub fn build(root: &Path, folder: &Path, out: &Path) -> Result<PathBuf, BuildError> {
    if folder.join("Cargo.toml").is_file() {
        return crates::build_outside(root, folder);
    }
    fs::read_dir(folder).map_err(|error| BuildError::unreadable(folder, &error))?;
    let files = c_files(folder);
    let Some(runtime) = runtime(folder) else {
        let message = format!("`{}` has no program", folder.display());
        let help = "a folder holds either a crate, with its Cargo.toml, or C files";
        return Err(BuildError::new("source-empty", message, help));
    };
    let built = crates::build(root, Target::Partition, &[runtime.library.to_owned()], 0)?;
    let library = crates::only_executable(&built, runtime.library)?;
    fs::create_dir_all(out).map_err(|error| BuildError::unwritable(out, &error))?;
    let name = folder.file_name().unwrap_or("program".as_ref());
    let program = out.join(name).with_extension("elf");
    compile(root, folder, &files, (runtime, library), &program)?;
    Ok(program)
}

fn runtime(folder: &Path) -> Option<&'static Runtime> {
    let kind = Kind::of(folder)?;
    RUNTIMES.iter().find(|runtime| runtime.kind == kind)
}

fn compile(
    root: &Path,
    folder: &Path,
    files: &[PathBuf],
    (runtime, library): (&Runtime, &Path),
    program: &Path,
) -> Result<(), BuildError> {
    let compiler = compiler()?;
    let headers = match runtime.alone {
        true => vec!["-isystem".into(), own_headers(&compiler)?],
        false => Vec::new(),
    };
    let sources = runtime.sources.iter().map(|source| root.join(source));
    let objects: Vec<_> = (0..files.len() + runtime.sources.len())
        .map(|number| program.with_extension(format!("{number}.o")))
        .collect();
    for (source, object) in files.iter().cloned().chain(sources).zip(&objects) {
        let mut command = Command::new(&compiler);
        command.args(COMPILE).args(runtime.flags).args(&headers);
        for folder in [&root.join(runtime.include), folder] {
            command.arg("-I").arg(folder);
        }
        command.arg(source).arg("-o").arg(object);
        run_compiler(command, folder, runtime)?;
    }
    // Linked without the languages' flags: with them the compiler asks for libraries of its own.
    let mut command = Command::new(&compiler);
    command.args(LINK);
    command
        .arg("-T")
        .arg(root.join("user/rt/bulkhead-component.ld"));
    command.args(&objects).arg(library).arg("-o").arg(program);
    run_compiler(command, folder, runtime)?;
    let remove = |object: &PathBuf| fs::remove_file(object);
    objects
        .iter()
        .try_for_each(remove)
        .map_err(|error| BuildError::unreadable(program, &error))
}

/// Runs the compiler and shows its warnings to the author of the program.
fn run_compiler(mut command: Command, folder: &Path, runtime: &Runtime) -> Result<(), BuildError> {
    let output = command.output().map_err(|_| no_compiler())?;
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        eprint!("{messages}");
        return Ok(());
    }
    let message = format!("compiling `{}` failed", folder.display());
    let help = format!(
        "the compiler's messages are above; {} says what there is",
        runtime.header
    );
    Err(BuildError::new("source-build", message, &help).detail(messages))
}

/// Folder of the compiler's own headers: `omp.h`, `stdint.h`, `stdarg.h` …
fn own_headers(compiler: &OsStr) -> Result<String, BuildError> {
    let output = Command::new(compiler)
        .arg("-print-file-name=include")
        .output();
    let output = output.map_err(|_| no_compiler())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The cross compiler: what `BULKHEAD_CC` names, or the first that there is.
fn compiler() -> Result<OsString, BuildError> {
    if let Some(named) = std::env::var_os("BULKHEAD_CC") {
        return Ok(named);
    }
    let there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let native = cfg!(target_arch = "aarch64").then_some("gcc");
    let mut names = native.into_iter().chain(COMPILERS);
    names.find(there).map(Into::into).ok_or_else(no_compiler)
}

fn no_compiler() -> BuildError {
    BuildError::new(
        "no-compiler",
        "there is no C compiler for the board's processor".into(),
        "run `make setup`, which installs one, or name one in the environment variable BULKHEAD_CC",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_program_is_refused() {
        let folder = std::env::temp_dir().join(format!("bulkhead-sources-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let refused = build(Path::new("."), &folder, &folder).expect_err("nothing there");
        assert_eq!(refused.id, "source-empty");
        fs::remove_dir_all(&folder).expect("its own");
    }
}
