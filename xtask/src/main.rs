//! Chores of the repository
//!
//! `cargo xtask check` is what `make check` and `make test` run; the rest are its parts.
#![forbid(unsafe_code)]

mod headers;
mod layers;
mod licences;
mod loops;
mod modules;
mod mutations;
mod sizes;
mod suite;
mod vocabulary;
mod workspace;

use clap::Parser;
use miette::Result;
use workspace::Workspace;

/// Chores of the repository.
#[derive(Parser)]
enum Chore {
    /// Layers, licences, generated files and sizes of policies are as they should be.
    Check,
    /// Every dependency of a crate is one that layers.toml allows, and no files depend on each other in circles.
    Layers,
    /// Shows the files that depend on each other in circles, and by which names.
    Cycles {
        /// Of one library, program or test.
        target: Option<String>,
    },
    /// Every crate has a licence that layers.toml accepts, every kernel file the kernel's.
    Licences {
        /// Of the bridge, which is a workspace of its own.
        #[arg(long)]
        bridge: bool,
    },
    /// Writes the C headers of the Linux side from the crate `abi`.
    Headers {
        /// Only says whether they are up to date.
        #[arg(long)]
        check: bool,
    },
    /// Proves that code at EL1 and EL2 has no loop without a known bound, no recursion, no lock, no allocation, no panic.
    Loops,
    /// No identifier or heading uses a word that the glossary rejects.
    Vocabulary,
    /// Lines of files and functions; informational.
    Sizes,
    /// Seeded errors in kernel, monitor, threads, buffers and analysis make tests fail.
    Mutations {
        /// Only mutations of files with this in their paths.
        file: Option<String>,
    },
    /// Runs all tests; the last line is `N passed, N failed`.
    Test {
        /// Also those that take hours.
        #[arg(long)]
        long: bool,
        /// Only the parts with this in their names.
        part: Option<String>,
    },
}

fn main() -> Result<()> {
    let chore = Chore::parse();
    let workspace = Workspace::read()?;
    match chore {
        Chore::Check => check(&workspace),
        Chore::Layers => layers::check(&workspace).and_then(|()| modules::check(&workspace)),
        Chore::Cycles { target } => modules::print(&workspace, target.as_deref()),
        Chore::Licences { bridge: false } => licences::check(&workspace),
        Chore::Licences { bridge: true } => licences::check_bridge(&workspace),
        Chore::Headers { check: true } => headers::check(&workspace),
        Chore::Headers { check: false } => headers::write(&workspace),
        Chore::Loops => loops::check(&workspace),
        Chore::Vocabulary => vocabulary::check(&workspace),
        Chore::Sizes => sizes::print(&workspace),
        Chore::Mutations { file } => mutations::run(&workspace, file.as_deref()),
        Chore::Test { long, part } => suite::run(&workspace, long, part.as_deref()),
    }
}

fn check(workspace: &Workspace) -> Result<()> {
    layers::check(workspace)?;
    modules::check(workspace)?;
    vocabulary::check(workspace)?;
    licences::check(workspace)?;
    headers::check(workspace)?;
    sizes::check_policies(workspace)?;
    sizes::print(workspace)
}
