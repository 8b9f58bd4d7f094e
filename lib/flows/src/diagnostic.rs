//! Explanation of a rejected flow

mod violation;

use crate::catalogue::PipeCatalogue;
use crate::pipe_admission::Refused;
use bulkhead_abi::repository::long_name_text;
use bulkhead_analysis::Time;
use bulkhead_analysis::utilisation::{Fraction, WHOLE};
use bulkhead_stages::message::HEADS;
use bulkhead_stages::pace::MESSAGES;
use bulkhead_stages::work::ENDS;
use bulkhead_tpipe::assessment::Violation;
use bulkhead_tpipe::binding::Misfit;
use bulkhead_tpipe::language::{Fault, Span, SyntaxError};
use bulkhead_tpipe::solver::Least;
use core::fmt;
use violation::{ShownViolation, stage_of};

/// A rejection with its context.
pub struct Diagnostic<'a> {
    /// The flow.
    pub flow: &'a str,
    /// Characters of the line before it.
    pub before: usize,
    /// The repository of the flow.
    pub catalogue: &'a PipeCatalogue<'a>,
    /// Names and flows of the admitted pipes, by number.
    pub standing: &'a dyn Fn(usize) -> [&'a str; 2],
    /// The reason.
    pub refused: Refused,
}

/// A time, in microseconds or milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Shown(pub Time);

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns if ns < 10_000_000 => write!(out, "{}.{:03} us", ns / 1000, ns % 1000),
            ns => write!(out, "{}.{:03} ms", ns / 1_000_000, ns / 1000 % 1000),
        }
    }
}

/// A part of a core or of messages, in percent, rounded up to a tenth.
#[derive(Clone, Copy, Debug)]
pub struct Percent(pub Fraction);

impl fmt::Display for Percent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (u128::from(self.0.0) * 1000).div_ceil(u128::from(WHOLE.0));
        write!(out, "{}.{} %", tenths / 10, tenths % 10)
    }
}

/// Characters of a flow that are printed around an error.
const EXCERPT: usize = 48;

/// A flow with a place in it marked.
struct Marked<'a> {
    flow: &'a str,
    span: Span,
}

impl fmt::Display for Marked<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let characters = |bytes: usize| {
            let before = self.flow.char_indices();
            before.take_while(|(at, _)| *at < bytes).count()
        };
        let (from, to) = (characters(self.span.start), characters(self.span.end));
        let skipped = match from {
            0..=EXCERPT => 0,
            _ => from - EXCERPT / 2,
        };
        let excerpt = self.flow.chars().skip(skipped).take(2 * EXCERPT);
        let dots = match skipped {
            0 => "",
            _ => "...",
        };
        write!(out, "\n  {dots}")?;
        for character in excerpt {
            let plain = if character.is_control() {
                ' '
            } else {
                character
            };
            write!(out, "{plain}")?;
        }
        write!(out, "\n  {:1$}", "", dots.len() + from - skipped)?;
        let marks = to.saturating_sub(from).clamp(1, 2 * EXCERPT);
        (0..marks).try_for_each(|_| out.write_str("^"))
    }
}

