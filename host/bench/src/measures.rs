//! Lines `bench NAME N AVERAGE WORST` of a measuring program, the average in hundredths

use crate::error::BenchError;
use crate::setting::Setting;
use crate::until::UntilDone;
use bulkhead_run::machine::Timing;
use bulkhead_run::{RunOptions, run};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measure {
    pub(crate) count: f64,
    pub(crate) average: f64,
    pub(crate) worst: f64,
}

/// By name.
#[derive(Debug, PartialEq)]
pub(crate) struct Measures(pub(crate) BTreeMap<String, Measure>);

impl Measures {
    /// Takes what another program measured.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Value of that name in the program's output.
    pub(crate) fn of(&self, name: &str, setting: &Setting) -> Result<&Measure, BenchError> {
        self.0.get(name).ok_or_else(|| BenchError::Incomplete {
            what: name.into(),
            folder: setting.run_folder(),
        })
    }
}

impl Setting {
    /// Runs it until the program in `partition` has measured all.
    pub(crate) fn measure(&self, partition: &str, timing: Timing) -> Result<Measures, BenchError> {
        let over = AtomicBool::new(false);
        let options = RunOptions {
            timing,
            ..RunOptions::of_manifest(&self.manifest)
        };
        let mut observer = UntilDone { over: &over };
        run(&self.manifest, &self.out, &options, &mut observer, &over)?;
        Ok(measures(&self.console(partition)?))
    }
}

/// Output of a measuring program.
pub(crate) fn measures(lines: &[String]) -> Measures {
    let parse = |line: &String| {
        let mut words = line.split_whitespace().skip_while(|&word| word != "bench");
        let name = words.nth(1)?.to_owned();
        let mut number = || words.next()?.parse::<f64>().ok();
        let measure = Measure {
            count: number()?,
            average: number()? / 100.0,
            worst: number()?,
        };
        Some((name, measure))
    };
    Measures(lines.iter().filter_map(parse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let lines = ["[    0.01] bench null-call 1000 7250 72", "bench done", "x"];
        let found = measures(&lines.map(str::to_owned));
        let measure = Measure {
            count: 1000.0,
            average: 72.5,
            worst: 72.0,
        };
        assert_eq!(found, Measures([("null-call".to_owned(), measure)].into()));
    }
}
