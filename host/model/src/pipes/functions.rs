//! Pipe functions, devices and cores in the solver's terms, and the file that describes them
//!
//! The file's names become indices here; the library in `lib/tpipe` solves pipelines over the
//! result.

use crate::diagnostic::{Diagnostic, Report, Severity};
use crate::document::{self, At, Table};
use crate::draft::{Field, Section, display};
use crate::registry::FUNCTIONS;
use crate::registry::choices;
use crate::rules::shape::syntax;
use crate::source::Sources;
use crate::suggestion::advice;
use crate::{shape, text_file};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::overhead::{Jobs, Keeping, Overhead};
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_tpipe::language::Buffering;
use bulkhead_tpipe::repository::{self as tpipe, LONGEST, MessageType, Policy, Repository};
use std::path::Path;
use std::sync::Arc;

/// Period of a function in a pipeline that requires nothing.
pub(crate) const USUAL_PERIOD_NS: u64 = 10_000_000;

/// A repository of pipe functions.
#[derive(Clone, Debug, Default)]
pub struct Pipes {
    /// Names of cores, I/O VCPUs, devices and functions, in the order of the file.
    pub(super) names: [Vec<At<String>>; 4],
    pub(super) cores: Vec<Policy>,
    /// Address space of each core: its own, but of Linux one for all; those of a file of functions
    /// are in one.
    pub(super) spaces: Vec<usize>,
    /// The first core of each one's partition.
    pub(super) firsts: Vec<usize>,
    pub(super) loads: Vec<tpipe::Load>,
    pub(super) ios: Vec<Io>,
    pub(super) devices: Vec<Device>,
    pub(super) functions: Vec<Function>,
    /// Names of the types of messages, by number; the first is that of two words.
    pub(super) message_types: Vec<String>,
    /// Cores on which the scheduler's decisions are counted.
    pub(super) decisions: Vec<Decisions>,
}

/// Threads with decisions on such a core, besides stages.
#[derive(Clone, Debug)]
pub(super) struct Decisions {
    pub(super) core: usize,
    pub(super) overhead: Overhead,
    pub(super) keeping: Keeping,
    pub(super) jobs: Vec<Jobs>,
    pub(super) doorbells: Vec<(u64, u64)>,
}

#[derive(Clone, Debug)]
pub(super) struct Io {
    pub(super) core: usize,
    pub(super) wcet: u64,
    pub(super) percent: u64,
    pub(super) sharers: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) io: usize,
    pub(super) main: Option<Reservation>,
    pub(super) sharers: u64,
    pub(super) distance: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) core: usize,
    pub(super) wcet: u64,
    pub(super) inputs: u32,
    pub(super) outputs: u32,
    pub(super) messages: [MessageType; 2],
    pub(super) buffering: Option<Buffering>,
    pub(super) reads: Option<usize>,
    pub(super) writes: Option<usize>,
    pub(super) period: u64,
}

/// Names that a flow may use, with their tables in the file.
#[derive(Clone, Copy)]
pub(super) enum What {
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

/// Checks a text with this name.
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
    let whole = errors.is_empty().then_some(0);
    shape::check(&mut table, FUNCTIONS, whole, &mut report);
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
                self.pipes.cores.push(
                    section
                        .choice("policy", choices::POLICIES.values)
                        .or(Policy::RateMonotonic)?,
                );
                for load in section.all("load") {
                    let server = self.server(&load)??;
                    let runs = tpipe::Runs::Tasks { jobs: 1 };
                    self.pipes.loads.push(tpipe::Load { core, server, runs });
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
                    messages: [MessageType::WORDS; 2],
                    buffering: section
                        .choice("buffering", choices::BUFFERINGS.values)
                        .or(None)?,
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
        let found = names.iter().position(|at| at.value == name.value);
        if found.is_none() {
            let (_, key, word) = TABLES[what as usize];
            let listed: Vec<_> = names.iter().map(|at| at.value.as_str()).collect();
            let message = format!("there is no {word} `{}`", name.value);
            let help = match listed.is_empty() {
                true => format!("describe it: `[{key}.{}]`", name.value),
                false => advice(&name.value, word, &listed),
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

    /// VCPUs besides those of pipelines, I/O VCPUs, and endpoints that these serve.
    pub(crate) fn sizes(&self) -> [usize; 3] {
        [self.vcpus(), self.ios.len(), self.devices.len()]
    }

    /// The repository, as the library sees it.
    pub fn with<R>(&self, use_it: impl FnOnce(&Repository<'_>) -> R) -> R {
        let name = |what: What, index: usize| self.names[what as usize][index].value.as_str();
        let cores = self.cores.iter().enumerate();
        let cores: Vec<_> = cores
            .map(|(index, &policy)| tpipe::Core {
                name: name(What::Core, index),
                policy,
                space: self.spaces.get(index).copied().unwrap_or(0),
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
            messages: function.messages,
            buffering: function.buffering,
            source: function.reads,
            sink: function.writes,
            period: function.period,
        };
        let functions: Vec<_> = self.functions.iter().enumerate().map(function).collect();
        let decisions = self.decisions.iter().map(|one| tpipe::Decisions {
            core: one.core,
            overhead: one.overhead,
            keeping: one.keeping,
            jobs: &one.jobs,
            doorbells: &one.doorbells,
        });
        let decisions: Vec<_> = decisions.collect();
        use_it(&Repository {
            decisions: &decisions,
            cores: &cores,
            loads: &self.loads,
            ios: &ios,
            devices: &devices,
            functions: &functions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipes::syntax_error;
    use bulkhead_tpipe::binding::Bound;
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
        let message = pipes.misfit(line, &error).alone("pipe-function", line);
        assert_eq!(message.message, "there is no function `reed`");
        assert_eq!(message.help.as_deref(), Some("did you mean `read`?"));
        let error = Pipeline::<8>::parse("read |").expect_err("short");
        let message = syntax_error("read |", &error).alone("pipe-syntax", "read |");
        assert_eq!(
            message.message,
            "expected the name of a function or `(`, found the end"
        );
    }
}
