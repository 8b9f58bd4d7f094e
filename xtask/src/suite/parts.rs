//! The parts of the test suite

use crate::licences::BRIDGE;
use crate::workspace::Workspace;
use std::process::Command;

/// Crates that are built for the bare machine, by target.
const BARE: [(&str, &[&str]); 2] = [
    (
        "aarch64-unknown-none-softfloat",
        &["monitor", "kernel", "arch/aarch64", "drivers"],
    ),
    (
        "aarch64-unknown-none",
        &["rtos", "user", "tests/components"],
    ),
];
/// Whole systems under the emulator: no default member, so that `cargo test` does not run them.
const EMULATOR_TESTS: &str = "bulkhead-qemu-tests";
/// The interfaces that programs of others use: their documentation builds without warnings.
const DOCUMENTED: [&str; 4] = ["abi", "lib", "user/rt", "user/c"];
const LINUX_TARGET: &str = "aarch64-unknown-linux-musl";
const WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

/// A command and the name of its log.
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) command: Command,
    /// The part counts its tests; otherwise it is one test.
    pub(super) counts: bool,
    pub(super) order: Order,
}

/// When a part runs.
#[derive(Clone, Copy)]
pub(super) enum Order {
    /// After the part before it: cargo builds one thing at a time in the target folder, and often has work for one processor only.
    InTurn,
    /// Beside those: the part keeps about one processor busy, and waits for none of their builds.
    Beside,
    /// After all others: the part uses the whole machine, and has cases by the host's clock.
    Last,
}

/// All parts, quick ones first.
pub(super) fn all(workspace: &Workspace, long: bool) -> Vec<Part> {
    let suite = Suite { workspace, long };
    let mut parts = vec![
        suite.cargo(
            "format",
            &["fmt", "--all", "--check", "--", "--color", "never"],
        ),
        suite.cargo("rules", &["xtask", "check"]),
        suite.cargo("loops", &["xtask", "loops"]),
        suite.lint_host(),
        suite.lint_bare("clippy-monitor", BARE[0]),
        suite.lint_bare("clippy-rtos", BARE[1]),
        suite.lint_linux(),
        suite.documentation(),
        suite
            .cargo("unit", &["test", "--quiet", "--no-fail-fast"])
            .counting(),
        suite.loom().counting().ordered(Order::Beside),
    ];
    if long {
        parts.push(suite.ignored().counting());
        parts.push(suite.cargo("mutations", &["xtask", "mutations"]));
        parts.push(suite.cargo("licences-bridge", &["xtask", "licences", "--bridge"]));
        parts.push(suite.lint_bridge());
        parts.push(suite.bridge().counting());
    }
    let beside = |part: Part| part.ordered(Order::Beside);
    parts.extend(suite.models().map(Part::counting).map(beside));
    parts.extend(suite.omp().map(beside));
    let last = |part: Part| part.counting().ordered(Order::Last);
    parts.extend(suite.emulator().map(last));
    parts
}

impl Part {
    fn counting(self) -> Self {
        Self {
            counts: true,
            ..self
        }
    }

    fn ordered(self, order: Order) -> Self {
        Self { order, ..self }
    }
}

struct Suite<'w> {
    workspace: &'w Workspace,
    long: bool,
}

