//! The agent of the Linux partition
//!
//! Started by `/init`. In the showcase it sends the driving cycle, or entered speeds, to the
//! controller, and shows and records the telemetry. In a partition without these channels it
//! reports on the partition and its peers. It uses only the monotonic clock and the counter of the
//! machine, so that runs in virtual time repeat.
//!
//! Other modes: `bulkhead-agent busy` is a load for measurements, `peek CHANNEL` shows a channel's
//! memory, `can answer INTERFACE` is an end of the control loop over CAN, `can send INTERFACE
//! PERCENT` and `can take INTERFACE` are the ends of a channel with this load, and `traffic` copies
//! files and uses the loopback network.
#![forbid(unsafe_code)]

mod agent;
mod bridge;
mod can;
mod command;
mod console;
mod drive;
mod fault;
mod load;
mod peek;
mod pipes;
mod record;
mod status;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["busy"] => load::keep_busy(),
        ["peek", name] => peek::peek(name),
        ["can", "answer", interface] => can::answer(interface),
        ["can", "send", interface, percent] => can::send(interface, percent),
        ["can", "take", interface] => can::take(interface),
        ["traffic"] => load::traffic(),
        _ => agent::Agent::start().and_then(agent::Agent::run),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::say(format_args!("agent: {error}"));
            ExitCode::FAILURE
        }
    }
}
