//! Diagnostics as people and programs read them
//!
//! For people as a compiler shows them: message, place, the lines concerned with remarks, advice.
//! For programs as JSON.

use crate::diagnostic::{Diagnostic, Label, Severity};
use crate::source::{Source, Sources, Span};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use serde_json::{Value, json};
use std::fmt;

/// How to show diagnostics.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// With colours.
    pub colour: bool,
    /// Columns.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            colour: false,
            width: 100,
        }
    }
}

/// Anything but zero; see [`SourceCode`] for [`Sources`].
const CONTEXT_LINES: usize = 1;

/// Shows diagnostics one after the other, and a last line that counts them.
#[must_use]
pub fn render(found: &[Diagnostic], style: Style) -> String {
    let mut text = String::new();
    for diagnostic in found {
        text.push_str(&render_one(diagnostic, style));
        text.push('\n');
    }
    text + &summary(found)
}

/// `3 errors, 1 warning`, and nothing where there is nothing.
#[must_use]
pub fn summary(found: &[Diagnostic]) -> String {
    let count = |severity| {
        found
            .iter()
            .filter(|found| found.severity == severity)
            .count()
    };
    let parts: Vec<_> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter(|severity| count(*severity) > 0)
        .map(|severity| match count(severity) {
            1 => format!("1 {}", severity.name()),
            many => format!("{many} {}s", severity.name()),
        })
        .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("{}\n", parts.join(", "))
    }
}

/// Shows one.
#[must_use]
pub fn render_one(diagnostic: &Diagnostic, style: Style) -> String {
    let theme = match style.colour {
        true => GraphicalTheme::unicode(),
        false => GraphicalTheme::unicode_nocolor(),
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(style.width.max(40))
        .with_context_lines(CONTEXT_LINES)
        .with_links(false);
    let mut text = String::new();
    match handler.render_report(&mut text, &Shown(diagnostic)) {
        Ok(()) => text,
        Err(fmt::Error) => plain(diagnostic),
    }
}

/// One line, should the other form ever fail.
fn plain(diagnostic: &Diagnostic) -> String {
    let Diagnostic {
        id,
        severity,
        message,
        ..
    } = diagnostic;
    format!("{}[{id}]: {message}\n", severity.name())
}

/// Diagnostics for programs: a list of `{id, severity, message, help, file, line, column, labels}`.
#[must_use]
pub fn to_json(found: &[Diagnostic]) -> Value {
    found.iter().map(json_one).collect()
}

fn json_one(diagnostic: &Diagnostic) -> Value {
    let labels: Vec<_> = diagnostic
        .labels
        .iter()
        .map(|label| json_label(diagnostic, label))
        .collect();
    let mut value = json!({
        "id": diagnostic.id,
        "severity": diagnostic.severity.name(),
        "message": diagnostic.message,
        "help": diagnostic.help,
    });
    place_into(&mut value, diagnostic, &diagnostic.span);
    value["labels"] = Value::Array(labels);
    value
}

fn json_label(diagnostic: &Diagnostic, label: &Label) -> Value {
    let mut value = json!({ "text": label.text });
    place_into(&mut value, diagnostic, &label.span);
    value
}

/// Adds file, line, column and length in bytes.
fn place_into(value: &mut Value, diagnostic: &Diagnostic, span: &Span) {
    if let Some(place) = diagnostic.sources.place(span) {
        value["file"] = place.file.into();
        value["line"] = place.line.into();
        value["column"] = place.column.into();
        value["length"] = (span.end - span.start).into();
    }
}

/// A diagnostic in the library's eyes.
#[derive(Debug)]
struct Shown<'a>(&'a Diagnostic);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!(
            "{}[{}]",
            self.0.severity.name(),
            self.0.id
        )))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.0.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Note => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0
            .help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0
            .place()
            .is_some()
            .then_some(&*self.0.sources as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.place()?;
        Some(Box::new(self.0.labels.iter().enumerate().map(
            |(index, label)| {
                let text = (!label.text.is_empty()).then(|| label.text.clone());
                let span = SourceSpan::from(self.0.sources.visible(&label.span));
                match index {
                    0 => LabeledSpan::new_primary_with_span(text, span),
                    _ => LabeledSpan::new_with_span(text, span),
                }
            },
        )))
    }
}

/// The library asks twice: without context for the place of a message, with context for what to
/// show. It would show the bare span; whole lines are wanted.
impl SourceCode for Sources {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let end = span.offset() + span.len();
        let source = self
            .at(span.offset())
            .filter(|source| source.contains(end))
            .ok_or(MietteError::OutOfBounds)?;
        let exact = span.offset()..end;
        let range = if before + after == 0 {
            exact
        } else {
            source.whole_lines(&exact)
        };
        contents(source, &range).ok_or(MietteError::OutOfBounds)
    }
}

fn contents<'a>(source: &'a Source, range: &Span) -> Option<Box<dyn SpanContents<'a> + 'a>> {
    let text = source
        .text
        .get(range.start - source.base()..range.end - source.base())?;
    let place = source.place(range.start);
    Some(Box::new(MietteSpanContents::new_named(
        source.name.clone(),
        text.as_bytes(),
        SourceSpan::from((range.start, text.len())),
        place.line - 1,
        place.column - 1,
        text.lines().count().max(1),
    )))
}
