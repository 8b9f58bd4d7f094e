//! From a path to a checked system
//!
//! Text → tree → shape → draft → rules → system. Each step reports all errors that it finds, and
//! continues with the valid parts.

use crate::diagnostic::{Diagnostic, Report};
use crate::document::{self, SyntaxError};
use crate::draft::{Draft, Section, Surroundings, display};
use crate::pipes::advice::Unmet;
use crate::pipes::solution::Solution;
use crate::registry::DESCRIPTION;
use crate::rules::shape::{bad_name, description_unreadable, duplicate_name, syntax};
use crate::source::Sources;
use crate::system::System;
use crate::{board_file, measured_wcet, overrides, resolve, rules, shape, text_file};
use std::path::Path;
use std::sync::Arc;

/// Name of a description in its folder.
const FILE_NAME: &str = "system.toml";

/// Changes to a description before it is checked.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `dotted.key=value` or `dotted.key+=words`, as after `--set`.
    pub set: Vec<String>,
    /// The flow of one more pipe, the last: so that it is judged as if it were described.
    pub flow: Option<String>,
    /// True if functions without a known WCET get a provisional one, so that they can be measured.
    pub unmeasured: bool,
}

/// Reads and checks a description.
///
/// `path` is a description or a folder with a `system.toml`; `root` is the checkout, in which
/// boards, crates and fetched kernels are looked for. Answers the system with warnings and notes.
///
/// # Errors
/// All that is wrong with it, and the warnings, in the order of the text.
pub fn load(
    path: &Path,
    root: &Path,
    overrides: &Overrides,
) -> Result<(System, Vec<Diagnostic>), Vec<Diagnostic>> {
    let file = if path.is_dir() {
        path.join(FILE_NAME)
    } else {
        path.to_path_buf()
    };
    let name = display(&file, root);
    let bytes = text_file::read(&file)
        .map_err(|reason| vec![description_unreadable::unreadable(&name, &reason)])?;
    let text = String::from_utf8(bytes).map_err(|wrong| not_utf8(&name, &wrong))?;
    check(&file, text, root, overrides)
}

/// Checks a text that is, or would be, in `file`.
///
/// # Errors
/// As [`load`].
pub fn check(
    file: &Path,
    text: String,
    root: &Path,
    overrides: &Overrides,
) -> Result<(System, Vec<Diagnostic>), Vec<Diagnostic>> {
    let checked = check_once(file, text.clone(), root, overrides);
    checked.map_err(|Refused { mut found, unmet }| {
        if let Some(unmet) = unmet.filter(Unmet::has_looser) {
            unmet.advise(&mut found, |flow| {
                let mut overrides = overrides.clone();
                match overrides.flow.as_mut().filter(|one| **one == unmet.flow) {
                    Some(added) => flow.clone_into(added),
                    None => overrides
                        .set
                        .push(format!("pipe.{}.flow={flow}", unmet.name)),
                }
                let checked = check_once(file, text.clone(), root, &overrides);
                checked.map_or_else(|refused| refused.found, |_| Vec::new())
            });
        }
        found
    })
}

/// A description that is refused.
struct Refused {
    /// All that is wrong.
    found: Vec<Diagnostic>,
    /// The pipe that has an infeasible requirement.
    unmet: Option<Unmet>,
}

impl From<Vec<Diagnostic>> for Refused {
    fn from(found: Vec<Diagnostic>) -> Self {
        Self { found, unmet: None }
    }
}

fn check_once(
    file: &Path,
    text: String,
    root: &Path,
    overrides: &Overrides,
) -> Result<(System, Vec<Diagnostic>), Refused> {
    let mut report = Report::default();
    let mut sources = Sources::default();
    let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let (mut table, errors) = document::parse(&text, 0);
    errors
        .iter()
        .for_each(|error| report.add(syntax_error(&text, error)));
    sources.add(display(file, root), &text);
    overrides::apply(&overrides.set, &mut table, &mut sources, &mut report);
    let flow = overrides.flow.iter();
    flow.for_each(|flow| overrides::add_pipe(flow, &mut table, &mut sources, &mut report));
    let mut misshapen = Report::default();
    let whole = errors.is_empty().then_some(0);
    shape::check(&mut table, DESCRIPTION, whole, &mut misshapen);
    let torn = errors.iter().filter(|error| syntax::is_structural(error));
    misshapen.keep_before(torn.map(|error| error.span.start).min());
    report.take(misshapen);
    let name = Section::of(&table, "system").text("name");
    name.given()
        .into_iter()
        .for_each(|name| bad_name::check("the system", name, &mut report));
    let board = board_file::named(&table, root, &folder, &mut sources, &mut report);
    let sources = Arc::new(sources);
    let around = Surroundings {
        root: root.to_path_buf(),
        folder,
        sources: Arc::clone(&sources),
        board,
    };
    let mut draft = Draft::read(&table, around);
    measured_wcet::apply(&mut draft, overrides.unmeasured);
    let is_sound = draft.partitions.iter().all(rules::pipes::is_sound);
    let solution = Solution::new(&draft, is_sound);
    if !errors.iter().any(syntax::is_structural) {
        rules::check(&solution, &mut report);
    }
    finish(&solution, report, &sources).map_err(|found| Refused {
        found,
        unmet: Unmet::of(&solution),
    })
}

fn finish(
    solution: &Solution<'_>,
    report: Report,
    sources: &Arc<Sources>,
) -> Result<(System, Vec<Diagnostic>), Vec<Diagnostic>> {
    let refused = report.has_errors();
    let found = report.finish(sources);
    if refused {
        return Err(found);
    }
    match resolve::system(solution) {
        Some(system) => Ok((system, found)),
        None => Err(vec![description_unreadable::unresolved().within(sources)]),
    }
}

fn not_utf8(file: &str, wrong: &std::string::FromUtf8Error) -> Vec<Diagnostic> {
    let text = String::from_utf8_lossy(wrong.as_bytes()).into_owned();
    let mut sources = Sources::default();
    sources.add(file.to_owned(), &text);
    let start = wrong.utf8_error().valid_up_to();
    vec![description_unreadable::not_utf8(file, start).within(&Arc::new(sources))]
}

fn syntax_error(text: &str, error: &SyntaxError) -> Diagnostic {
    match error.message.as_str() {
        duplicate_name::SAID => duplicate_name::found(text, 0, &error.span),
        _ => syntax::broken(error),
    }
}
