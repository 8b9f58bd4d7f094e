//! Pipe functions in a file, and what is said about pipelines
//!
//! The file's names become indices here; the library in `lib/tpipe` solves pipelines over the result.

use crate::diagnostic::{Diagnostic, Report, Severity};
use crate::document::{self, At, Table};
use crate::draft::{Field, Section, display};
use crate::quantity::time_text;
use crate::registry::FUNCTIONS;
use crate::rules::shape::syntax;
use crate::shape;
use crate::source::Sources;
use crate::suggestion::advice;
use crate::text_file;
use bulkhead_analysis::Reservation;
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_tpipe::assessment::{Owner, Violation};
use bulkhead_tpipe::binding::{BindError, Bound, Misfit};
use bulkhead_tpipe::language::{self, Buffering, Fault, SyntaxError};
use bulkhead_tpipe::repository::{self as tpipe, LONGEST, Policy, Repository};
use bulkhead_tpipe::solver::Answer;
use std::path::Path;
use std::sync::Arc;

/// In the order of the registry.
const POLICIES: [Policy; 3] = [Policy::RateMonotonic, Policy::Edf, Policy::Deadline];
const BUFFERINGS: [Option<Buffering>; 3] = [None, Some(Buffering::FourSlot), Some(Buffering::Fifo)];
/// Period of a function in a pipeline that requires nothing.
const USUAL_PERIOD_NS: u64 = 10_000_000;

/// A repository of pipe functions.
#[derive(Clone, Debug, Default)]
pub struct Pipes {
    /// Names of cores, I/O VCPUs, devices and functions, in the order of the file.
    names: [Vec<At<String>>; 4],
    cores: Vec<Policy>,
    loads: Vec<tpipe::Load>,
    ios: Vec<Io>,
    devices: Vec<Device>,
    functions: Vec<Function>,
}

#[derive(Clone, Debug)]
struct Io {
    core: usize,
    wcet: u64,
    percent: u64,
    sharers: u64,
}

#[derive(Clone, Debug)]
struct Device {
    io: usize,
    main: Option<Reservation>,
    sharers: u64,
    distance: Option<u64>,
}

#[derive(Clone, Debug)]
struct Function {
    core: usize,
    wcet: u64,
    inputs: u32,
    outputs: u32,
    buffering: Option<Buffering>,
    reads: Option<usize>,
    writes: Option<usize>,
    period: u64,
}

/// What names may stand for, with their tables in the file.
#[derive(Clone, Copy)]
enum What {
    Core,
    Io,
    Device,
    Function,
}

const TABLES: [(What, &str, &str); 4] = [
    (What::Core, "core", "core"),
    (What::Io, "io", "I/O VCPU"),
    (What::Device, "device", "device"),
    (What::Function, "function", "function"),
];

/// Reads a file of pipe functions.
///
/// # Errors
/// All that is wrong with it, in the order of the text.
pub fn load(file: &Path, root: &Path) -> Result<Pipes, Vec<Diagnostic>> {
    let name = display(file, root);
    let text = text_file::read(file)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into()));
    let text = text.map_err(|reason| {
        let message = format!("`{name}` cannot be read: {reason}");
        vec![Diagnostic::new(
            "pipe-functions",
            Severity::Error,
            &(0..0),
            message,
        )]
    })?;
    check(name, &text)
}

/// The same for a text that is called `name`.
///
/// # Errors
/// As [`load`].
pub fn check(name: String, text: &str) -> Result<Pipes, Vec<Diagnostic>> {
    let mut report = Report::default();
    let mut sources = Sources::default();
    sources.add(name, text);
    let (mut table, errors) = document::parse(text, 0);
    errors
        .iter()
        .for_each(|error| report.add(syntax::broken(error)));
    shape::check(&mut table, FUNCTIONS, errors.is_empty(), &mut report);
    let pipes = read(&table, &mut report);
    let refused = report.has_errors();
    let found = report.finish(&Arc::new(sources));
    match pipes {
        Some(pipes) if !refused => Ok(pipes),
        _ => Err(found),
    }
}

fn read(table: &Table, report: &mut Report) -> Option<Pipes> {
    let mut pipes = Pipes::default();
    for (what, key, _) in TABLES {
        pipes.names[what as usize] = Section::named(table, key).map(|one| one.name).collect();
    }
    let mut reader = Reader { pipes, report };
    let mut sound = true;
    for (what, key, _) in TABLES {
        for section in Section::named(table, key) {
            sound &= reader.one(what, &section).is_some();
        }
    }
    sound.then_some(reader.pipes)
}

