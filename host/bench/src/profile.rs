//! Demand of pipe functions, measured in the emulator (`bulkhead profile`)
//!
//! The program that runs the stages of a partition is built into a system of its own, on one core and beside nothing, and
//! told to measure: each function alone, then what a stage needs besides, which is a fact of the board (`costs.stage`): the analysis adds it
//! to each WCET. Instructions become time by the clock that runs go by.

use bulkhead_abi::component::Role;
use bulkhead_model::profile::{Measured, Profile, digest};
use bulkhead_model::system::{Component, Cores, Image, Partition, Program, System};
use bulkhead_run::machine::{DEFAULT_SHIFT, Timing};
use std::path::{Path, PathBuf};

use crate::error::BenchError;
use crate::measures::{Measure, Measures};
use crate::setting::Context;

/// Name of the system that is made, and of its partition.
const NAME: &str = "profile";
const PARTITION: &str = "measured";
/// Name of what the kernel metered of their budgets.
const BUDGET: &str = "(budget)";
/// Each function is measured as long as a short pipe of trivial stages runs.
const DESCRIPTION: &str = include_str!("profile.toml");

/// Measures all pipe functions of a system, in so many jobs each.
///
/// # Errors
/// The programs cannot be built or run, or do not measure a function that the description names.
pub fn measure(context: &Context, system: &System, jobs: u64) -> Result<Profile, BenchError> {
    let mut profile = Profile::new();
    // Cores take turns: each may wait for all others.
    let cores: usize = system.partitions.iter().map(cores).sum();
    let instruction_ns = (cores.max(1) as u64) << DEFAULT_SHIFT;
    for partition in &system.partitions {
        let Some(program) = program(partition) else {
            continue;
        };
        let executing = executing(partition);
        let (measures, _) = run(context, program, &executing, jobs)?;
        let missing = |what: String| BenchError::Incomplete {
            what,
            folder: context.out.join(NAME).join("run"),
        };
        for function in &partition.pipe_functions {
            let measure = measures.0.get(function);
            let measure =
                measure.ok_or_else(|| missing(format!("{}.{function}", partition.name)))?;
            let measured = Measured {
                wcmt_ns: wcmt_ns(measure, instruction_ns),
                jobs: measure.count as u64,
                instructions: [measure.average.ceil() as u64, measure.worst as u64],
                digest: digest(&context.root, program_of(function, program, &executing))
                    .unwrap_or_default(),
            };
            profile.insert(format!("{}.{function}", partition.name), measured);
        }
    }
    Ok(profile)
}

/// Measures what the kernel meters of the budgets of a program's stages, in so many jobs each. Returns this and what the board's
/// `costs.stage` says, instructions.
///
/// # Errors
/// The program cannot be built or run, or runs no stage.
pub(crate) fn budgets(
    context: &Context,
    program: &Program,
    jobs: u64,
) -> Result<(Measure, u64), BenchError> {
    let (measures, counted) = run(context, program, &[], jobs)?;
    let budget = measures
        .0
        .get(BUDGET)
        .ok_or_else(|| BenchError::Incomplete {
            what: "budgets of stages".into(),
            folder: context.out.join(NAME).join("run"),
        })?;
    Ok((budget.clone(), counted))
}

/// Worst measured time of a function alone: the analysis counts what wakes its stage up and executes it.
const fn wcmt_ns(measure: &Measure, instruction_ns: u64) -> u64 {
    (measure.worst as u64).saturating_mul(instruction_ns)
}

/// The program that runs the stages of a partition.
fn program(partition: &Partition) -> Option<&Program> {
    let Image::Components(components) = &partition.image else {
        return None;
    };
    let schedules = |role: Role, core| role == Role::Scheduler && core == 0;
    let mut components = components.iter();
    let scheduler = components.find(|one| schedules(one.role, one.core))?;
    let measures = matches!(scheduler.program, Program::Crate(_) | Program::Folder(_));
    (measures && !partition.pipe_functions.is_empty()).then_some(&scheduler.program)
}

/// The components that execute pipe functions, with the names of the functions.
fn executing(partition: &Partition) -> Vec<(&Component, Vec<&str>)> {
    let Image::Components(components) = &partition.image else {
        return Vec::new();
    };
    let functions = |component: &Component| {
        let all = partition.component_functions.iter();
        let executed = all.filter(|[_, executor]| *executor == component.name);
        executed.map(|[name, _]| name.as_str()).collect::<Vec<_>>()
    };
    let both = components.iter().map(|one| (one, functions(one)));
    both.filter(|(_, functions)| !functions.is_empty())
        .collect()
}

