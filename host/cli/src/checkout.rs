//! Paths of the checkout, of descriptions and of results

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Names the checkout where neither the current folder nor the program lies in it.
const ROOT_VARIABLE: &str = "BULKHEAD_ROOT";
/// The file that every description's folder has.
const DESCRIPTION: &str = "system.toml";
/// The system that is meant where none is named.
const SHOWCASE: &str = "drive";

/// The checkout.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    root: PathBuf,
}

impl Checkout {
    /// Finds it: named by the environment, around the current folder, or around the program.
    pub(crate) fn find() -> Result<Self, Failure> {
        let named = env::var_os(ROOT_VARIABLE).map(PathBuf::from);
        let around = |path: PathBuf| path.ancestors().find(|p| is_root(p)).map(Path::to_path_buf);
        named
            .filter(|path| is_root(path))
            .or_else(|| env::current_dir().ok().and_then(around))
            .or_else(|| env::current_exe().ok().and_then(around))
            .map(|root| Self { root })
            .ok_or(Failure::NoCheckout)
    }

    /// Its top folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder or file of the description that the user means.
    pub(crate) fn description(&self, system: Option<&Path>) -> Result<PathBuf, Failure> {
        let systems = self.root.join("systems");
        let here = PathBuf::from(".");
        let candidates = match system {
            Some(named) => vec![named.to_path_buf(), systems.join(named)],
            None => vec![here, systems.join(SHOWCASE)],
        };
        let found = candidates.into_iter().find(|path| is_description(path));
        found.ok_or_else(|| Failure::NoSystem {
            name: system.unwrap_or(Path::new(SHOWCASE)).display().to_string(),
            candidates: system_names(&systems),
        })
    }

    /// Folder in which the system of that name is built and run.
    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.root.join("out").join(name)
    }
}

fn is_root(path: &Path) -> bool {
    path.join("boards").is_dir() && path.join("abi").is_dir()
}

fn is_description(path: &Path) -> bool {
    path.is_file() || path.join(DESCRIPTION).is_file()
}

fn system_names(systems: &Path) -> String {
    let entries = std::fs::read_dir(systems).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| is_description(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.join(", ")
}
