//! The plan that the tool packed: the pipes of this partition (`bulkhead_abi::pipe`)

use crate::plan::{Crossing, Pipe, Place, Plan, Source, Stage};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{self, NONE, OnOverrun, Pipes};
use std::ops::Range;
use zerocopy::IntoBytes;

/// What a last stage writes to whose messages other machines are to have.
const BRIDGE: &str = "bridge";

impl Plan {
    /// What stands in `bytes`; nothing where that are no pipes.
    #[must_use]
    pub fn packed(bytes: &[u8]) -> Option<Self> {
        // Aligned as what is read there.
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        words
            .as_mut_bytes()
            .get_mut(..bytes.len())?
            .copy_from_slice(bytes);
        let all = Pipes::read(words.as_bytes())?;
        let pipes = all.each().map(|(pipe, range)| unpack(&all, pipe, range));
        Some(Self {
            pipes: pipes.collect::<Option<_>>()?,
        })
    }
}

fn unpack(all: &Pipes<'_>, pipe: &pipe::Pipe, range: Range<usize>) -> Option<Pipe> {
    let first = range.start;
    let place = |number: u32| {
        let number = number as usize;
        range.contains(&number).then(|| number - first)
    };
    let crossings = all.crossings.iter().filter_map(|one| {
        Some(Crossing {
            channel: name_text(&one.channel).to_owned(),
            from: place(one.from)?,
            to: place(one.to)?,
        })
    });
    let stages = all.stages.get(range.clone())?.iter();
    Some(Pipe {
        name: name_text(&pipe.name).to_owned(),
        each: pipe.fifo != 0,
        crossings: crossings.collect(),
        stages: stages.map(|one| stage(pipe, one)).collect(),
    })
}

fn stage(pipe: &pipe::Pipe, stage: &pipe::Stage) -> Stage {
    Stage {
        function: name_text(&stage.function).to_owned(),
        runtime_ns: stage.capacity_ns,
        period_ns: stage.period_ns,
        from: stage.from,
        to: stage.to,
        messages: stage.messages,
        places: stage.buffer,
        source: match (stage.from, pipe.fifo) {
            (0, 0) => Source::Timer(stage.period_ns),
            (0, _) => Source::Timer(pipe.interval_ns),
            _ => Source::Stages,
        },
        place: match stage.core {
            NONE => Place::Elsewhere,
            core => Place::Core(core as usize),
        },
        identifier: None,
        // What goes on to others has left the pipe here, and its delay ends here.
        traced: ["trace", BRIDGE].contains(&name_text(&stage.sink)),
        bridged: name_text(&stage.sink) == BRIDGE,
        on_overrun: OnOverrun::of(stage.on_overrun),
        fallback: match (pipe.max_age_ns, name_text(&stage.fallback)) {
            (0, _) | (_, "") => None,
            (age_ns, name) => Some((age_ns, name.to_owned())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_abi::name_field;

    #[test]
    fn stages_of_other_partitions_are_known_and_not_run() {
        let head = pipe::Head {
            magic: pipe::PIPES_MAGIC,
            pipes: 1,
            stages: 2,
            crossings: 1,
            reserved: 0,
        };
        let pipes = pipe::Pipe {
            name: name_field("steer"),
            stages: 2,
            fifo: 1,
            interval_ns: 7,
            ..pipe::Pipe::default()
        };
        let one = |core, from| pipe::Stage {
            core,
            from,
            to: from + 1,
            on_overrun: from + 1,
            ..pipe::Stage::default()
        };
        let crossing = pipe::Crossing {
            channel: name_field("steer.1-2"),
            from: 0,
            to: 1,
        };
        let stages = [one(1, 0), one(NONE, 1)];
        let parts = [
            head.as_bytes(),
            pipes.as_bytes(),
            stages.as_bytes(),
            crossing.as_bytes(),
        ];
        let bytes = parts.concat();
        let plan = Plan::packed(&bytes).expect("pipes");
        let [pipe] = &plan.pipes[..] else {
            panic!("{plan:?}")
        };
        assert_eq!((pipe.name.as_str(), pipe.each), ("steer", true));
        assert_eq!(
            pipe.stages.iter().map(|one| one.place).collect::<Vec<_>>(),
            [Place::Core(1), Place::Elsewhere]
        );
        assert_eq!(
            pipe.stages
                .iter()
                .map(|one| one.on_overrun)
                .collect::<Vec<_>>(),
            [OnOverrun::Stop, OnOverrun::Report]
        );
        assert_eq!(pipe.stages[0].source, Source::Timer(7));
        assert_eq!(pipe.crossings[0].channel, "steer.1-2");
        assert!(Plan::packed(&bytes[1..]).is_none() && Plan::packed(&bytes[..60]).is_none());
    }
}
