//! `bulkhead explain`

use std::process::ExitCode;

use crate::arguments::Explain;
use crate::failure::Failure;

pub(super) fn execute(arguments: &Explain) -> Result<ExitCode, Failure> {
    let topic = arguments.topic.clone();
    let text = bulkhead_model::explain(&topic).ok_or(Failure::UnknownTopic { topic })?;
    println!("{}", text.trim_end());
    Ok(ExitCode::SUCCESS)
}
