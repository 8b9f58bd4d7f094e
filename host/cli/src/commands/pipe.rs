//! `bulkhead pipe solve`

use bulkhead_model::pipes::{self, Pipes};
use bulkhead_model::time_text;
use bulkhead_tpipe::assessment::{budget, fixed_periods, paths, periods};
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::{Buffering, Pipeline};
use bulkhead_tpipe::solver::{self, Answer};
use serde_json::{Value, json};
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
            let wrong = |error| pipes::syntax_error(&arguments.pipeline, &error);
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
        let bound =
            Bound::new(pipeline, all).map_err(|error| refused(repository.misfit(text, &error)))?;
        let answer = solver::solve(&bound);
        if !answer.best.holds() {
            return Err(refused(pipes::unmet(text, &bound, &answer)));
        }
        match arguments.json {
            true => println!("{:#}", as_json(&bound, &answer)),
            false => print(&bound, &answer, arguments.explain),
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

/// The longest way from a first stage to a last one.
struct Path<'a> {
    from: &'a str,
    to: &'a str,
    periods: u64,
    bound: u64,
}

fn all_paths<'a, const N: usize>(bound: &Bound<'a, N>, answer: &Answer<N>) -> Vec<Path<'a>> {
    let stages = bound.pipeline.stages();
    let mut found = vec![];
    for head in (0..bound.len()).filter(|&stage| bound.is_head(stage)) {
        let mut reached = vec![(0, 0); bound.len()];
        let only = |stage| stage == head;
        let setting = &answer.best.setting;
        let of = |stage| periods(bound, setting, stage);
        paths(bound, of, only, |stage, length| reached[stage].0 = length);
        let of = |stage: usize| answer.best.assessment.delay[stage];
        paths(bound, of, only, |stage, length| reached[stage].1 = length);
        for (tail, &(periods, delay)) in reached.iter().enumerate() {
            if bound.is_tail(tail) && periods > 0 {
                found.push(Path {
                    from: stages[head].name,
                    to: stages[tail].name,
                    periods,
                    bound: delay,
                });
            }
        }
    }
    found
}

/// More pairs than anybody reads; then only the longest is shown.
const MOST_PATHS: usize = 64;

fn print<const N: usize>(bound: &Bound<'_, N>, answer: &Answer<N>, explain: bool) {
    let (setting, promised) = (&answer.best.setting, &answer.best.assessment);
    println!("{}", bound.pipeline);
    println!(
        "  {:<16} {:<16} {:>12} {:>12} {:>4} {:>12} {:>8} {:>8}",
        "stage", "core", "C us", "T us", "m", "responds us", "buffer", "lost %"
    );
    let us = |ns: u64| format!("{:.3}", ns as f64 / 1e3);
    for (index, stage) in bound.pipeline.stages().iter().enumerate() {
        let core = bound.repository.cores[bound.function(index).core].name;
        println!(
            "  {:<16} {core:<16} {:>12} {:>12} {:>4} {:>12} {:>8} {:>8.2}",
            stage.name,
            us(budget(bound, index, setting.messages[index])),
            us(setting.period[index]),
            setting.messages[index],
            us(promised.response[index]),
            buffer(bound, promised.buffer[index]),
            promised.loss[index].percent()
        );
    }
    let required = bound.pipeline.requirement.map(|required| required.delay_ns);
    let mut paths = all_paths(bound, answer);
    paths.sort_by_key(|path| std::cmp::Reverse(path.bound));
    paths.truncate(MOST_PATHS);
    for path in &paths {
        let slack = required.map_or_else(String::new, |delay| {
            format!(", slack {} us", us(delay.saturating_sub(path.bound)))
        });
        println!(
            "  {} -> {}: within {} us{slack}; periods sum up to {} us",
            path.from,
            path.to,
            us(path.bound),
            us(path.periods)
        );
    }
    println!(
        "  takes messages every {} us; stages take {:.2} % of a core",
        us(promised.interval),
        promised.utilisation.percent()
    );
    println!("  {}", compared(answer));
    if explain {
        formulas(bound);
    }
}

fn buffer<const N: usize>(bound: &Bound<'_, N>, messages: u64) -> String {
    match bound.pipeline.buffering {
        Buffering::FourSlot => "4-slot".into(),
        Buffering::Fifo => messages.to_string(),
    }
}

/// The answer beside the paper's.
fn compared<const N: usize>(answer: &Answer<N>) -> String {
    let theirs = answer.heuristic.assessment.utilisation.percent();
    match solver::saved(answer) {
        Some(saved) => format!(
            "the paper's heuristic would take {theirs:.2} %: {:.1} % of it saved",
            saved.percent()
        ),
        None => "the paper's heuristic finds nothing that holds".into(),
    }
}

fn formulas<const N: usize>(bound: &Bound<'_, N>) {
    let fixed = (0..bound.len())
        .map(|stage| fixed_periods(bound, stage))
        .max()
        .unwrap_or(0);
    println!(
        "  R: exact response time with I/O VCPUs on rate-monotonic cores; the busy period, at most T, under EDF"
    );
    println!(
        "  delay: sum of R; T more at a stage with several producers, or slower than its input"
    );
    println!(
        "  periods: sum of T <= delay on the longest path (003 §3.1.4), devices' included, up to {}",
        time_text(fixed)
    );
    match bound.pipeline.buffering {
        Buffering::Fifo => {
            println!("  throughput: min m/T (003 prints m*C/T; messages per time are m/T)");
            println!(
                "  buffer: 2*ceil(m_c*T_c / m_p*T_p) (003 §3.1.4), or more where more can wait"
            );
        }
        Buffering::FourSlot => println!(
            "  loss: 1 - T_p/T_c where T_p <= T_c (003 §3.1.4), and what lateness alone can overwrite"
        ),
    }
}

fn as_json<const N: usize>(bound: &Bound<'_, N>, answer: &Answer<N>) -> Value {
    let (setting, promised) = (&answer.best.setting, &answer.best.assessment);
    let stage = |(index, stage): (usize, &bulkhead_tpipe::language::Stage<'_>)| {
        json!({"function": stage.name,
               "core": bound.repository.cores[bound.function(index).core].name,
               "C_ns": budget(bound, index, setting.messages[index]), "T_ns": setting.period[index],
               "messages": setting.messages[index], "response_ns": promised.response[index],
               "buffer": promised.buffer[index], "loss_percent": promised.loss[index].percent()})
    };
    let stages: Vec<_> = bound
        .pipeline
        .stages()
        .iter()
        .enumerate()
        .map(stage)
        .collect();
    let delay = bound.pipeline.requirement.map(|required| required.delay_ns);
    let path = |path: &Path<'_>| {
        json!({"from": path.from, "to": path.to, "bound_ns": path.bound, "periods_ns": path.periods,
               "slack_ns": delay.map(|delay| delay.saturating_sub(path.bound))})
    };
    let paths: Vec<_> = all_paths(bound, answer).iter().map(path).collect();
    json!({"pipeline": bound.pipeline.to_string(), "stages": stages, "paths": paths,
           "interval_ns": promised.interval, "utilisation_percent": promised.utilisation.percent(),
           "heuristic": {"holds": answer.heuristic.holds(), "content": answer.heuristic_content,
                         "utilisation_percent": answer.heuristic.assessment.utilisation.percent()},
           "saved_percent": solver::saved(answer).map(|share| share.percent())})
}
