//! Topics of ROS 2 match the channels and pipes of this machine

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{BridgeDraft, Draft, PartitionDraft, TopicDraft};
use crate::pipes::solution::Solution;
use crate::ros::{Layout, Type, is_topic, is_type, type_names};
use crate::source::Span;
use crate::suggestion::nearest;
use bulkhead_abi::pipe::EndpointKind;

crate::rules::declaration::rule! {
    Error, "bridge-topic",
    "a topic of ROS 2 has a full name and a type of fixed length, which what is here can carry",
    "The key expression has the topic, the type and the hash of the type's description. A node with another one of \
     these receives nothing and gets no error. Messages have to fit what carries them here, a channel or the two words \
     of a pipe's message.",
    solved: check
}

/// Place, problem and remedy.
type Problem = (Span, String, String);

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    for (partition, bridge) in draft.bridges() {
        let imported = bridge.imports.iter().map(|import| &import.topic);
        for topic in bridge.publish.iter().chain(imported) {
            let found = problems(topic);
            let sound = found.is_empty();
            let unfit = || unfit(draft, partition, topic);
            for (span, message, help) in found.into_iter().chain(sound.then(unfit).flatten()) {
                report.add(RULE.at(&span, message).help(help));
            }
        }
        for (span, message, help) in sources(solution, partition, bridge) {
            report.add(RULE.at(&span, message).help(help));
        }
    }
}

/// Errors in its words.
fn problems(topic: &TopicDraft) -> Vec<Problem> {
    let name = topic.topic.given().filter(|name| !is_topic(&name.value));
    let name = name.map(|name| {
        (
            name.span.clone(),
            format!("`{}` is no full name of a topic", name.value),
            "`/` and parts of letters, digits and `_`, such as `/car/speed`".to_owned(),
        )
    });
    let alone = [&topic.topic, &topic.kind];
    let alone = match alone.map(|field| field.is_absent()) {
        [false, true] => topic
            .topic
            .span()
            .map(|span| (span, "has no type", "`type = \"std_msgs/msg/Float64\"`")),
        [true, false] => topic
            .kind
            .span()
            .map(|span| (span, "is of no topic", "`topic = \"/speed\"`")),
        _ => None,
    };
    let alone = alone.map(|(span, what, add)| {
        let given = [&topic.topic, &topic.kind]
            .into_iter()
            .find_map(|field| field.value());
        let given = given.unwrap_or_default();
        (
            span.clone(),
            format!("`{given}` {what}"),
            format!("add {add}"),
        )
    });
    name.into_iter().chain(alone).chain(kind(topic)).collect()
}

/// Error in its type.
fn kind(topic: &TopicDraft) -> Option<Problem> {
    let kind = topic.kind.given()?;
    if !is_type(&kind.value) {
        let message = format!("`{}` is no name of a type", kind.value);
        let help = "`PACKAGE/msg/NAME`, such as `std_msgs/msg/Float64`";
        return Some((kind.span.clone(), message, help.into()));
    }
    if topic.type_of().is_some() || (topic.fields.given().is_none() && !topic.fields.is_absent()) {
        return None;
    }
    if let Some(fields) = topic.fields.given() {
        let wrong = |at: &&At<String>| Type::of(&kind.value, [at.value.as_str()]).is_err();
        let at = fields.value.iter().find(wrong)?;
        let message = format!("`{}` is no field of a fixed length", at.value);
        let help = "`TYPE NAME`, such as `float64 speed` or `uint8[4] flags`; NAME is in small letters, TYPE a number or one of the known types";
        return Some((at.span.clone(), message, help.into()));
    }
    let message = format!("the fields of `{}` are not known", kind.value);
    let help = match nearest(&kind.value, type_names()) {
        Some(name) => format!(
            "did you mean `{name}`? Of another type say them, `fields = [\"float64 speed\"]`"
        ),
        None => "say them, `fields = [\"float64 speed\"]`".into(),
    };
    Some((kind.span.clone(), message, help))
}

/// Mismatch between its messages and the channel or pipe.
fn unfit(draft: &Draft, partition: &PartitionDraft, topic: &TopicDraft) -> Option<Problem> {
    let (name, kind) = (&topic.name, topic.kind.given()?);
    let layout = topic.type_of()?.layout();
    let Layout { bytes, align } = layout;
    let (carries, help) = match draft.channel(&name.value) {
        Some(channel) => {
            let message = channel.message_bytes()?;
            if layout.fits(message) {
                return None;
            }
            let text = format!("messages of the channel `{}` have {message}", name.value);
            let help = format!("`message = {}`", bytes.next_multiple_of(align));
            (text, help)
        }
        None if matches!(bytes, 8 | 16) => return None,
        None => (
            "a pipe's message carries 8 or 16".to_owned(),
            format!(
                "a type of one or two 64-bit numbers, or a channel to or from `{}`",
                partition.name.value
            ),
        ),
    };
    let message = format!("messages of `{}` have {bytes} bytes, {carries}", kind.value);
    Some((kind.span.clone(), message, help))
}

/// Published names that do not exist.
fn sources<'d>(
    solution: &'d Solution<'_>,
    partition: &'d PartitionDraft,
    bridge: &'d BridgeDraft,
) -> impl Iterator<Item = Problem> {
    let unknown = bridge.publish.iter().filter(|publish| {
        let name = &publish.name.value;
        solution.draft.channel(name).is_none() && !brings(solution, partition, name)
    });
    unknown.map(|publish| {
        let name = &publish.name;
        (
            name.span.clone(),
            format!("nothing goes out from `{}` by the name of `{}`", partition.name.value, name.value),
            format!(
                "name a channel that comes to `{}`, or a pipe of which a last stage there has `writes = \"{}\"`",
                partition.name.value,
                EndpointKind::Bridge.word()
            ),
        )
    })
}

/// Returns whether a pipe of that name brings something to the bridge; one that cannot be had may.
fn brings(solution: &Solution<'_>, partition: &PartitionDraft, name: &str) -> bool {
    let draft = solution.draft;
    let is_it = |other: &PartitionDraft| other.name.value == partition.name.value;
    let here = draft.partitions.iter().position(is_it);
    let solved = solution.pipes().iter().find(|pipe| pipe.name == name);
    match solved {
        Some(pipe) => {
            let mut places = pipe.places.iter();
            places.any(|place| {
                Some(place.partition.0) == here && place.endpoints()[1] == EndpointKind::Bridge
            })
        }
        None => draft.pipes.iter().any(|pipe| pipe.name.value == name),
    }
}
