//! The commands, one file each

mod bench;
mod build;
mod check;
mod console;
mod explain;
mod loading;
mod new;
mod pipe;
mod profile;
mod results;
mod run;
mod sim;
mod stop;
mod typing;

use loading::{arguments, built, load, load_with, show_remarks};
use std::process::ExitCode;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;

/// Executes a command.
pub(crate) fn execute(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.command {
        Command::Check(arguments) => check::execute(&arguments),
        Command::Build(arguments) => build::execute(&arguments),
        Command::Run(arguments) => run::execute(&arguments),
        Command::Console(arguments) => console::execute(&arguments),
        Command::Send(arguments) => console::send(&arguments),
        Command::Drive(arguments) => console::drive(&arguments),
        Command::Explain(arguments) => explain::execute(&arguments),
        Command::Log(arguments) => results::log(&arguments),
        Command::Counters(arguments) => results::counters(&arguments),
        Command::Report(arguments) => results::report(&arguments),
        Command::Bench(arguments) => bench::execute(&arguments),
        Command::New(arguments) => new::execute(&arguments),
        Command::Pipe(arguments) => pipe::execute(&arguments),
        Command::Profile(arguments) => profile::execute(&arguments),
        Command::Sim(arguments) => sim::execute(&arguments),
        Command::Stop(arguments) => stop::execute(&arguments),
    }
}
