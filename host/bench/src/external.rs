//! Experiments of the OpenMP runtime: programs of their own that speak the same JSON

use bulkhead_run::figures::Kind;
use serde::Deserialize;
use std::process::{Command, Stdio};

use crate::{Bench, BenchError, Context, Report, Row};

/// An experiment that `make -C FOLDER bench BENCH_FLAGS="ID --json"` runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct External {
    id: &'static str,
    folder: &'static str,
    reproduces: &'static str,
    promise: &'static str,
}

pub(crate) const OMP_MICRO: External = External {
    id: "omp-micro",
    folder: "omp",
    reproduces: "004 figure 9",
    promise: "each construct at least as fast as in both peers",
};
pub(crate) const OMP_BOTS: External = External {
    id: "omp-bots",
    folder: "omp",
    reproduces: "004 figure 10",
    promise: "each task program at least as fast as with both peers",
};
pub(crate) const OMP_CONSERVE: External = External {
    id: "omp-conserve",
    folder: "omp",
    reproduces: "004 appendix A",
    promise: "the ideal time in all runs",
};

/// What the program prints.
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
        Kind::Host
    }

    fn promise(&self) -> &'static str {
        self.promise
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let flags = format!("BENCH_FLAGS={} --json", self.id);
        let failed = |message: String| BenchError::Program {
            program: format!("make -C {} bench '{flags}'", self.folder),
            message,
        };
        let output = Command::new("make")
            .args(["-s", "-C"])
            .arg(context.root.join(self.folder))
            .args(["bench", &flags])
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
