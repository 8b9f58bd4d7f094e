//! The edge: the last description that is accepted as its execution times are scaled up

use bulkhead_model::system::System;
use bulkhead_model::{Overrides, check};
use std::path::PathBuf;

use super::description::{Class, describe};
use crate::{BenchError, Context};

/// Parts of a scale: execution times are multiples of 1 / 256 of what is drawn.
pub(super) const WHOLE: u64 = 256;
/// Scales up to so many times what is drawn.
const MOST: u64 = 64 * WHOLE;

/// A description that is accepted, and would not be with times that are a part longer.
pub(super) struct Edge {
    pub(super) file: PathBuf,
    pub(super) system: System,
}

/// The edge of so many systems on one board; nothing where not even the least of them is accepted.
pub(super) fn edge(
    context: &Context,
    name: &str,
    class: Class,
    seed: u64,
    systems: usize,
) -> Result<Option<Edge>, BenchError> {
    let folder = context.out.join(name);
    let file = folder.join("system.toml");
    let text = |scales: &[u64]| describe(context, class, seed, scales);
    let accepted = |scales: &[u64]| -> Result<Option<System>, BenchError> {
        let checked = check(&file, text(scales)?, &context.root, &Overrides::default());
        Ok(checked.ok().map(|(system, _)| system))
    };
    let mut scales = vec![1; systems];
    if accepted(&scales)?.is_none() {
        return Ok(None);
    }
    for system in 0..systems {
        let (mut fits, mut refused) = (1, MOST);
        while refused - fits > 1 {
            let middle = match refused {
                // From small to large first: most of what is drawn fits a few times.
                MOST => (2 * fits).min(MOST - 1),
                _ => fits + (refused - fits) / 2,
            };
            scales[system] = middle;
            match accepted(&scales)? {
                Some(_) => fits = middle,
                None => refused = middle,
            }
        }
        scales[system] = fits;
    }
    let found = accepted(&scales)?;
    std::fs::create_dir_all(&folder).map_err(BenchError::file(&folder))?;
    std::fs::write(&file, text(&scales)?).map_err(BenchError::file(&file))?;
    Ok(found.map(|system| Edge { file, system }))
}
