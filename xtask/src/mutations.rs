//! Seeded mutations: each must make a test of its crate fail
//!
//! `tests/mutations.toml` lists a file, a text in it that occurs once, and its replacement. The workspace is copied,
//! each replacement is applied alone, and the tests of the file's crate run, then those of the crates that the list
//! names beside it. A mutation that no test notices survives; the list states the reason where it is known.

use crate::workspace::Workspace;
use miette::{IntoDiagnostic, Result, miette};
use serde::Deserialize;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const LIST: &str = "tests/mutations.toml";
/// Least share of the mutations that tests notice.
const CAUGHT_PER_CENT: usize = 95;
/// Tests that run longer have noticed: a mutated loop may not end.
const PATIENCE: Duration = Duration::from_secs(240);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// Crates with tests of other crates.
    #[serde(default)]
    also: Vec<Also>,
    mutation: Vec<Mutation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Also {
    /// Folder of the crate that is tested elsewhere, too.
    of: PathBuf,
    /// Folder of the crate with these tests.
    tests: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutation {
    file: PathBuf,
    from: String,
    to: String,
    /// Reason for which no test notices it.
    survives: Option<String>,
}

#[derive(PartialEq)]
enum Outcome {
    Caught,
    Survived,
    Invalid(String),
}

/// Runs the mutations of the files that `only` is a part of; fails if too many survive.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>) -> Result<()> {
    let root = Path::new(&workspace.root);
    let text = fs::read_to_string(root.join(LIST)).into_diagnostic()?;
    let list: List = toml::from_str(&text).into_diagnostic()?;
    let place = workspace.metadata.target_directory.as_std_path();
    let place = place.join("mutations");
    copy(root, &place.join("tree"))?;
    let chosen =
        |one: &&Mutation| only.is_none_or(|part| one.file.to_string_lossy().contains(part));
    let mut crates: Vec<_> = list
        .mutation
        .iter()
        .filter(chosen)
        .flat_map(|one| tests_of(one, &list.also, &place))
        .collect();
    crates.sort_unstable();
    crates.dedup();
    for manifest in crates {
        if !matches!(test(&manifest, &place)?, Outcome::Survived) {
            let name = manifest.display();
            return Err(miette!("the tests of {name} fail without a mutation"));
        }
    }
    let (mut caught, mut unexplained, mut all) = (0, 0, 0);
    for one in list.mutation.iter().filter(chosen) {
        all += 1;
        let name = format!("{}: {}", one.file.display(), one.from.trim());
        match outcome(one, &list.also, &place)? {
            Outcome::Caught => {
                caught += 1;
                println!("caught    {name}");
            }
            Outcome::Survived => {
                unexplained += usize::from(one.survives.is_none());
                let reason = one.survives.as_deref().unwrap_or("NO REASON KNOWN");
                println!("SURVIVED  {name} -> {}: {reason}", one.to.trim());
            }
            // The list has to follow the code.
            Outcome::Invalid(why) => {
                unexplained += 1;
                println!("INVALID   {name}: {why}");
            }
        }
    }
    println!(
        "{caught} of {all} mutations caught, {unexplained} survivors without a reason or invalid"
    );
    if all == 0 || caught * 100 < all * CAUGHT_PER_CENT || unexplained != 0 {
        return Err(miette!("the tests notice too few mutations"));
    }
    Ok(())
}

/// Copies what is tracked.
fn copy(root: &Path, tree: &Path) -> Result<()> {
    if tree.exists() {
        fs::remove_dir_all(tree).into_diagnostic()?;
    }
    let mut git = Command::new("git");
    git.args(["ls-files", "-z"]).current_dir(root);
    let listed = git.output().into_diagnostic()?;
    let names = String::from_utf8(listed.stdout).into_diagnostic()?;
    for name in names.split_terminator('\0') {
        let (from, to) = (root.join(name), tree.join(name));
        // A file that was removed since is not there.
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap_or(tree)).into_diagnostic()?;
            fs::copy(from, to).into_diagnostic()?;
        }
    }
    Ok(())
}

fn outcome(one: &Mutation, also: &[Also], place: &Path) -> Result<Outcome> {
    let tree = place.join("tree");
    let path = tree.join(&one.file);
    let text = fs::read_to_string(&path).into_diagnostic()?;
    if text.matches(&one.from).count() != 1 {
        return Ok(Outcome::Invalid("the text does not occur once".into()));
    }
    fs::write(&path, text.replace(&one.from, &one.to)).into_diagnostic()?;
    let mut found = Ok(Outcome::Survived);
    for manifest in tests_of(one, also, place) {
        found = test(&manifest, place);
        if !matches!(found, Ok(Outcome::Survived)) {
            break;
        }
    }
    fs::write(&path, text).into_diagnostic()?;
    found
}

/// Manifests of the crates that test the mutated file.
fn tests_of(one: &Mutation, also: &[Also], place: &Path) -> Vec<PathBuf> {
    let tree = place.join("tree");
    let further = also.iter().filter(|also| one.file.starts_with(&also.of));
    let further = further.map(|also| tree.join(&also.tests).join("Cargo.toml"));
    manifest(&tree.join(&one.file))
        .into_iter()
        .chain(further)
        .collect()
}

/// Manifest of the crate of a file.
fn manifest(path: &Path) -> Option<PathBuf> {
    let mut manifests = path.ancestors().map(|folder| folder.join("Cargo.toml"));
    manifests.find(|manifest| manifest.is_file())
}

/// Runs the tests of a crate.
fn test(manifest: &Path, place: &Path) -> Result<Outcome> {
    let cargo = |last: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo
            .args(["test", "--quiet", "--manifest-path"])
            .arg(manifest)
            .args(last);
        cargo.env("CARGO_TARGET_DIR", place.join("build"));
        cargo
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        cargo
    };
    if !cargo(&["--no-run"]).status().into_diagnostic()?.success() {
        return Ok(Outcome::Invalid("it does not compile".into()));
    }
    // A group of their own: a test that hangs is a child of cargo's.
    let mut tests = cargo(&[]).process_group(0).spawn().into_diagnostic()?;
    let began = Instant::now();
    loop {
        match tests.try_wait().into_diagnostic()? {
            Some(status) if status.success() => return Ok(Outcome::Survived),
            Some(_) => return Ok(Outcome::Caught),
            None if began.elapsed() > PATIENCE => {
                let group = format!("-{}", tests.id());
                let mut kill = Command::new("kill");
                kill.args(["-KILL", "--", &group])
                    .status()
                    .into_diagnostic()?;
                tests.wait().into_diagnostic()?;
                return Ok(Outcome::Caught);
            }
            None => thread::sleep(Duration::from_millis(100)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LIST, List};
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_list_follows_the_code() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = fs::read_to_string(root.join(LIST)).expect("the list");
        let list: List = toml::from_str(&text).expect("the list");
        for one in list.mutation {
            let file = root.join(&one.file);
            let text = fs::read_to_string(&file).expect("its file");
            let times = text.matches(&one.from).count();
            assert_eq!(times, 1, "{}: {}", one.file.display(), one.from);
        }
    }
}
