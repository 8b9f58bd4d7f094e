//! `bulkhead bench`

use bulkhead_bench::{Bench, Context, Report, Row, all, html};
use serde_json::json;
use std::process::ExitCode;

use crate::arguments;
use crate::checkout::Checkout;
use crate::failure::Failure;

const BROKEN: u8 = 1;

pub(super) fn execute(arguments: &arguments::Bench) -> Result<ExitCode, Failure> {
    match arguments.id.as_str() {
        "list" => {
            list(arguments.json);
            Ok(ExitCode::SUCCESS)
        }
        "all" => run_all(arguments),
        id => {
            let bench = all().into_iter().find(|bench| bench.id() == id);
            let bench = bench.ok_or_else(|| Failure::UnknownBench { id: id.into() })?;
            if arguments.board.is_some() && !bench.takes_board() {
                return Err(Failure::BenchOfOneBoard { id: id.into() });
            }
            let report = run(bench.as_ref(), &context(arguments)?, arguments.json)?;
            Ok(status(&[report]))
        }
    }
}

fn list(as_json: bool) {
    let benches = all();
    if as_json {
        let entry = |bench: &dyn Bench| {
            json!({
                "id": bench.id(), "kind": bench.kind(),
                "reproduces": bench.reproduces(), "promise": bench.guarantee(),
            })
        };
        println!(
            "{:#}",
            json!(
                benches
                    .iter()
                    .map(|bench| entry(bench.as_ref()))
                    .collect::<Vec<_>>()
            )
        );
        return;
    }
    for bench in benches {
        println!("{:16} {:9} {}", bench.id(), bench.kind(), bench.guarantee());
        println!("{:26} reproduces {}", "", bench.reproduces());
    }
}

fn run_all(arguments: &arguments::Bench) -> Result<ExitCode, Failure> {
    let context = context(arguments)?;
    let reports: Vec<_> = all()
        .iter()
        .map(|bench| run_or_say_why(bench.as_ref(), &context, arguments.json))
        .collect();
    let path = context.out.join("bench.html");
    std::fs::create_dir_all(&context.out)
        .and_then(|()| std::fs::write(&path, html(&reports)))
        .map_err(|source| Failure::File {
            path: path.clone(),
            source,
        })?;
    eprintln!("report: {}", path.display());
    Ok(status(&reports))
}

/// One that cannot be run does not keep the others from being run; it keeps no promise, either.
fn run_or_say_why(bench: &dyn Bench, context: &Context, as_json: bool) -> Report {
    run(bench, context, as_json).unwrap_or_else(|failure| {
        failure.show();
        bench.report(vec![Row {
            ok: false,
            ..Row::unbounded(&format!("not run: {failure}"), &[], "")
        }])
    })
}

fn run(bench: &dyn Bench, context: &Context, as_json: bool) -> Result<Report, Failure> {
    let report = bench.run(context)?;
    if as_json {
        println!("{}", json!(report));
    } else {
        println!("{}", report.text());
    }
    Ok(report)
}

fn context(arguments: &arguments::Bench) -> Result<Context, Failure> {
    let checkout = Checkout::find()?;
    Ok(Context {
        root: checkout.root().into(),
        out: checkout.out("bench"),
        long: arguments.long,
        board: arguments.board.clone(),
        quiet: arguments.json,
    })
}

fn status(reports: &[Report]) -> ExitCode {
    if reports.iter().all(Report::is_ok) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(BROKEN)
    }
}
