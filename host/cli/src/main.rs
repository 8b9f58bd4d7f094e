//! The bulkhead tool
//!
//! One description of a system; everything else follows from it. Results go to standard output,
//! progress to standard error; `--json` makes the results a single JSON value.
//!
//! Exit status: 0 done; 1 a promise was broken, or a run did not reach its length; 2 the command line
//! is wrong; 3 the description is refused; 4 the build failed; 5 the system could not be run or
//! found; 130 interrupted.
#![forbid(unsafe_code)]

mod arguments;
mod checkout;
mod commands;
mod display;
mod failure;
mod output;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A closed pipe (`| head`) ends the tool without a message.
    sigpipe::reset();
    output::guarded(|| {
        let arguments = arguments::Arguments::parse();
        match commands::execute(arguments) {
            Ok(code) => code,
            Err(failure) => failure.show(),
        }
    })
}
