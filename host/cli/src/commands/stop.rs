//! `bulkhead stop`

use bulkhead_run::RunError;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::arguments::Stop;
use crate::failure::Failure;

/// How long the tool that runs the system may take to report.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn execute(arguments: &Stop) -> Result<ExitCode, Failure> {
    let built = super::built(arguments.system.as_deref())?;
    let session = built.folder.running()?;
    let not_running = |_| RunError::NotRunning {
        system: built.name.clone(),
    };
    kill(Pid::from_raw(session.pid.cast_signed()), Signal::SIGTERM).map_err(not_running)?;
    let deadline = Instant::now() + PATIENCE;
    while built.folder.running().is_ok() {
        if Instant::now() > deadline {
            let message = format!("process {} does not end", session.pid);
            return Err(RunError::EmulatorSilent { message }.into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("{} has ended", built.name);
    Ok(ExitCode::SUCCESS)
}
