//! `bulkhead pipe solve`

use bulkhead_model::Overrides;
use bulkhead_model::pipes::solved::Solved;
use bulkhead_model::pipes::{self, Pipes};
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::Pipeline;
use bulkhead_tpipe::solver;
use std::path::Path;
use std::process::ExitCode;

use crate::arguments::{Pipe, PipeSolve};
use crate::checkout::Checkout;
use crate::failure::Failure;

/// Most stages and VCPUs over a file of functions; nearly all pipelines do with the smaller room, in which all is quicker.
const ROOM: usize = 64;
const LARGE_ROOM: usize = 1_100;

pub(super) fn execute(command: &Pipe) -> Result<ExitCode, Failure> {
    let Pipe::Solve(arguments) = command;
    let checkout = Checkout::find()?;
    match &arguments.functions {
        Some(file) => over_file(&checkout, file, arguments),
        None => in_system(&checkout, arguments),
    }
}

/// As one more pipe of a description.
fn in_system(checkout: &Checkout, arguments: &PipeSolve) -> Result<ExitCode, Failure> {
    let overrides = Overrides {
        set: arguments.changes.set.clone(),
        flow: Some(arguments.pipeline.clone()),
        ..Overrides::default()
    };
    let description = checkout.description(arguments.system.as_deref())?;
    let (system, findings) = super::load_with(checkout, &description, &overrides, arguments.json)?;
    super::show_remarks(&findings, false);
    let requested = system.pipes.last().into_iter();
    requested.for_each(|pipe| show(&pipe.solved, pipe.table(arguments.explain), arguments));
    Ok(ExitCode::SUCCESS)
}

/// Over functions that are no system's.
fn over_file(checkout: &Checkout, file: &Path, arguments: &PipeSolve) -> Result<ExitCode, Failure> {
    let refused = |findings| Failure::Refused {
        findings,
        json: arguments.json,
    };
    let repository = pipes::load(file, checkout.root()).map_err(refused)?;
    match Pipeline::<ROOM>::parse(&arguments.pipeline) {
        Ok(pipeline) if repository.vcpus() + pipeline.stages().len() <= ROOM => {
            solve(&pipeline, &repository, arguments)
        }
        _ => {
            let pipeline = Pipeline::<LARGE_ROOM>::parse(&arguments.pipeline);
            let text = &arguments.pipeline;
            let wrong = |error| pipes::syntax_error(text, &error).alone("pipe-syntax", text);
            let pipeline = pipeline.map_err(|error| refused(vec![wrong(error)]))?;
            solve(&pipeline, &repository, arguments)
        }
    }
}

fn solve<const N: usize>(
    pipeline: &Pipeline<'_, N>,
    repository: &Pipes,
    arguments: &PipeSolve,
) -> Result<ExitCode, Failure> {
    let text = &arguments.pipeline;
    let refused = |finding| Failure::Refused {
        findings: vec![finding],
        json: arguments.json,
    };
    repository.with(|all| {
        let bound = Bound::new(pipeline, all).map_err(|error| {
            let diagnostic = repository.misfit(text, &error);
            refused(diagnostic.alone(pipes::rule_of(error.fault), text))
        })?;
        let answer = solver::solve(&bound);
        if !answer.best.holds() {
            let diagnostic = pipes::unmet(text, &bound, &answer);
            return Err(refused(diagnostic.alone("pipe-unmet", text)));
        }
        let solved = Solved::of(&bound, &answer);
        show(&solved, solved.table(arguments.explain), arguments);
        Ok(ExitCode::SUCCESS)
    })
}

fn show(solved: &Solved, table: String, arguments: &PipeSolve) {
    match arguments.json {
        true => println!("{:#}", solved.as_json()),
        false => print!("{table}"),
    }
}
