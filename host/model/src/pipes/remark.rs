//! Messages about flows
//!
//! The words are the same for a flow on a command line and for one in a description; only the place
//! differs.

use super::functions::{Pipes, What};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::At;
use crate::quantity::time_text;
use crate::source::Sources;
use crate::suggestion::advice;
use bulkhead_tpipe::assessment::{Owner, Violation};
use bulkhead_tpipe::binding::{BindError, Bound, DEVICES, IOS, Misfit};
use bulkhead_tpipe::language::{self, Fault, Pipeline, Requirement, SyntaxError};
use bulkhead_tpipe::repository::MessageType;
use bulkhead_tpipe::solver::{Answer, Solution};
use std::sync::Arc;

/// Remedy for a function that is not described, or used in another way.
const DESCRIBE: &str = "`bulkhead explain function` tells what a function declares";

/// Remark about scheduling overhead.
const DECISIONS: &str = ", scheduling overhead included";

/// A remark about a pipeline.
#[derive(Clone, Debug)]
pub struct Remark {
    span: language::Span,
    message: String,
    here: String,
    help: String,
}

impl Remark {
    /// About all of a pipeline.
    pub(crate) fn all(text: &str, message: &str, here: &str, help: &str) -> Self {
        let span = language::Span {
            start: 0,
            end: text.len(),
        };
        let [message, here, help] = [message, here, help].map(str::to_owned);
        Self {
            span,
            message,
            here,
            help,
        }
    }

    /// About a stage.
    pub(crate) fn stage(span: language::Span, message: String, here: &str, help: &str) -> Self {
        Self {
            span,
            message,
            here: here.to_owned(),
            help: help.to_owned(),
        }
    }

    /// With other advice.
    pub(crate) fn with_help(self, help: String) -> Self {
        Self { help, ..self }
    }

    /// The text of a pipeline with `requirement` at the place of this remark.
    pub(crate) fn requiring(&self, text: &str, requirement: Requirement) -> Option<String> {
        let (before, after) = (text.get(..self.span.start)?, text.get(self.span.end..)?);
        Some(format!("{before}{requirement}{after}"))
    }

    /// About a pipeline that stands alone.
    #[must_use]
    pub fn alone(self, id: &'static str, text: &str) -> Diagnostic {
        let mut sources = Sources::default();
        sources.add("pipeline".into(), text);
        let span = self.span.start..self.span.end;
        Diagnostic::new(id, Severity::Error, &span, self.message)
            .here(self.here)
            .help(self.help)
            .within(&Arc::new(sources))
    }

    /// About a pipeline that is a value in a description. A text with escapes does not stand there
    /// as it reads: then all of it is the place.
    pub(crate) fn within(
        self,
        rule: &'static str,
        flow: &At<String>,
        sources: &Sources,
    ) -> Diagnostic {
        let written = sources.text(&flow.span).unwrap_or_default();
        let start = written
            .find(&flow.value)
            .map(|within| flow.span.start + within);
        let span = match start {
            Some(start) => start + self.span.start..start + self.span.end,
            None => flow.span.clone(),
        };
        Diagnostic::new(rule, Severity::Error, &span, self.message)
            .here(self.here)
            .help(self.help)
    }
}

/// The rule that a misfit breaks.
#[must_use]
pub const fn rule_of(fault: Misfit) -> &'static str {
    match fault {
        Misfit::UnknownFunction | Misfit::Room => "pipe-function",
        Misfit::Buffering(_) => "pipe-buffering",
        Misfit::Message { .. } => "message-type",
        _ => "pipe-input",
    }
}

impl Pipes {
    /// Functions of that name in partitions, none of which is meant by it alone.
    fn alike(&self, name: &str) -> Vec<String> {
        let names = self.names[What::Function as usize].iter();
        let alike = names.filter(|one| {
            one.value
                .rsplit_once('.')
                .is_some_and(|(_, last)| last == name)
        });
        alike.map(|one| format!("`{}`", one.value)).collect()
    }

    /// Message, place and remedy where a function reads another type than the stage of that index writes.
    fn other_message(&self, text: &str, name: &str, writer: usize) -> (String, String, String) {
        let pipeline = Pipeline::<64>::parse(text);
        let writer = pipeline.map_or("", |all| all.stages()[writer].name);
        let types = |name: &str| {
            let mut names = self.names[What::Function as usize].iter();
            let found = names.position(|one| one.value == name);
            let types = found.and_then(|found| self.functions.get(found));
            let types = types.map_or([MessageType::WORDS; 2], |one| one.messages);
            types.map(|one| {
                let name = self.message_types.get(one.number as usize);
                (name.map_or("", String::as_str), one.bytes)
            })
        };
        let [(read, bytes), _] = types(name);
        let [_, (written, other)] = types(writer);
        (
            format!("`{name}` reads other messages than `{writer}` writes"),
            format!(
                "it reads `{read}` ({bytes} bytes), `{writer}` writes `{written}` ({other} bytes)"
            ),
            "one type for both, `output_message` and `input_message`, or a function between them"
                .into(),
        )
    }

