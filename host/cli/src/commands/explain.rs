//! `bulkhead explain`

use std::process::ExitCode;

use crate::arguments::Explain;
use crate::failure::Failure;

pub(super) fn execute(arguments: &Explain) -> Result<ExitCode, Failure> {
    let topic = &arguments.topic;
    let text = bulkhead_model::explain(topic).ok_or_else(|| Failure::UnknownTopic {
        topic: topic.clone(),
        nearest: bulkhead_model::nearest_topic(topic),
    })?;
    println!("{}", text.trim_end());
    Ok(ExitCode::SUCCESS)
}
