//! Experiments that are programs of their own and speak the same JSON

use bulkhead_run::figures::Kind;
use serde::Deserialize;
use std::process::{Command, Stdio};

use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Report, Row};
use crate::setting::Context;

/// An experiment on the development machine that a command runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct External {
    id: &'static str,
    kind: Kind,
    reproduces: &'static str,
    guarantee: &'static str,
    /// Program and arguments, run in the root of the checkout.
    command: &'static [&'static str],
}

pub(crate) const OMP_MICRO: External = External {
    id: "omp-micro",
    kind: Kind::Host,
    reproduces: "004 figure 9",
    guarantee: "each construct at least as fast as in both peers; of ten thousand the worst at most half of libgomp's, or what the host makes of constructs of that length",
    command: &[
        "make",
        "-s",
        "-C",
        "omp",
        "bench",
        "BENCH_FLAGS=omp-micro --json",
    ],
};
pub(crate) const OMP_BOTS: External = External {
    id: "omp-bots",
    kind: Kind::Host,
    reproduces: "004 figure 10",
    guarantee: "each task program at least as fast as with both peers",
    command: &[
        "make",
        "-s",
        "-C",
        "omp",
        "bench",
        "BENCH_FLAGS=omp-bots --json",
    ],
};
pub(crate) const OMP_APPS: External = External {
    id: "omp-apps",
    kind: Kind::Host,
    reproduces: "004 figure 10",
    guarantee: "each mini-application at most 2 % slower than with the better of both peers, with 1, 2 and 4 threads",
    command: &[
        "make",
        "-s",
        "-C",
        "omp",
        "bench",
        "BENCH_FLAGS=omp-apps --json",
    ],
};
pub(crate) const OMP_CONSTRUCTS: External = External {
    id: "omp-constructs",
    kind: Kind::Host,
    reproduces: "004 figure 9",
    guarantee: "each construct at most 2 % slower than in the better of both peers, with 1 to 8 threads",
    command: &[
        "make",
        "-s",
        "-C",
        "omp",
        "bench",
        "BENCH_FLAGS=omp-constructs --json",
    ],
};
pub(crate) const OMP_CONSERVE: External = External {
    id: "omp-conserve",
    kind: Kind::Host,
    reproduces: "004 appendix A",
    guarantee: "the ideal time in all runs",
    command: &[
        "make",
        "-s",
        "-C",
        "omp",
        "bench",
        "BENCH_FLAGS=omp-conserve --json",
    ],
};
pub(crate) const BUFFERS_HOST: External = External {
    id: "buffers-host",
    kind: Kind::Host,
    reproduces: "-",
    guarantee: "at least as fast as the fastest of the peers; four-slot write and read within 45 cycles",
    command: &[
        "cargo",
        "run",
        "--quiet",
        "--release",
        "--manifest-path",
        "lib/buffers/compare/Cargo.toml",
        "--target-dir",
        "target/buffers-compare",
    ],
};

pub(crate) const SWITCH_HOST: External = External {
    id: "switch-host",
    kind: Kind::Host,
    reproduces: "004 §V",
    guarantee: "a thread switch in user mode, all checks included, within 25 cycles",
    command: &[
        "cargo",
        "run",
        "--quiet",
        "--release",
        "--package",
        "bulkhead-hosted",
        "--example",
        "switch_host",
    ],
};

/// Attack programs of the repository are cases under the emulator: `tests/qemu/README.md`, key `attack`.
pub(crate) const ATTACK: External = External {
    id: "attack",
    kind: Kind::Virtual,
    reproduces: "20 what security means; 10",
    guarantee: "each attack is contained and named, and its neighbours' worst delays are within what the description admits",
    command: &[
        "cargo",
        "test",
        "--quiet",
        "--package",
        "bulkhead-qemu-tests",
        "--test",
        "qemu",
        "--",
        "--attacks",
    ],
};

/// Output of the program.
#[derive(Debug, Deserialize)]
struct Printed {
    rows: Vec<Row>,
}

impl Bench for External {
    fn id(&self) -> &'static str {
        self.id
    }

    fn reproduces(&self) -> &'static str {
        self.reproduces
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn guarantee(&self) -> &'static str {
        self.guarantee
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let failed = |message: String| BenchError::Program {
            program: self.command.join(" "),
            message,
        };
        let [program, arguments @ ..] = self.command else {
            return Err(failed("names no program".into()));
        };
        let output = Command::new(program)
            .args(arguments)
            .current_dir(&context.root)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let object = text.find('{').map(|start| &text[start..]);
        let object = object.ok_or_else(|| failed(format!("no results; {}", output.status)))?;
        let printed: Printed =
            serde_json::from_str(object.trim_end()).map_err(|error| failed(error.to_string()))?;
        Ok(self.report(printed.rows))
    }
}
