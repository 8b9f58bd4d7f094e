//! Checks identifiers and headings against `doc/glossary.md`
//!
//! The glossary has one term per concept. Its last column, *not this*, lists words that the project does not use for the concept, so
//! no definition, binding or heading may contain one of them. Names without a role (the section *Names*) may not be a whole identifier.

use crate::workspace::Workspace;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

const GLOSSARY: &str = "doc/glossary.md";
/// Heading of the column with rejected words.
const REJECTED: &str = "not this";
/// Heading of the list of names without a role.
const NAMES: &str = "## Names";
/// Folders without sources of the project.
const SKIPPED: [&str; 5] = ["target", "out", ".git", ".cache", "shared"];

/// The rules of the glossary.
#[derive(Debug, Default)]
struct Vocabulary {
    /// Rejected words or phrases, as lower-case words, with the term to be used instead.
    rejected: Vec<(Vec<String>, String)>,
    /// Names without a role.
    names: BTreeSet<String>,
}

/// Checks every Rust source and every document. `[vocabulary]` in `layers.toml` lists how many names of a folder are still to be renamed.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let root = &workspace.root;
    let text = read(&root.join(GLOSSARY))?;
    let vocabulary = Vocabulary::parse(&text)?;
    let mut folders = BTreeMap::<String, Vec<String>>::new();
    for path in sources(root)? {
        let path = path.strip_prefix(root).unwrap_or(&path);
        let display = path.display();
        let text = read(&root.join(path))?;
        let found = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => vocabulary
                .in_code(&text)
                .map_err(|error| miette!("{display}: {error}"))?,
            _ => vocabulary.in_headings(&text),
        };
        let found = found
            .into_iter()
            .map(|(line, problem)| format!("{display}:{line}: {problem}"));
        folders.entry(folder_of(path)).or_default().extend(found);
    }
    let permitted = |folder: &str| workspace.rules.vocabulary.get(folder).copied().unwrap_or(0);
    let excess = folders
        .iter()
        .filter(|(folder, found)| found.len() > permitted(folder));
    let excess: Vec<_> = excess
        .map(|(folder, found)| {
            format!(
                "{folder}: {}, permitted {}\n{}",
                found.len(),
                permitted(folder),
                found.join("\n")
            )
        })
        .collect();
    if excess.is_empty() {
        return Ok(());
    }
    Err(miette!(
        "names that contradict {GLOSSARY}:\n{}",
        excess.join("\n")
    ))
}

/// The first two folders of a path.
fn folder_of(path: &Path) -> String {
    let folders = path.parent().into_iter().flat_map(Path::components).take(2);
    folders
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path)
        .into_diagnostic()
        .wrap_err_with(|| path.display().to_string())
}

/// All Rust sources and Markdown documents below a folder, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder)
        .into_diagnostic()?
        .collect::<Result<_, _>>()
        .into_diagnostic()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().into_diagnostic()?);
        let name = entry.file_name();
        let is_source = path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "md");
        if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
            found.extend(sources(&path)?);
        } else if kind.is_file() && is_source {
            found.push(path);
        }
    }
    Ok(found)
}

impl Vocabulary {
    /// Reads the tables and the list of names.
    fn parse(text: &str) -> Result<Self> {
        let mut vocabulary = Self::default();
        let mut column = None;
        let mut lists_names = false;
        for line in text.lines() {
            if line.starts_with('#') {
                lists_names = line == NAMES;
            }
            if lists_names {
                let quoted = line.split('`').skip(1).step_by(2);
                vocabulary.names.extend(quoted.map(str::to_owned));
            }
            let Some(row) = line.strip_prefix('|') else {
                column = None;
                continue;
            };
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            match column {
                None => column = cells.iter().position(|cell| *cell == REJECTED),
                Some(column) => {
                    let Some([term, words]) = cells
                        .first()
                        .zip(cells.get(column))
                        .map(|(term, words)| [*term, *words])
                    else {
                        return Err(miette!("{GLOSSARY}: `{line}` lacks a column"));
                    };
                    let words = words
                        .split(',')
                        .map(str::trim)
                        .filter(|word| !word.is_empty());
                    let words = words.map(|word| (split(word), term.to_owned()));
                    vocabulary.rejected.extend(words.filter(|(word, _)| {
                        !word
                            .iter()
                            .all(|part| part.chars().all(|letter| letter == '-'))
                    }));
                }
            }
        }
        if vocabulary.rejected.is_empty() || vocabulary.names.is_empty() {
            return Err(miette!("{GLOSSARY} rejects nothing"));
        }
        Ok(vocabulary)
    }

    /// Names in Rust code that contradict the glossary, with their lines.
    fn in_code(&self, text: &str) -> syn::Result<Vec<(usize, String)>> {
        let mut names = Names {
            vocabulary: self,
            found: Vec::new(),
        };
        names.visit_file(&syn::parse_file(text)?);
        Ok(names.found)
    }

