//! `bulkhead pipe solve`

use bulkhead_model::pipes::solved::Solved;
use bulkhead_model::pipes::{self, Pipes};
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::Pipeline;
use bulkhead_tpipe::solver;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::arguments::{Pipe, PipeSolve};
use crate::checkout::Checkout;
use crate::failure::Failure;

/// Most stages and VCPUs; nearly all pipelines do with the smaller room, in which all is quicker.
const ROOM: usize = 64;
const LARGE_ROOM: usize = 1_100;
/// File of pipe functions beside a description.
const FUNCTIONS: &str = "pipes.toml";

pub(super) fn execute(command: &Pipe) -> Result<ExitCode, Failure> {
    let Pipe::Solve(arguments) = command;
    let refused = |findings| Failure::Refused {
        findings,
        json: arguments.json,
    };
    let checkout = Checkout::find()?;
    let file = functions(&checkout, arguments)?;
    let repository = pipes::load(&file, checkout.root()).map_err(refused)?;
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
            let said = repository.misfit(text, &error);
            refused(said.alone(pipes::rule_of(error.fault), text))
        })?;
        let answer = solver::solve(&bound);
        if !answer.best.holds() {
            let said = pipes::unmet(text, &bound, &answer);
            return Err(refused(said.alone("pipe-unmet", text)));
        }
        let solved = Solved::of(&bound, &answer);
        match arguments.json {
            true => println!("{:#}", solved.as_json()),
            false => print!("{}", solved.table(arguments.explain)),
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The file that the user means.
fn functions(checkout: &Checkout, arguments: &PipeSolve) -> Result<PathBuf, Failure> {
    if let Some(file) = &arguments.functions {
        return Ok(file.clone());
    }
    let description = checkout.description(arguments.system.as_deref())?;
    let folder = match description.is_dir() {
        true => description,
        false => description.parent().map(PathBuf::from).unwrap_or_default(),
    };
    Ok(folder.join(FUNCTIONS))
}