struct Reader<'r> {
    pipes: Pipes,
    report: &'r mut Report,
}

impl Reader<'_> {
    fn one(&mut self, what: What, section: &Section<'_>) -> Option<()> {
        match what {
            What::Core => {
                let core = self.pipes.cores.len();
                self.pipes
                    .cores
                    .push(section.choice("policy", &POLICIES).or(POLICIES[0])?);
                for load in section.all("load") {
                    let server = self.server(&load)??;
                    self.pipes.loads.push(tpipe::Load { core, server });
                }
            }
            What::Io => {
                let io = Io {
                    core: self.named(What::Core, &section.text("core"))??,
                    wcet: self.time(&section.number("wcet"))??,
                    percent: section.number("utilisation").value()?,
                    sharers: section.number("sharers").or(1)?,
                };
                self.pipes.ios.push(io);
            }
            What::Device => {
                let device = Device {
                    io: self.named(What::Io, &section.text("io"))??,
                    main: self.server(section)?,
                    sharers: section.number("sharers").or(1)?,
                    distance: self.time(&section.number("distance"))?,
                };
                self.pipes.devices.push(device);
            }
            What::Function => {
                let function = Function {
                    core: self.named(What::Core, &section.text("core"))??,
                    wcet: self.time(&section.number("wcet"))??,
                    inputs: section.number("inputs").or(1)? as u32,
                    outputs: section.number("outputs").or(1)? as u32,
                    buffering: section.choice("buffering", &BUFFERINGS).or(None)?,
                    reads: self.named(What::Device, &section.text("reads"))?,
                    writes: self.named(What::Device, &section.text("writes"))?,
                    period: self
                        .time(&section.number("period"))?
                        .unwrap_or(USUAL_PERIOD_NS),
                };
                self.pipes.functions.push(function);
            }
        }
        Some(())
    }

    /// Index of what a field names; `None` where it is wrong, `Some(None)` where it is absent.
    fn named(&mut self, what: What, field: &Field<String>) -> Option<Option<usize>> {
        let Some(name) = field.given() else {
            return field.is_absent().then_some(None);
        };
        let names = &self.pipes.names[what as usize];
        let found = names.iter().position(|known| known.value == name.value);
        if found.is_none() {
            let (_, key, word) = TABLES[what as usize];
            let known: Vec<_> = names.iter().map(|known| known.value.as_str()).collect();
            let message = format!("there is no {word} `{}`", name.value);
            let help = match known.is_empty() {
                true => format!("describe it: `[{key}.{}]`", name.value),
                false => advice(&name.value, word, &known),
            };
            self.wrong(&name.span, message, "not described", help);
        }
        found.map(Some)
    }

    /// A time that is more than nothing and at most a day.
    fn time(&mut self, field: &Field<u64>) -> Option<Option<u64>> {
        let Some(time) = field.given() else {
            return field.is_absent().then_some(None);
        };
        if (1..=LONGEST).contains(&time.value) {
            return Some(Some(time.value));
        }
        let message = "a time here is more than nothing and at most a day".into();
        self.wrong(&time.span, message, "", "for example \"100 us\"".into());
        None
    }

    /// C and T; both or neither.
    fn server(&mut self, section: &Section<'_>) -> Option<Option<Reservation>> {
        let (capacity, period) = (section.number("C"), section.number("T"));
        match (self.time(&capacity)?, self.time(&period)?) {
            (None, None) => Some(None),
            (Some(c), Some(t)) if Reservation::new(c, t).is_some() => Some(Reservation::new(c, t)),
            (Some(_), Some(_)) => {
                let span = capacity.span().cloned().unwrap_or_default();
                let message = format!("the budget of `{}` exceeds its period", section.name.value);
                self.wrong(&span, message, "more than T", "C is at most T".into());
                None
            }
            _ => {
                let message = format!("`{}` has C or T without the other", section.name.value);
                let help = "a VCPU has both, `C = \"200 us\"` and `T = \"1 ms\"`".into();
                self.wrong(&section.name.span.clone(), message, "", help);
                None
            }
        }
    }

    fn wrong(&mut self, span: &std::ops::Range<usize>, message: String, here: &str, help: String) {
        let found = Diagnostic::new("pipe-functions", Severity::Error, span, message);
        self.report.add(found.here(here).help(help));
    }
}