    /// Headings of a document that contradict the glossary, with their lines.
    fn in_headings(&self, text: &str) -> Vec<(usize, String)> {
        let mut is_listing = false;
        let mut found = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            is_listing ^= line.starts_with("```");
            if !is_listing && line.starts_with('#') {
                let problem = self.rejection(&split(line));
                found.extend(problem.map(|problem| {
                    (
                        number,
                        format!(
                            "heading `{}`: {problem}",
                            line.trim_start_matches(['#', ' '])
                        ),
                    )
                }));
            }
        }
        found
    }

    /// Reason for which a name with these words is rejected, if it is.
    fn rejection(&self, words: &[String]) -> Option<String> {
        self.rejected.iter().find_map(|(rejected, term)| {
            let is_there = words.windows(rejected.len()).any(|window| {
                window.iter().zip(rejected).all(|(word, rejected)| {
                    word == rejected || word.strip_suffix('s') == Some(rejected)
                })
            });
            is_there.then(|| format!("the term is *{term}*, not *{}*", rejected.join("-")))
        })
    }
}

/// Lower-case words of an identifier, a phrase or a heading.
fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Visits the names that a file defines.
struct Names<'v> {
    vocabulary: &'v Vocabulary,
    found: Vec<(usize, String)>,
}

impl Names<'_> {
    fn check(&mut self, name: &syn::Ident) {
        let text = name.to_string();
        let problem = self.vocabulary.rejection(&split(&text)).or_else(|| {
            let is_name = self.vocabulary.names.contains(&text);
            is_name.then(|| "a name without a role".to_owned())
        });
        if let Some(problem) = problem {
            self.found
                .push((name.span().start().line, format!("`{text}`: {problem}")));
        }
    }
}

macro_rules! check_names {
    ($($visit:ident($node:ident)),*) => {
        impl<'ast> Visit<'ast> for Names<'_> {
            $(fn $visit(&mut self, node: &'ast syn::$node) {
                self.check(&node.ident);
                visit::$visit(self, node);
            })*

            fn visit_signature(&mut self, node: &'ast syn::Signature) {
                self.check(&node.ident);
                visit::visit_signature(self, node);
            }

            fn visit_field(&mut self, node: &'ast syn::Field) {
                node.ident.iter().for_each(|name| self.check(name));
                visit::visit_field(self, node);
            }
        }
    };
}

check_names!(
    visit_item_const(ItemConst),
    visit_item_enum(ItemEnum),
    visit_item_mod(ItemMod),
    visit_item_static(ItemStatic),
    visit_item_struct(ItemStruct),
    visit_item_trait(ItemTrait),
    visit_item_type(ItemType),
    visit_item_union(ItemUnion),
    visit_pat_ident(PatIdent),
    visit_variant(Variant)
);

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "## Communication\n\n| term | meaning | not this |\n|---|---|---|\n| endpoint | a place | end-point |\n| guarantee | a bound | promise, pledge |\n\n## Names\n\nNot `said`, `known`.\n";

    fn found(code: &str) -> Vec<String> {
        let vocabulary = Vocabulary::parse(TEXT).expect("a glossary");
        let found = vocabulary.in_code(code).expect("code");
        found
            .into_iter()
            .map(|(line, problem)| format!("{line}: {problem}"))
            .collect()
    }

    #[test]
    fn rejected_words_are_found_in_every_kind_of_name() {
        let all = [
            "struct EndPoint;",
            "enum One { Promises }",
            "fn keep_promise() {}",
            "mod promise {}",
            "static PLEDGE: u8 = 0;",
            "const END_POINTS: u8 = 0;",
            "struct One { pledge: u8 }",
            "fn one() { let promised_not = 0; let end_point = 0; }",
            "trait Promise {}",
            "type Pledge = u8;",
            "fn one(promise: u8) {}",
        ];
        for code in all {
            assert_eq!(found(code).len(), 1, "{code}: {:?}", found(code));
        }
        assert!(found("fn endpoint(compromise: u8, point: u8) {}").is_empty());
    }

    #[test]
    fn names_without_a_role_are_found_whole() {
        assert_eq!(
            found("\nfn said() {}"),
            ["2: `said`: a name without a role"]
        );
        assert!(found("fn is_known() {}").is_empty());
    }

    #[test]
    fn headings_are_found_and_listings_are_not() {
        let vocabulary = Vocabulary::parse(TEXT).expect("a glossary");
        let found =
            vocabulary.in_headings("# Promises of a pipe\n```\n# promise\n```\nA promise.\n");
        assert_eq!(
            found,
            [(
                1,
                "heading `Promises of a pipe`: the term is *guarantee*, not *promise*".to_owned()
            )]
        );
    }

    #[test]
    fn a_glossary_that_rejects_nothing_is_refused() {
        assert!(Vocabulary::parse("| term | not this |\n|---|---|\n| one | |\n").is_err());
    }
}