impl Suite<'_> {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.workspace.root);
        if self.long {
            command.env("BULKHEAD_LONG", "1");
        }
        command
    }

    fn cargo(&self, name: &'static str, arguments: &[&str]) -> Part {
        let mut command = self.command(env!("CARGO"));
        command.args(arguments);
        Part {
            name,
            command,
            counts: false,
            order: Order::InTurn,
        }
    }

    fn lint_host(&self) -> Part {
        let mut part = self.cargo("clippy-host", &["clippy", "--quiet", "--all-targets"]);
        self.select_host(&mut part);
        part.command.args(WARNINGS);
        part
    }

    /// All that the host builds. A part that takes some of it names all of it, too: with other packages go other
    /// features of what they depend on, and everything would be built once more.
    fn select_host(&self, part: &mut Part) {
        for package in self.workspace.metadata.workspace_default_packages() {
            part.command.args(["--package", &package.name]);
        }
        part.command.args(["--package", EMULATOR_TESTS]);
    }

    fn lint_bare(&self, name: &'static str, (target, folders): (&str, &[&str])) -> Part {
        let mut part = self.cargo(name, &["clippy", "--quiet", "--target", target]);
        for package in self.packages(folders) {
            part.command.args(["--package", &package]);
        }
        part.command.args(WARNINGS);
        part
    }

    /// Missing documentation is a lint of the workspace; this finds broken links.
    fn documentation(&self) -> Part {
        let arguments = ["doc", "--quiet", "--no-deps", "--target", BARE[1].0];
        let mut part = self.cargo("documentation", &arguments);
        for package in self.packages(&DOCUMENTED) {
            part.command.args(["--package", &package]);
        }
        part.command.env("RUSTDOCFLAGS", "-D warnings");
        part
    }

    fn lint_linux(&self) -> Part {
        let mut part = self.cargo(
            "clippy-linux",
            &["clippy", "--quiet", "--target", LINUX_TARGET],
        );
        for package in self.packages(&["linux"]) {
            part.command.args(["--package", &package]);
        }
        part.command.args(WARNINGS);
        part
    }

    /// Names of the crates below these folders.
    fn packages(&self, folders: &[&str]) -> Vec<String> {
        let members = self.workspace.metadata.workspace_packages();
        let within = |path: &std::path::Path| folders.iter().any(|folder| path.starts_with(folder));
        let chosen = members
            .iter()
            .filter(|package| within(self.workspace.folder_of(package)));
        chosen.map(|package| package.name.to_string()).collect()
    }

    /// Tests that are too slow for the usual run, optimised.
    fn ignored(&self) -> Part {
        let arguments = ["test", "--quiet", "--release", "--lib", "--tests"];
        let mut part = self.cargo("unit-long", &arguments);
        for package in ["bulkhead-kernel-core", "bulkhead-model", "bulkhead-sim"] {
            part.command.args(["--package", package]);
        }
        part.command.args(["--", "--ignored"]);
        part
    }

    /// In this target folder, as what the tool builds for guests is.
    fn of_bridge(&self, name: &'static str, arguments: &[&str]) -> Part {
        let mut part = self.cargo(name, arguments);
        let target = &self.workspace.metadata.target_directory;
        part.command.args(["--locked", "--manifest-path", BRIDGE]);
        part.command.args(["--target-dir", target.as_str()]);
        part
    }

    fn lint_bridge(&self) -> Part {
        let mut part = self.of_bridge("clippy-bridge", &["clippy", "--quiet", "--all-targets"]);
        part.command.args(WARNINGS);
        part
    }

    /// Two processes on the loopback network.
    fn bridge(&self) -> Part {
        self.of_bridge("bridge", &["test", "--no-fail-fast"])
    }

    /// The model checker wants its own build of the buffers.
    fn loom(&self) -> Part {
        let package = [
            "test",
            "--quiet",
            "--profile",
            "loom",
            "--package",
            "bulkhead-buffers",
            "--test",
            "loom",
        ];
        let mut part = self.cargo("loom", &package);
        let folder = self.workspace.metadata.target_directory.join("loom");
        part.command
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", folder);
        part
    }

    fn models(&self) -> Option<Part> {
        let script = self.workspace.root.join("models/check.sh");
        let command = self.command(script.to_str()?);
        script.exists().then_some(Part {
            name: "models",
            command,
            counts: false,
            order: Order::InTurn,
        })
    }

    /// Programs on the OpenMP runtime; the host's part has its unit tests.
    fn omp(&self) -> Option<Part> {
        let mut command = self.command("make");
        command.args(["--no-print-directory", "-C", "omp", "programs"]);
        let exists = self.workspace.root.join("omp/Makefile").exists();
        exists.then_some(Part {
            name: "omp",
            command,
            counts: false,
            order: Order::InTurn,
        })
    }

    /// Whole systems under the emulator.
    fn emulator(&self) -> Option<Part> {
        let mut members = self.workspace.metadata.workspace_packages().into_iter();
        let tests = members.find(|member| *member.name == EMULATOR_TESTS)?;
        let mut part = self.cargo("emulator", &["test", "--no-fail-fast"]);
        self.select_host(&mut part);
        for target in tests.targets.iter().filter(|target| target.is_test()) {
            part.command.args(["--test", &target.name]);
        }
        if self.long {
            part.command.args(["--", "--include-ignored"]);
        }
        Some(part)
    }
}