    /// The error in a flow, for the user.
    #[must_use]
    pub fn misfit(&self, text: &str, error: &BindError) -> Remark {
        let names: Vec<_> = self.names[What::Function as usize]
            .iter()
            .map(|name| name.value.as_str())
            .collect();
        let name = error.span.of(text);
        let (message, here, help) = match error.fault {
            Misfit::Room => {
                let stages = Pipeline::<64>::parse(text).map_or(0, |all| all.stages().len());
                let [vcpus, ios, devices] = self.sizes();
                (
                    "there is no room for so many VCPUs".into(),
                    format!(
                        "{} VCPUs of 64, {ios} I/O VCPUs of {IOS}, {devices} endpoints of {DEVICES}",
                        stages + vcpus
                    ),
                    "do the work of several functions in one".into(),
                )
            }
            Misfit::UnknownFunction if !self.alike(name).is_empty() => (
                format!("`{name}` is a function of several partitions"),
                "which of them?".to_owned(),
                format!("write {}", self.alike(name).join(" or ")),
            ),
            Misfit::UnknownFunction => (
                format!("there is no function `{name}`"),
                "not in the repository".to_owned(),
                match names.is_empty() {
                    true => format!("none is described; {DESCRIBE}"),
                    false => advice(name, "function", &names),
                },
            ),
            Misfit::Message { writer } => self.other_message(text, name, writer),
            fault => (
                format!("`{name}` does not fit here"),
                fault.to_string(),
                DESCRIBE.into(),
            ),
        };
        Remark {
            span: error.span,
            message,
            here,
            help,
        }
    }
}

/// A mistake in the text of a pipeline, for people.
#[must_use]
pub fn syntax_error(text: &str, error: &SyntaxError) -> Remark {
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
    Remark {
        span: error.span,
        message,
        here,
        help: help.into(),
    }
}

/// A time that is no shorter, in three digits.
fn rounded_up(ns: u64) -> u64 {
    let mut unit = 1;
    while ns / unit >= 1000 {
        unit *= 10;
    }
    ns.checked_next_multiple_of(unit).unwrap_or(ns)
}

/// Why a requirement cannot be met, and which can, for people.
#[must_use]
pub fn unmet<const N: usize>(text: &str, bound: &Bound<'_, N>, answer: &Answer<N>) -> Remark {
    let least = answer.least.unwrap_or_default();
    let nearest = [least.delay, least.flow].into_iter().flatten();
    let nearest: Vec<_> = nearest.map(with_rounded_delay).collect();
    Remark {
        help: advised(&nearest),
        ..missed(text, bound, answer)
    }
}

/// The requirement with a delay of three digits, which is no shorter.
pub(super) fn with_rounded_delay(requirement: Requirement) -> Requirement {
    Requirement {
        delay_ns: rounded_up(requirement.delay_ns),
        ..requirement
    }
}

/// Advice to require one of these.
pub(crate) fn advised(requirements: &[Requirement]) -> String {
    let texts: Vec<_> = requirements.iter().map(|one| format!("`{one}`")).collect();
    match texts.as_slice() {
        [] => "no longer delay and no other rate of this pipe was found with which all that is described holds: give \
               functions shorter times or other cores, or let other pipes require less"
            .into(),
        alternatives => format!("what can be met: {}", alternatives.join(" or ")),
    }
}

/// Why a requirement cannot be met, without advice.
pub(super) fn missed<const N: usize>(
    text: &str,
    bound: &Bound<'_, N>,
    answer: &Answer<N>,
) -> Remark {
    let here = reason(bound, &answer.best);
    let mut remark = Remark::all(
        text,
        "no budgets and periods were found for this pipe",
        &here,
        "",
    );
    if bound.pipeline.requirement.is_some() {
        remark.span = bound.pipeline.requirement_span;
        remark.message = "no budgets and periods were found that keep this requirement".into();
    }
    remark
}

/// Pipes without requirements that would degrade another.
pub(super) fn takes<'n>(
    text: &str,
    names: impl Iterator<Item = &'n At<String>>,
    other: &str,
    why: &str,
) -> Remark {
    let names: Vec<_> = names.map(|name| format!("`{}`", name.value)).collect();
    let (names, them) = match names.as_slice() {
        [one] => (one.clone(), "it"),
        all => (all.join(", "), "them"),
    };
    Remark::all(
        text,
        &format!("{names} would take from `{other}`, however slow"),
        &format!("beside {them} `{other}` would not hold: {why}"),
        &format!("give functions to other cores, or let `{other}` require less"),
    )
}

/// The constraint that fails, in the names of the pipeline.
pub(super) fn reason<const N: usize>(bound: &Bound<'_, N>, solution: &Solution<N>) -> String {
    let stage = |stage: usize| bound.pipeline.stages()[stage].name;
    let repository = bound.repository;
    let counted = |core| repository.decisions_on(core).map_or("", |_| DECISIONS);
    let Some(violation) = solution.assessment.violation else {
        return "nothing is wrong with it".into();
    };
    match violation {
        Violation::Period { stage: at } => {
            format!(
                "the budget of `{}` does not fit a period that its core allows",
                stage(at)
            )
        }
        Violation::Core {
            core: index,
            demand,
        } => {
            let core = &repository.cores[index];
            let (demand, most) = (demand.percent(), core.policy.capacity().percent());
            format!(
                "core `{}` would need {demand:.1} % of its time{}, and gives {most:.0} %",
                core.name,
                counted(index)
            )
        }
        Violation::Response { core, owner } => {
            let who = match owner {
                Owner::Load(_) => "what runs there besides".to_owned(),
                Owner::Device(device) => format!("`{}`", repository.devices[device].name),
                Owner::Stage(at) => format!("`{}`", stage(at)),
            };
            format!(
                "{who} would not get its budget in time on core `{}`{}",
                repository.cores[core].name,
                counted(core)
            )
        }
        Violation::Delay { periods, bound } => {
            let (periods, bound) = (time_text(periods), time_text(bound));
            format!("the longest path would take {bound}, its periods sum up to {periods}")
        }
        Violation::Loss { stage: at, .. } => {
            let loss = solution.assessment.loss[at].percent();
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
        Violation::Overflow => "more would have to be counted than there is room for: times are too long, or VCPUs and tasks too many".into(),
    }
}
