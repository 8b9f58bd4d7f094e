//! The bridge of a Linux partition
//!
//! `bulkhead-bridge` bridges what the partition's description says; `bulkhead-bridge FILE` what stands in a file, on any Linux.

use bulkhead_bridge::{Bridge, Config, Error};
use bulkhead_linux::Partition;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
bulkhead-bridge [FILE] [--report MS]

Publishes channels to Zenoh and takes in what is published elsewhere.
FILE   what to bridge (doc/interfaces/bridge.md); without one, what the partition's description says
--report MS   between two lines about an endpoint whose counts changed; 1000 if it is left out";

/// Between two lines about an endpoint.
const REPORT: Duration = Duration::from_secs(1);

/// Command line.
#[derive(Default)]
struct Options {
    file: Option<String>,
    report: Option<Duration>,
}

fn main() -> ExitCode {
    let Some(options) = read(std::env::args().skip(1)) else {
        println!("{HELP}");
        return ExitCode::FAILURE;
    };
    match start(&options) {
        Ok(bridge) => bridge.run(options.report.unwrap_or(REPORT)),
        Err(error) => {
            println!("bridge: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Nothing where it is not understood.
fn read(mut words: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--report" => {
                let ms = words.next()?.parse().ok().filter(|&ms: &u64| ms > 0)?;
                options.report = Some(Duration::from_millis(ms));
            }
            _ if options.file.is_none() && !word.starts_with('-') => options.file = Some(word),
            _ => return None,
        }
    }
    Some(options)
}

fn start(options: &Options) -> Result<Bridge, Error> {
    let partition = Partition::open();
    match &options.file {
        Some(file) => Bridge::start(&Config::of_file(Path::new(file))?, partition.ok().as_ref()),
        None => {
            let partition = partition?;
            Bridge::start(&Config::of_partition(&partition)?, Some(&partition))
        }
    }
}
