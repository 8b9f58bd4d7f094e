//! The plan that the tool packed: the pipes of this partition (`bulkhead_abi::pipe`)

use crate::plan::{Crossing, End, Pipe, Placement, Plan, Source, Stage};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{self, ANY, EndpointKind, NONE, OnOverrun, Pipes};
use std::ops::Range;
use zerocopy::IntoBytes;

impl Plan {
    /// Decodes a plan. Returns nothing if `bytes` is no plan.
    #[must_use]
    pub fn packed(bytes: &[u8]) -> Option<Self> {
        // A copy with the alignment of the format.
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
        stages: stages
            .clone()
            .map(|one| {
                // A stage that feeds only other partitions is no last stage there: the message
                // leaves the pipe here, and its delay ends here.
                let is_last = stages.clone().all(|other| other.from != one.to);
                stage(pipe, one, is_last)
            })
            .collect(),
    })
}

fn stage(pipe: &pipe::Pipe, stage: &pipe::Stage, is_last: bool) -> Stage {
    let [source, sink] = stage.endpoints();
    Stage {
        function: name_text(&stage.function).to_owned(),
        runtime_ns: stage.capacity_ns,
        period_ns: stage.period_ns,
        from: stage.from,
        to: stage.to,
        messages: stage.messages,
        places: stage.buffer,
        source: match (stage.from, end(stage, 0), pipe.fifo) {
            (0, Some(end), _) => Source::Can(end),
            (0, ..) if source == EndpointKind::Bridge => Source::Bridge,
            (0, None, 0) => Source::Timer(stage.period_ns),
            (0, None, _) => Source::Timer(pipe.interval_ns),
            _ => Source::Stages,
        },
        writes: end(stage, 1),
        place: match stage.core {
            NONE => Placement::Elsewhere,
            core => Placement::Core(core as usize),
        },
        traced: is_last,
        filed: sink == EndpointKind::Trace,
        bridged: sink == EndpointKind::Bridge,
        message_bytes: stage.message_bytes,
        on_overrun: OnOverrun::of(stage.on_overrun),
        fallback: match (pipe.max_age_ns, name_text(&stage.fallback)) {
            (0, _) | (_, "") => None,
            (age_ns, name) => Some((age_ns, name.to_owned())),
        },
    }
}

/// The device that a stage reads or writes.
fn end(stage: &pipe::Stage, which: usize) -> Option<End> {
    let name = name_text([&stage.source, &stage.sink][which]);
    let identifier = stage.identifiers[which];
    (stage.endpoints()[which] == EndpointKind::Device).then(|| End {
        place: Some(name.to_owned()),
        identifier: (identifier != ANY).then_some(identifier),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_abi::name_field;

    #[test]
    fn ends_at_devices_are_known_from_what_is_built_in() {
        let stage = |kinds: [EndpointKind; 2]| pipe::Stage {
            source: name_field("0000:01:02.0"),
            sink: name_field("0000:01:03.0"),
            endpoint_kinds: kinds.map(|kind| kind as u8),
            identifiers: [0x140, ANY],
            ..pipe::Stage::default()
        };
        let at = stage([EndpointKind::Device; 2]);
        let found = [0, 1].map(|which| end(&at, which).expect("a device"));
        assert_eq!(found[0].place.as_deref(), Some("0000:01:02.0"));
        assert_eq!(found.map(|end| end.identifier), [Some(0x140), None]);
        for kind in EndpointKind::ALL {
            let found = [0, 1].map(|which| end(&stage([kind; 2]), which).is_some());
            assert_eq!(found, [kind == EndpointKind::Device; 2], "{kind:?}");
        }
        let unknown = pipe::Stage {
            endpoint_kinds: [u8::MAX; 2],
            ..at
        };
        assert_eq!([0, 1].map(|which| end(&unknown, which)), [None, None]);
        let unpacked = |kinds| super::stage(&pipe::Pipe::default(), &stage(kinds), false);
        let imported = unpacked([EndpointKind::Bridge, EndpointKind::Trace]);
        assert_eq!(imported.source, Source::Bridge);
        assert!(imported.filed && !imported.bridged);
        let exported = unpacked([EndpointKind::Timer, EndpointKind::Bridge]);
        assert_eq!(exported.source, Source::Timer(0));
        assert!(exported.bridged && !exported.filed);
    }

    #[test]
    fn stages_of_other_partitions_are_known_and_not_run() {
        let head = pipe::Head {
            magic: pipe::PIPES_MAGIC,
            pipes: 1,
            stages: 2,
            crossings: 1,
            functions: 0,
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
            [Placement::Core(1), Placement::Elsewhere]
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