impl Pipes {
    /// Main VCPUs that are there besides those of pipelines.
    #[must_use]
    pub fn vcpus(&self) -> usize {
        self.loads.len() + self.devices.len()
    }

    /// The repository, as the library sees it.
    pub fn with<R>(&self, use_it: impl FnOnce(&Repository<'_>) -> R) -> R {
        let name = |what: What, index: usize| self.names[what as usize][index].value.as_str();
        let cores = self.cores.iter().enumerate();
        let cores: Vec<_> = cores
            .map(|(index, &policy)| tpipe::Core {
                name: name(What::Core, index),
                policy,
            })
            .collect();
        let io = |(index, io): (usize, &Io)| tpipe::Io {
            name: name(What::Io, index),
            core: io.core,
            wcet: io.wcet,
            utilisation: Fraction::ratio(io.percent, 100).unwrap_or(Fraction(0)),
            sharers: io.sharers,
        };
        let ios: Vec<_> = self.ios.iter().enumerate().map(io).collect();
        let device = |(index, device): (usize, &Device)| tpipe::Device {
            name: name(What::Device, index),
            io: device.io,
            main: device.main,
            sharers: device.sharers,
            distance: device.distance,
        };
        let devices: Vec<_> = self.devices.iter().enumerate().map(device).collect();
        let function = |(index, function): (usize, &Function)| tpipe::Function {
            name: name(What::Function, index),
            core: function.core,
            wcet: function.wcet,
            inputs: function.inputs,
            outputs: function.outputs,
            buffering: function.buffering,
            source: function.reads,
            sink: function.writes,
            period: function.period,
        };
        let functions: Vec<_> = self.functions.iter().enumerate().map(function).collect();
        use_it(&Repository {
            cores: &cores,
            loads: &self.loads,
            ios: &ios,
            devices: &devices,
            functions: &functions,
        })
    }

    /// What does not fit in a pipeline, for people.
    #[must_use]
    pub fn misfit(&self, text: &str, error: &BindError) -> Diagnostic {
        let known: Vec<_> = self.names[What::Function as usize]
            .iter()
            .map(|name| name.value.as_str())
            .collect();
        let name = error.span.of(text);
        let (message, here, help) = match error.fault {
            Misfit::UnknownFunction => (
                format!("there is no function `{name}`"),
                "not in the repository".to_owned(),
                advice(name, "function", &known),
            ),
            fault => (
                format!("`{name}` does not fit here"),
                fault.to_string(),
                "`bulkhead explain function` tells what a function declares".into(),
            ),
        };
        said("pipe-function", text, error.span, message, here, help)
    }
}

/// A mistake in the text of a pipeline, for people.
#[must_use]
pub fn syntax_error(text: &str, error: &SyntaxError) -> Diagnostic {
    let found = match error.span.of(text) {
        "" => "the end".to_owned(),
        word => format!("`{word}`"),
    };
    let (message, here) = match error.fault {
        Fault::Expected(expected) => (format!("expected {expected}, found {found}"), String::new()),
        fault => (format!("{found} cannot stand here"), fault.to_string()),
    };
    let help = "for example `* (a | b), c | d | e, f [100/s, 10 ms]`: `*` lossless, `,` side by side, \
                `|` in series; `[20 %, 10 ms]` where messages may be lost";
    said("pipe-syntax", text, error.span, message, here, help.into())
}

/// Why a requirement cannot be met, and which can, for people.
#[must_use]
pub fn unmet<const N: usize>(text: &str, bound: &Bound<'_, N>, answer: &Answer<N>) -> Diagnostic {
    let here = match answer.best.assessment.violation {
        Some(violation) => reason(bound, answer, violation),
        None => "nothing is wrong with it".into(),
    };
    let least = answer.least.unwrap_or_default();
    let nearest: Vec<_> = [least.delay, least.flow]
        .into_iter()
        .flatten()
        .map(|requirement| format!("`{requirement}`"))
        .collect();
    let help = match nearest.as_slice() {
        [] => "no delay and no other rate helps: give functions to other cores".into(),
        some => format!("what can be met: {}", some.join(" or ")),
    };
    let message = "no budgets and periods were found that keep this requirement".into();
    let span = match bound.pipeline.requirement {
        Some(_) => bound.pipeline.requirement_span,
        None => language::Span {
            start: 0,
            end: text.len(),
        },
    };
    said("pipe-unmet", text, span, message, here, help)
}

/// The constraint that fails, in the names of the pipeline.
fn reason<const N: usize>(
    bound: &Bound<'_, N>,
    answer: &Answer<N>,
    violation: Violation,
) -> String {
    let stage = |stage: usize| bound.pipeline.stages()[stage].name;
    let repository = bound.repository;
    match violation {
        Violation::Period { stage: at } => {
            format!(
                "the budget of `{}` does not fit a period that its core allows",
                stage(at)
            )
        }
        Violation::Core { core, demand } => {
            let core = &repository.cores[core];
            let (demand, most) = (demand.percent(), core.policy.capacity().percent());
            format!(
                "core `{}` would need {demand:.1} % of its time and gives {most:.0} %",
                core.name
            )
        }
        Violation::Response { core, owner } => {
            let who = match owner {
                Owner::Load(_) => "what runs there besides",
                Owner::Device(device) => repository.devices[device].name,
                Owner::Stage(at) => stage(at),
            };
            format!(
                "`{who}` would not get its budget in time on core `{}`",
                repository.cores[core].name
            )
        }
        Violation::Delay { periods, bound } => {
            let (periods, bound) = (time_text(periods), time_text(bound));
            format!("the longest path would take {bound}, its periods sum up to {periods}")
        }
        Violation::Loss { stage: at, .. } => {
            let loss = answer.best.assessment.loss[at].percent();
            format!("up to {loss:.1} % could be lost before `{}`", stage(at))
        }
        Violation::Throughput { stage: at } => format!("`{}` would be too slow", stage(at)),
        Violation::Overrun { stage: at } => {
            format!(
                "messages would come faster to `{}` than it takes them",
                stage(at)
            )
        }
        Violation::Device { device } => format!(
            "messages would come closer together at `{}` than it and its sharers allow",
            repository.devices[device].name
        ),
        Violation::Overflow => "times would be too long to count".into(),
    }
}

fn said(
    id: &'static str,
    text: &str,
    span: language::Span,
    message: String,
    here: String,
    help: String,
) -> Diagnostic {
    let mut sources = Sources::default();
    sources.add("pipeline".into(), text);
    Diagnostic::new(id, Severity::Error, &(span.start..span.end), message)
        .here(here)
        .help(help)
        .within(&Arc::new(sources))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_tpipe::language::Pipeline;

    fn wrong(text: &str) -> Vec<String> {
        let found = check("functions.toml".into(), text).expect_err(text);
        found.into_iter().map(|found| found.message).collect()
    }

    #[test]
    fn all_mistakes_of_a_file_are_found_at_once() {
        let text = "[core.a]\n[core.a.load.x]\nC = \"2 ms\"\nT = \"1 ms\"\n[io.u]\ncore = \"b\"\n\
                    wcet = \"0 us\"\nutilisation = 101\n[device.d]\nio = \"uu\"\nC = \"1 ms\"\n\
                    [function.f]\ncore = \"a\"\nwect = \"1 us\"\n";
        let found = wrong(text);
        assert!(found.len() >= 6, "{found:#?}");
        assert!(
            found.contains(&"there is no core `b`".to_owned()),
            "{found:#?}"
        );
    }

    #[test]
    fn pipelines_are_told_what_they_should_be() {
        let text = "[core.a]\n[function.read]\ncore = \"a\"\nwcet = \"1 us\"\ninputs = 0\n";
        let pipes = check("functions.toml".into(), text).expect("correct");
        let line = "reed";
        let pipeline: Pipeline<'_, 8> = Pipeline::parse(line).expect("correct");
        let error = pipes.with(|all| Bound::new(&pipeline, all).expect_err("unknown"));
        let said = pipes.misfit(line, &error);
        assert_eq!(said.message, "there is no function `reed`");
        assert_eq!(said.help.as_deref(), Some("did you mean `read`?"));
        let error = Pipeline::<8>::parse("read |").expect_err("short");
        let said = syntax_error("read |", &error);
        assert_eq!(
            said.message,
            "expected the name of a function or `(`, found the end"
        );
    }
}