/// The program with a function: that of the component that executes it, or of the scheduler.
fn program_of<'p>(
    function: &str,
    scheduler: &'p Program,
    executing: &[(&'p Component, Vec<&str>)],
) -> &'p Program {
    let mut executing = executing.iter();
    let found = executing.find(|(_, functions)| functions.contains(&function));
    found.map_or(scheduler, |(component, _)| &component.program)
}

const fn cores(partition: &Partition) -> usize {
    match &partition.cores {
        Cores::Count(count) => *count,
        Cores::These(cores) => cores.len(),
    }
}

/// Runs the program; returns its figures, and the board's `costs.stage`.
fn run(
    context: &Context,
    program: &Program,
    executing: &[(&Component, Vec<&str>)],
    jobs: u64,
) -> Result<(Measures, u64), BenchError> {
    let folder = context.out.join(NAME);
    std::fs::create_dir_all(&folder).map_err(BenchError::file(&folder))?;
    let description = folder.join("system.toml");
    let mut text = DESCRIPTION.replace("{ PROGRAM }", &image(program)?);
    for (component, functions) in executing {
        text += &component_text(component)?;
        for function in functions {
            add_function(&mut text, function, &component.name);
        }
    }
    std::fs::write(&description, text).map_err(BenchError::file(&description))?;
    let words = format!("profile={jobs} load=0");
    let setting = context.build(NAME, path(&description), &[], &[(PARTITION, &words)])?;
    let counted = setting.system.board.costs.map_or(0, |costs| costs.stage);
    let measures = setting.measure(PARTITION, Timing::path(DEFAULT_SHIFT))?;
    Ok((measures, counted))
}

/// The `image` of a component.
fn image(program: &Program) -> Result<String, BenchError> {
    Ok(match program {
        Program::Crate(name) => format!("{{ crate = {name:?} }}"),
        Program::File(path) => format!("{{ file = {:?} }}", absolute(path)?),
        Program::Folder(folder) => {
            let mut text = format!("{{ folder = {:?}", absolute(&folder.path)?);
            let lists = [
                ("sources", strings(&folder.sources)?),
                ("include", strings(&folder.include)?),
                ("define", folder.define.clone()),
            ];
            for (key, list) in lists {
                // A crate names its own in its `Cargo.toml`.
                if !list.is_empty() {
                    text += &format!(", {key} = {list:?}");
                }
            }
            text + " }"
        }
    })
}

/// Absolute paths, as text.
fn strings(paths: &[PathBuf]) -> Result<Vec<String>, BenchError> {
    let absolute = paths.iter().map(|path| absolute(path));
    let text = absolute.map(|path| Ok(path?.display().to_string()));
    text.collect()
}

/// A component that executes functions.
fn component_text(component: &Component) -> Result<String, BenchError> {
    let Component {
        name,
        program,
        memory,
        stack,
        ..
    } = component;
    let image = image(program)?;
    let text = format!(
        "\n[partition.{PARTITION}.component.{name}]\nimage = {image}\nneeds = [\"threads\", \"console\"]\n\
         priority = 50\non_fault = \"stop\"\nmemory = \"{} KiB\"\nstack = \"{} KiB\"\n",
        memory / 1024,
        stack / 1024
    );
    Ok(text)
}

/// Adds a function that a component executes to the description, which has some functions already.
fn add_function(text: &mut String, function: &str, component: &str) {
    let head = format!("[partition.{PARTITION}.function.{function}]\n");
    let executed = format!("{head}component = {component:?}\n");
    match text.contains(&head) {
        true => *text = text.replace(&head, &executed),
        false => *text += &format!("\n{executed}wcet = \"200 us\"\n"),
    }
}

/// The description that is made stands elsewhere.
fn absolute(path: &Path) -> Result<PathBuf, BenchError> {
    std::path::absolute(path).map_err(BenchError::file(path))
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worst_time_is_that_of_the_function_alone() {
        let measure = Measure {
            count: 200.0,
            average: 40.0,
            worst: 100.0,
        };
        assert_eq!(wcmt_ns(&measure, 4), 400);
    }

    #[test]
    fn a_function_gets_one_table_only() {
        let mut text = DESCRIPTION.to_owned();
        add_function(&mut text, "filter", "means");
        add_function(&mut text, "mean", "means");
        let tables = |name: &str| {
            let head = format!("[partition.{PARTITION}.function.{name}]");
            text.matches(&head).count()
        };
        assert_eq!([tables("filter"), tables("mean")], [1, 1]);
        assert_eq!(text.matches("component = \"means\"").count(), 2);
    }
}
