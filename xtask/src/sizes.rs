//! Lines of files and functions, beside what the house aims at; what a policy may have

use crate::workspace::Workspace;
use miette::{IntoDiagnostic, Result, miette};
use std::path::{Path, PathBuf};
use std::process::Command;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Nearly all functions and files stay below these, lines.
const FUNCTION_AIM: usize = 30;
const FILE_AIM: usize = 400;

/// Folder of the policies, and the limit of code lines of each: neither blank nor comment, no tests.
const POLICIES: &str = "lib/sched/src/policy/";
const POLICY_LIMIT: usize = 300;
/// House style: the test module is the last item of its file.
const TESTS: &str = "#[cfg(test)]";

/// Something with a size.
struct Item {
    lines: usize,
    name: String,
}

/// Prints medians, ninth deciles, maxima, and what is above the aims.
pub(crate) fn print(workspace: &Workspace) -> Result<()> {
    let mut files = Vec::new();
    let mut functions = Functions::default();
    for path in sources(&workspace.root)? {
        let text = std::fs::read_to_string(workspace.root.join(&path)).into_diagnostic()?;
        files.push(Item {
            lines: text.lines().count(),
            name: path.display().to_string(),
        });
        if let Ok(syntax) = syn::parse_file(&text) {
            functions.file = path;
            functions.visit_file(&syntax);
        }
    }
    report("functions", functions.found, FUNCTION_AIM);
    report("files", files, FILE_AIM);
    Ok(())
}

/// Checks that every scheduling policy is small enough for one reading.
pub(crate) fn check_policies(workspace: &Workspace) -> Result<()> {
    let policies = sources(&workspace.root)?;
    let is_policy = |path: &&PathBuf| path.starts_with(POLICIES) && !path.ends_with("tests.rs");
    for path in policies.iter().filter(is_policy) {
        let text = std::fs::read_to_string(workspace.root.join(path)).into_diagnostic()?;
        let lines = lines_of_code(&text);
        if lines >= POLICY_LIMIT {
            let path = path.display();
            return Err(miette!(
                "{path} has {lines} lines of code; a policy has fewer than {POLICY_LIMIT}: take out what \
                 has a name of its own"
            ));
        }
    }
    Ok(())
}

fn lines_of_code(text: &str) -> usize {
    let code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    let lines = text.lines().map(str::trim);
    lines.take_while(|line| *line != TESTS).filter(code).count()
}

/// Rust files that git knows.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "*.rs"])
        .current_dir(root)
        .output()
        .into_diagnostic()?;
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names
        .lines()
        .map(PathBuf::from)
        .filter(|path| root.join(path).exists())
        .collect())
}

fn report(what: &str, mut items: Vec<Item>, aim: usize) {
    items.sort_by_key(|item| item.lines);
    let at = |tenths: usize| {
        items
            .get(items.len() * tenths / 10)
            .map_or(0, |item| item.lines)
    };
    let max = items.last().map_or(0, |item| item.lines);
    let over = items.iter().filter(|item| item.lines > aim);
    println!(
        "{what}: {}, lines p50 {} p90 {} max {max}, above {aim}: {}",
        items.len(),
        at(5),
        at(9),
        over.clone().count()
    );
    over.rev()
        .take(10)
        .for_each(|item| println!("  {:5}  {}", item.lines, item.name));
}

/// Collects functions and methods, tests among them.
#[derive(Default)]
struct Functions {
    file: PathBuf,
    found: Vec<Item>,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let lines = block.span().end().line + 1 - signature.span().start().line;
        let name = format!("{} {}", self.file.display(), signature.ident);
        self.found.push(Item { lines, name });
    }
}

impl<'s> Visit<'s> for Functions {
    fn visit_item_fn(&mut self, item: &'s syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'s syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }
}