impl Diagnostic<'_> {
    /// A remark about a place.
    fn at(
        &self,
        out: &mut fmt::Formatter<'_>,
        span: Span,
        what: fmt::Arguments<'_>,
    ) -> fmt::Result {
        let before = self.flow.get(..span.start).unwrap_or_default();
        let column = self.before + before.chars().count() + 1;
        let marked = Marked {
            flow: self.flow,
            span,
        };
        write!(out, "at column {column}: {what}{marked}")
    }

    fn misfit(&self, out: &mut fmt::Formatter<'_>, span: Span, fault: Misfit) -> fmt::Result {
        match fault {
            Misfit::UnknownFunction => {
                let what = format_args!(
                    "there is no function `{}`; `pipe functions` lists them",
                    span.of(self.flow)
                );
                self.at(out, span, what)
            }
            Misfit::Room => write!(out, "{fault}"),
            fault => {
                let what = format_args!("`{}` does not fit here: {fault}", span.of(self.flow));
                self.at(out, span, what)
            }
        }
    }

    fn syntax(
        &self,
        out: &mut fmt::Formatter<'_>,
        SyntaxError { span, fault }: SyntaxError,
    ) -> fmt::Result {
        let word = match span.of(self.flow) {
            "" => "the end",
            word => word,
        };
        match fault {
            Fault::Expected(_) => self.at(out, span, format_args!("{fault}, found {word}")),
            _ => self.at(out, span, format_args!("{fault}")),
        }
    }

    fn unmet(
        &self,
        out: &mut fmt::Formatter<'_>,
        span: Span,
        violation: Violation,
        least: Least,
    ) -> fmt::Result {
        let what = format_args!("no budgets and periods were found that keep this");
        self.at(out, span, what)?;
        write!(out, "\n{}", self.broken(self.flow, violation))?;
        match (least.delay, least.flow) {
            (None, None) => out.write_str(
                "\nno delay and no other rate helps: remove a pipe, or stages of this one",
            ),
            (Some(one), None) | (None, Some(one)) => write!(out, "\nwhat can be kept: {one}"),
            (Some(one), Some(other)) => write!(out, "\nwhat can be kept: {one} or {other}"),
        }
    }

    /// Pipes that use an endpoint.
    fn sharers(
        &self,
        out: &mut fmt::Formatter<'_>,
        span: Span,
        device: usize,
        pipes: u32,
    ) -> fmt::Result {
        let packed = self.catalogue.packed().devices.get(device);
        let name = packed.map_or("?", |one| long_name_text(&one.name));
        let sharers = packed.map_or(0, |one| one.sharers);
        let what = format_args!(
            "no stage more may use `{name}`, which has `sharers = {sharers}` in the description"
        );
        self.at(out, span, what)?;
        let users = (0..u32::BITS as usize).filter(|number| pipes >> number & 1 != 0);
        for (place, number) in users.clone().enumerate() {
            let [pipe, _] = (self.standing)(number);
            let before = match place {
                0 => "\nit is used by pipe ",
                _ => ", ",
            };
            write!(out, "{before}{pipe}")?;
        }
        match users.count() {
            0 => out.write_str("\ngive it more `sharers`, with which all bounds are computed"),
            _ => out.write_str(
                ": remove or replace one of these, or give it more `sharers`, with which all bounds are computed",
            ),
        }
    }

    const fn broken<'b>(&'b self, flow: &'b str, violation: Violation) -> ShownViolation<'b> {
        ShownViolation {
            flow,
            catalogue: self.catalogue,
            violation,
        }
    }

    fn stage(&self, at: usize) -> &str {
        stage_of(self.flow, at)
    }

    /// The place of the error, if it has one, with the text before and behind it.
    const fn place(&self) -> Option<(Span, [&'static str; 2])> {
        let (span, behind) = match self.refused {
            Refused::Cycle(span) => (
                span,
                "would feed itself: a pipe goes one way; what comes back goes through a device, as another pipe",
            ),
            Refused::Outside(span) => (
                span,
                "is a function of another partition: what is typed begins and ends elsewhere at no device, and not beyond the machine",
            ),
            Refused::Begins(span) => (
                span,
                "would begin it elsewhere: first functions of what is typed are all of one partition, and one of all functions is of this one",
            ),
            Refused::Between(span) => (
                span,
                "reads what a third partition writes: both have a channel with the one where this is typed, and none with each other",
            ),
            Refused::Elsewhere(span) => (
                span,
                "is a function of another partition, through which no flow is typed here: only `typed_through` in the \
                     description has channels between them made when the system is built",
            ),
            Refused::Core(span) => (
                span,
                "is on another core of another partition than the first, on which alone that one is asked for stages: stages there are in the \
                     description",
            ),
            Refused::Idle(span) => (
                span,
                "is on a core on which nobody runs stages: another program schedules it",
            ),
            Refused::Endpoint(span) => (
                span,
                "reads an endpoint without an I/O VCPU: nobody serves its interrupts; give that a `vcpu` in the description",
            ),
            Refused::Heads(span) => (
                span,
                "is one first stage too many: a message says of 4 where it entered",
            ),
            Refused::Ends(span) => {
                return Some((span, ["more than 4 stages would feed", ", or be fed by it"]));
            }
            _ => return None,
        };
        Some((span, ["", behind]))
    }
}

const _: () = assert!(HEADS == 4 && ENDS == 4, "as is said");

impl fmt::Display for Diagnostic<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((span, [before, behind])) = self.place() {
            let name = span.of(self.flow);
            let gaps = [before, behind].map(|text| match text {
                "" => "",
                text if text.starts_with(',') => "",
                _ => " ",
            });
            let what = format_args!("{before}{}`{name}`{}{behind}", gaps[0], gaps[1]);
            return self.at(out, span, what);
        }
        match self.refused {
            Refused::Sharers {
                span,
                device,
                pipes,
            } => self.sharers(out, span, device, pipes),
            Refused::Syntax(error) => self.syntax(out, error),
            Refused::Misfit(error) => self.misfit(out, error.span, error.fault),
            Refused::Unmet {
                span,
                violation,
                least,
            } => self.unmet(out, span, violation, least),
            Refused::Takes { pipe, violation } => {
                let [name, flow] = (self.standing)(pipe);
                let broken = self.broken(flow, violation);
                write!(
                    out,
                    "pipe {name}, which is there, would not be kept:\n{broken}"
                )
            }
            Refused::Stages { required, free } => write!(
                out,
                "it has {required} stages, and {free} are free: remove a pipe, or give the partition more `spare_stages`"
            ),
            Refused::Buffers { required, free } => write!(
                out,
                "its buffers take {required} bytes, and {free} are free, perhaps not in one piece: remove a pipe, or give the \
                 partition more `spare_buffers`"
            ),
            Refused::Messages { stage } => write!(
                out,
                "`{}` would have more than {MESSAGES} jobs in a period: ask for a lower rate, or a shorter delay",
                self.stage(stage)
            ),
            _ => out.write_str("there would be more VCPUs than can be judged"),
        }
    }
}
