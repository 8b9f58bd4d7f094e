//! Descriptions of the set-ups: the example's partitions, partitions beside them, and the runtime of stages

use bulkhead_model::pipes::Pipe;
use bulkhead_tpipe::language::Buffering;

/// Lines with which the parts of the example's description begin.
const CONTROL: &str = "[partition.control]";
const PROBE: &str = "[partition.probe]";
const FLOWS: &str = "[pipe.first]";

/// The example's partitions with pipes of these flows, and what stands beside them.
pub(super) fn with_control(example: &str, beside: &str, flows: &[&str]) -> String {
    let mut text = part(example, "", FLOWS).to_owned() + beside;
    for (number, flow) in flows.iter().enumerate() {
        text += &format!("\n[pipe.p{}]\nflow = \"{flow}\"\n", number + 1);
    }
    text
}

/// The description without the partition that runs the pipes.
pub(super) fn without_control(example: &str, beside: &str) -> String {
    part(example, "", CONTROL).to_owned() + part(example, PROBE, FLOWS) + beside
}

/// From one mark to the next.
fn part<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let start = text.find(from).unwrap_or(0);
    let end = text.find(to).unwrap_or(text.len());
    text.get(start..end).unwrap_or_default()
}

/// The Linux that runs the stages of a plan, too: with the core and the controller of the partition that is not there.
pub(super) fn peer(plan: &str, rounds: u64) -> Vec<String> {
    vec![
        "partition.linux.cores=2".into(),
        "partition.linux.devices=[\"can4\", \"can1\", \"can2\", \"can3\"]".into(),
        format!(
            "partition.linux.command_line=cryptomgr.notests nokaslr bulkhead.takes=can1,can2,can3 \
             bulkhead.load=traffic bulkhead.rounds={rounds} bulkhead.stages={plan}"
        ),
    ]
}

/// Stages as the program in Linux reads them (`bulkhead_linux_pipes::Plan`).
pub(super) fn plan(pipes: &[Pipe]) -> String {
    pipes.iter().map(pipe).collect::<Vec<_>>().join("+")
}

fn pipe(pipe: &Pipe) -> String {
    let kind = match pipe.solved.buffering {
        Buffering::Fifo => "each",
        Buffering::FourSlot => "newest",
    };
    let stages = pipe.solved.stages.iter().zip(&pipe.places);
    stages.fold(kind.to_owned(), |text, (stage, place)| {
        let identifier = place.identifiers.iter().flatten().next();
        let identifier = identifier.map_or_else(String::new, |id| format!(",{id:x}"));
        format!(
            "{text}/{},{},{},{},{},{},{}{identifier}",
            place.function,
            stage.capacity_ns,
            stage.period_ns,
            stage.from,
            stage.to,
            stage.messages,
            stage.buffer
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str =
        "[device]\n[partition.control]\n1\n[partition.probe]\n2\n[pipe.first]\nflow = \"x\"\n";

    #[test]
    fn the_partition_that_runs_the_pipes_is_there_or_not() {
        assert_eq!(
            with_control(EXAMPLE, "beside", &["a | b"]),
            "[device]\n[partition.control]\n1\n[partition.probe]\n2\nbeside\n[pipe.p1]\nflow = \"a | b\"\n"
        );
        assert_eq!(
            without_control(EXAMPLE, "beside"),
            "[device]\n[partition.probe]\n2\nbeside"
        );
    }
}
